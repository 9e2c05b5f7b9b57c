package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// jobs is the content of the page of running jobs.
type jobs struct {
	View, Query string
	Views       []countedView
	Table       table
	Param, Cut  bool // it is filtered by a parameter; only the records changed last were searched
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
	Why   why.Verdict
	Age   time.Duration // of Why and Chips, if that is worth a word; 0: it is not
}

// chip is a listener of a job's stage.
type chip struct {
	Name, State string // done, open, wait, retry, paused or failed
	Text        string
}

// views are the predefined filters of running jobs.
var views = []struct {
	name, help string
	has        func(s *sample, r *row) bool
}{
	{"all", "every running job", func(*sample, *row) bool { return true }},
	{"retrying", "a step failed and waits for its next try", func(s *sample, r *row) bool {
		return slices.ContainsFunc(s.Later[r.ID], func(l inspect.Delayed) bool { return s.Failed[l.Member] })
	}},
	{"late", "more than half of the time to the deadline has passed", func(_ *sample, r *row) bool {
		return !r.Started.IsZero() && r.Left < r.Deadline.Sub(r.Started)/2
	}},
	{"stuck", "the job waits for a paused listener or one without workers, or has no state in Redis", isStuck},
}

// isStuck reports whether a job waits for a paused listener or one without workers, or has no state in Redis.
func isStuck(s *sample, r *row) bool {
	workless := func(name string) bool {
		return s.Figures.Known("tasks_workers", name) && s.Figures.Of("tasks_workers", name) == 0
	}
	return r.Status == "" || r.Status == job.StatusRun && slices.ContainsFunc(r.Chips, func(c chip) bool {
		return c.State == "paused" || c.State == "open" && workless(c.Name)
	})
}

// list is the page of running jobs.
func (p *jobPages) list(ctx context.Context, r *http.Request, s *sample) (string, any, error) {
	v := jobs{View: cmp.Or(r.FormValue("view"), views[0].name), Query: strings.TrimSpace(r.FormValue("q"))}
	if len(v.Query) > maxParam {
		v.Query = v.Query[:maxParam]
	}
	v.Views = make([]countedView, len(views))
	for i, w := range views {
		v.Views[i] = countedView{Name: w.name, Help: w.help}
	}
	paused, sources := inspect.Stops(s.Pauses), report.SourcesOf(p.o.Inspect.Config.Reports)
	stopped := func(listener string) bool { return paused.Stops(listener, sources[listener]...) != "" }
	matches := func(j inspect.Running) bool {
		return v.Query == "" || strings.HasPrefix(j.ID, v.Query) || j.Report == v.Query ||
			slices.Contains(j.Open, v.Query)
	}
	if of, ok := parameterOf(v.Query); ok {
		found, err := p.matches.Get(ctx, of)
		if err := cmp.Or(err, found.err); err != nil {
			return "Jobs", nil, err
		}
		v.Param, v.Cut = true, len(found.ids) == maxMatches
		matches = func(j inspect.Running) bool { return found.ids[j.ID] }
	}
	var rows []*row
	for _, running := range s.Jobs {
		if !matches(running) {
			continue
		}
		one := &row{Running: running, Left: running.Deadline.Sub(s.At)}
		one.Chips = p.chips(s, running, stopped)
		for i, w := range views {
			if !w.has(s, one) {
				continue
			}
			v.Views[i].Count++
			if w.name == v.View {
				rows = append(rows, one)
			}
		}
	}
	v.Table = p.running().of(r, rows)
	return "Jobs", v, nil
}

// running is the table of running jobs.
func (p *jobPages) running() listing[*row] {
	id := func(r *row) string { return r.ID }
	all := listing[*row]{name: "running", label: "Running jobs", path: "/jobs", key: id, prepare: p.explain}
	all.columns = []column[*row]{
		{key: "id", title: "Job", order: byID(id), cell: func(r *row) cell {
			c := jobLink(r.ID)
			if r.Attempt > 1 {
				c.Soft = "attempt " + strconv.FormatInt(r.Attempt, 10)
			}
			return c
		}},
		reportColumn(func(r *row) string { return r.Report }),
		{key: "listeners", title: "Listeners", cell: func(r *row) cell { return cell{Chips: r.Chips} }},
		{
			key: "done", title: "Done", class: "number", order: by(func(r *row) int64 { return r.Done - r.Target }),
			cell: text(func(r *row) string { return fmt.Sprintf("%d of %d", r.Done, r.Target) }),
		},
		{
			key: "data", title: "Data", class: "number", order: by(func(r *row) int64 { return r.Bytes + r.Spooled }),
			cell: text(func(r *row) string { return r.Where() }),
		},
		{
			key: "deadline", title: "Deadline in", class: "number",
			order: by(func(r *row) time.Duration { return r.Left }),
			cell:  text(func(r *row) string { return words.Short(r.Left) }),
		},
		{key: "why", title: "Why it is not done", class: "reason", cell: func(r *row) cell {
			c := cell{Kind: string(r.Why.Kind), Text: r.Why.Summary}
			if r.Age > 0 {
				c.Soft = words.Short(r.Age) + " ago"
			}
			return c
		}},
	}
	return all
}

// reportColumn is the column with the name of a report.
func reportColumn[R any](of func(R) string) column[R] {
	return column[R]{key: "report", title: "Report", class: "name", order: by(of), cell: text(of)}
}

// explain adds the reasons why jobs are not done.
func (p *jobPages) explain(rows []*row) {
	ids := make([]string, len(rows))
	for i, one := range rows {
		ids[i] = one.ID
	}
	ask := func(ctx context.Context, ids []string) ([]why.Verdict, error) { return why.All(ctx, p.o.Inspect, ids) }
	reasons := p.reasons.of(ids, ask)
	for i, id := range ids {
		if found, ok := reasons[id]; ok {
			rows[i].explain(found)
		}
	}
}

// oldAfter is from which age on a page shows how old a reason is.
const oldAfter = 5 * time.Second

// explain adds the reason why a job is not done. The chips say the same as the reason, of the same moment.
func (r *row) explain(of reason) {
	r.Why = of.Verdict
	if age := time.Since(of.at); age > oldAfter {
		r.Age = age.Round(time.Second)
	}
	if of.Attempt != r.Attempt || of.Stage != r.Stage || r.Status != job.StatusRun {
		return // it has gone on since
	}
	for i, c := range r.Chips {
		c.State, c.Text = "done", "done"
		for _, s := range of.Steps {
			if s.Name == c.Name {
				c.State, c.Text = chipOfStep(s, of.Now)
			}
		}
		r.Chips[i] = c
	}
}
