package dashboard

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// jobs is the content of the page of running jobs.
type jobs struct {
	View, Query string
	Views       []countedView
	Rows        []row
	More        int      // jobs that match and are not shown
	Other       *jobPage // the job with the id that was asked for, which does not run; nil: none
	Param, Cut  bool     // it is filtered by a parameter; only the records changed last were searched
}

type countedView struct {
	Name, Help string
	Count      int
}

// row is one job.
type row struct {
	inspect.Running
	Chips []chip
	Left  time.Duration // until its deadline
	Why   inspect.Verdict
	Age   time.Duration // of Why and Chips, if that is worth a word; 0: it is not
}

// chip is a listener of a job's stage.
type chip struct {
	Name, State string // done, open, wait, retry, paused or failed
	Text        string
}

// maxRows is the maximum number of jobs or entries that a page shows.
const maxRows = 200

// views are the predefined filters of running jobs.
var views = []struct {
	name, help string
	has        func(d *Dashboard, s *sample, r row) bool
}{
	{"all", "every running job", func(*Dashboard, *sample, row) bool { return true }},
	{"retrying", "a step failed and waits for its next try", func(_ *Dashboard, s *sample, r row) bool {
		return slices.ContainsFunc(s.Later[r.ID], func(l inspect.Delayed) bool { return s.Failed[l.Member] })
	}},
	{"late", "more than half of the time to the deadline has passed", func(_ *Dashboard, _ *sample, r row) bool {
		return !r.Started.IsZero() && r.Left < r.Deadline.Sub(r.Started)/2
	}},
	{"stuck", "the job waits for a paused listener or one without workers, or has no state in Redis", func(d *Dashboard, s *sample, r row) bool {
		return r.Status == "" || r.Status == job.StatusRun && slices.ContainsFunc(r.Chips, func(c chip) bool {
			return c.State == "paused" || c.State == "open" && s.Figures.Known("tasks_workers", c.Name) && s.Figures.Of("tasks_workers", c.Name) == 0
		})
	}},
}

func (d *Dashboard) jobs(ctx context.Context, r *http.Request, s *sample) (string, any, error) {
	v := jobs{View: cmp.Or(r.FormValue("view"), views[0].name), Query: strings.TrimSpace(r.FormValue("q"))}
	if len(v.Query) > maxParam {
		v.Query = v.Query[:maxParam]
	}
	v.Views = make([]countedView, len(views))
	for i, w := range views {
		v.Views[i] = countedView{Name: w.name, Help: w.help}
	}
	paused := map[string]bool{}
	for _, p := range s.Pauses {
		paused[p.What] = true
	}
	matches := func(j inspect.Running) bool {
		return v.Query == "" || strings.HasPrefix(j.ID, v.Query) || j.Report == v.Query
	}
	if name, value, ok := strings.Cut(v.Query, "="); ok && name != "" {
		found, err := d.matches.Get(ctx, parameter{name, value})
		if err := cmp.Or(err, found.err); err != nil {
			return "Jobs", nil, err
		}
		v.Param, v.Cut = true, len(found.ids) == maxMatches
		matches = func(j inspect.Running) bool { return found.ids[j.ID] }
	}
	for _, running := range s.Jobs {
		if !matches(running) {
			continue
		}
		one := row{Running: running, Left: running.Deadline.Sub(s.At)}
		one.Chips = d.chips(s, running, paused)
		for i, w := range views {
			if !w.has(d, s, one) {
				continue
			}
			v.Views[i].Count++
			switch {
			case w.name != v.View:
			case len(v.Rows) < maxRows:
				v.Rows = append(v.Rows, one)
			default:
				v.More++
			}
		}
	}
	if report.ValidID(v.Query) && d.o.Reports[v.Query] == nil && !slices.ContainsFunc(s.Jobs, func(j inspect.Running) bool { return j.ID == v.Query }) {
		// It is queued, delayed or has ended.
		switch other, err := d.jobPages.Get(ctx, v.Query); {
		case err == nil:
			v.Other = &other
		case !errors.Is(err, engine.ErrNoRecord):
			return "Jobs", nil, err
		}
	}
	ids := make([]string, len(v.Rows))
	for i, one := range v.Rows {
		ids[i] = one.ID
	}
	why := d.reasons.of(ids, d.o.Inspect.Whys)
	for i, id := range ids {
		if found, ok := why[id]; ok {
			v.Rows[i].explain(found)
		}
	}
	return "Jobs", v, nil
}

// oldAfter is from which age on a page shows how old a reason is.
const oldAfter = 5 * time.Second

// explain adds the reason why a job is not done. The chips say the same as the reason, of the same moment.
func (r *row) explain(why reason) {
	r.Why = why.Verdict
	if age := time.Since(why.at); age > oldAfter {
		r.Age = age.Round(time.Second)
	}
	if why.Attempt != r.Attempt || why.Stage != r.Stage || r.Status != job.StatusRun {
		return // it has gone on since
	}
	for i, c := range r.Chips {
		c.State, c.Text = "done", "done"
		for _, s := range why.Steps {
			if s.Name == c.Name {
				c.State, c.Text = chipOfStep(s, why.Now)
			}
		}
		r.Chips[i] = c
	}
}

// chipOfStep returns the state and the text of the chip of an open step.
func chipOfStep(s inspect.Step, now time.Time) (state, text string) {
	switch s.Kind {
	case inspect.KindRunning, inspect.KindFolding, inspect.KindEnding:
		return "open", "running"
	case inspect.KindQueued, inspect.KindPaused:
		return map[inspect.Kind]string{inspect.KindQueued: "open", inspect.KindPaused: "paused"}[s.Kind], string(s.Kind)
	case inspect.KindNoSlot:
		return "wait", "waits for a slot"
	case inspect.KindRateLimited:
		return "wait", "waits for the rate limit"
	case inspect.KindWaiting:
		return "wait", "next poll in " + words.Countdown(s.Next.Sub(now))
	case inspect.KindRetryWaiting, inspect.KindSinkFails:
		return "retry", "next try in " + words.Countdown(s.Next.Sub(now))
	}
	return "failed", strings.ReplaceAll(string(s.Kind), "-", " ")
}

// chips returns the listeners of a job's stage, or its fan-in.
func (d *Dashboard) chips(s *sample, r inspect.Running, paused map[string]bool) []chip {
	later, failed := map[string]time.Time{}, map[string]bool{}
	for _, l := range s.Later[r.ID] {
		if l.Due != nil {
			later[l.Step()], failed[l.Step()] = *l.Due, s.Failed[l.Member]
		}
	}
	chipOf := func(name string, open bool) chip {
		c := chip{Name: name, State: "done", Text: "done"}
		next, waits := later[name]
		switch {
		case !open:
		case paused["listener/"+name]:
			c.State, c.Text = "paused", "paused"
		case waits && !failed[name]:
			c.State, c.Text = "wait", "waits"
		case waits:
			c.State, c.Text = "retry", "next try in "+words.Countdown(next.Sub(s.At))
		default:
			c.State, c.Text = "open", "open"
		}
		return c
	}
	if r.Status == "" {
		return []chip{{Name: "state", State: "retry", Text: "not in Redis"}}
	}
	if r.Status != job.StatusRun {
		c := chipOf(job.StepFanIn, true)
		c.Name, c.Text = "file", cmp.Or(map[bool]string{true: c.Text}[c.State != "open"], strings.ToLower(r.Status))
		return []chip{c}
	}
	names := r.Open
	if rep := d.o.Reports[r.Report]; rep != nil && int(r.Stage) <= len(rep.Stages) && r.Stage > 0 {
		names = nil
		for _, l := range rep.Stages[r.Stage-1].Listeners {
			names = append(names, l.Name)
		}
	}
	var all []chip
	for _, name := range names {
		all = append(all, chipOf(name, slices.Contains(r.Open, name)))
	}
	return all
}
