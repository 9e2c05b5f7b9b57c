package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"golang.org/x/sync/singleflight"
)

// overview is the content of the first page.
type overview struct {
	NoWorkers []string
	Charts    []chart
}

func (d *Dashboard) overview(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	return "Overview", overview{NoWorkers: d.noWorkers(s), Charts: charts(d.sampler.points(), time.Now())}, nil
}

// noWorkers names the listeners that nobody runs.
func (d *Dashboard) noWorkers(s *sample) []string {
	var names []string
	if s.Figures == nil {
		return nil
	}
	for _, name := range d.listenerNames() {
		if s.Figures.of("tasks_workers", name) == 0 {
			names = append(names, name)
		}
	}
	return names
}

func (d *Dashboard) listenerNames() []string {
	names := map[string]bool{}
	for _, r := range d.o.Reports {
		for _, l := range r.Listeners() {
			names[l.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// jobs is the content of the page of running jobs.
type jobs struct {
	View, Query string
	Views       []countedView
	Rows        []row
	More        int // jobs that match and are not shown
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
}

// chip is a listener of a job's stage.
type chip struct {
	Name, State string // done, open, retry or paused
	Says        string
}

// maxRows is how many jobs a page shows.
const maxRows = 200

// The saved views of jobs.
var views = []struct {
	name, help string
	has        func(d *Dashboard, s *sample, r row) bool
}{
	{"all", "every job that runs", func(*Dashboard, *sample, row) bool { return true }},
	{"retrying", "a step has failed and waits for its next try", func(_ *Dashboard, s *sample, r row) bool { return len(s.Later[r.ID]) > 0 }},
	{"late", "more than half of the time to the deadline has passed", func(_ *Dashboard, _ *sample, r row) bool {
		return !r.Started.IsZero() && r.Left < r.Deadline.Sub(r.Started)/2
	}},
	{"stuck", "it waits for what is paused, for a listener that nobody runs, or has lost its state", func(d *Dashboard, s *sample, r row) bool {
		return r.Status == "" || slices.ContainsFunc(r.Chips, func(c chip) bool {
			return c.State == "paused" || c.State == "open" && s.Figures.of("tasks_workers", c.Name) == 0
		})
	}},
}

func (d *Dashboard) jobs(_ context.Context, r *http.Request, s *sample) (string, any, error) {
	v := jobs{View: cmp.Or(r.FormValue("view"), views[0].name), Query: strings.TrimSpace(r.FormValue("q"))}
	if len(v.Query) > 100 {
		v.Query = v.Query[:100]
	}
	v.Views = make([]countedView, len(views))
	for i, w := range views {
		v.Views[i] = countedView{Name: w.name, Help: w.help}
	}
	paused := map[string]bool{}
	for _, p := range s.Pauses {
		paused[p.What] = true
	}
	for _, running := range s.Jobs {
		if v.Query != "" && !strings.HasPrefix(running.ID, v.Query) && running.Report != v.Query {
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
	return "Jobs", v, nil
}

// chips are the listeners of a job's stage, or its fan-in.
func (d *Dashboard) chips(s *sample, r inspect.Running, paused map[string]bool) []chip {
	later := map[string]time.Time{}
	for _, l := range s.Later[r.ID] {
		if l.Due != nil {
			later[l.Step()] = *l.Due
		}
	}
	chipOf := func(name string, open bool) chip {
		c := chip{Name: name, State: "done", Says: "done"}
		next, waits := later[name]
		switch {
		case !open:
		case paused["listener/"+name]:
			c.State, c.Says = "paused", "paused"
		case waits:
			c.State, c.Says = "retry", "next try in "+countdown(next.Sub(s.At))
		default:
			c.State, c.Says = "open", "open"
		}
		return c
	}
	if r.Status == "" {
		return []chip{{Name: "state", State: "retry", Says: "Redis has none"}}
	}
	if r.Status != job.StatusRun {
		c := chipOf(job.StepFanIn, true)
		c.Name, c.Says = "file", cmp.Or(map[bool]string{true: c.Says}[c.State != "open"], strings.ToLower(r.Status))
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

// oneJob is the content of the page of a job.
type oneJob struct {
	inspect.Job
	Why inspect.Verdict
}

func (d *Dashboard) job(ctx context.Context, r *http.Request, _ *sample) (string, any, error) {
	id := r.PathValue("id")
	if !report.ValidID(id) {
		return "", nil, fmt.Errorf("%w: an id is 1 to 64 of 0-9, A-Z, a-z, _ and -", errNotFound)
	}
	v, err := d.asked.of(id, func() (oneJob, error) {
		v, err := d.o.Inspect.Job(ctx, id)
		if err != nil && v.ID == "" {
			return oneJob{}, err
		}
		why, err := d.o.Inspect.Why(ctx, id)
		if why.Kind != "" {
			err = nil // that a server is away is an answer
		}
		return oneJob{v, why}, err
	})
	return "Job " + id, v, err
}

// verdicts are what pages have just said of jobs.
type verdicts struct {
	group singleflight.Group
	mu    sync.Mutex
	known map[string]verdict
}

type verdict struct {
	at time.Time
	oneJob
}

// of returns what is known of a job, and asks if that is older than verdictAge.
func (v *verdicts) of(id string, ask func() (oneJob, error)) (oneJob, error) {
	v.mu.Lock()
	maps.DeleteFunc(v.known, func(_ string, one verdict) bool { return time.Since(one.at) > verdictAge })
	one, ok := v.known[id]
	v.mu.Unlock()
	if ok {
		return one.oneJob, nil
	}
	found, err, _ := v.group.Do(id, func() (any, error) {
		j, err := ask()
		if err == nil {
			v.mu.Lock()
			defer v.mu.Unlock()
			if v.known == nil {
				v.known = map[string]verdict{}
			}
			v.known[id] = verdict{time.Now(), j}
		}
		return j, err
	})
	return found.(oneJob), err
}

// dead is the content of the page of dead jobs.
type dead struct {
	Groups []group
	Total  int // of the list in Redis
}

// group are dead jobs of a report with the same reason, but for numbers.
type group struct {
	Report, Reason string // that of the newest
	Jobs           []inspect.DeadJob
	Last           time.Time
}

var numbers = regexp.MustCompile(`[0-9]+`)

func (d *Dashboard) dead(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	v := dead{Total: int(s.Figures.of("jobs_dead", ""))}
	at := map[[2]string]int{}
	for _, j := range s.Dead { // the newest first
		key := [2]string{j.Report, numbers.ReplaceAllString(j.Error, "0") + j.Note}
		i, ok := at[key]
		if !ok {
			i = len(v.Groups)
			at[key] = i
			v.Groups = append(v.Groups, group{Report: j.Report, Reason: cmp.Or(j.Error, j.Note), Last: j.When})
		}
		v.Groups[i].Jobs = append(v.Groups[i].Jobs, j)
	}
	slices.SortStableFunc(v.Groups, func(a, b group) int { return cmp.Compare(len(b.Jobs), len(a.Jobs)) })
	return "Dead jobs", v, nil
}

// listener is a row of the page of listeners.
type listener struct {
	Name, Source, Kind             string
	Workers, Waiting, Pending, Lag float64
	Oldest                         time.Duration
	Paused                         bool
	Jobs                           int // that wait for it
}

func (d *Dashboard) listeners(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	open := map[string]int{}
	for _, j := range s.Jobs {
		for _, name := range j.Open {
			open[name]++
		}
	}
	var all []listener
	for _, name := range d.listenerNames() {
		l := listener{
			Name: name, Jobs: open[name], Workers: s.Figures.of("tasks_workers", name), Waiting: s.Figures.of("tasks_waiting", name),
			Pending: s.Figures.of("tasks_pending", name), Lag: s.Figures.of("tasks_lag", name),
			Oldest: time.Duration(s.Figures.of("tasks_oldest_seconds", name) * float64(time.Second)),
			Paused: slices.ContainsFunc(s.Pauses, func(p inspect.Pause) bool { return p.What == "listener/"+name }),
		}
		for _, r := range d.o.Reports {
			if of, _, ok := r.Listener(name); ok {
				l.Source, l.Kind = of.Source, string(of.Kind)
			}
		}
		all = append(all, l)
	}
	return "Listeners", all, nil
}

// due is the content of the page of what is due later.
type due struct {
	Strip  strip
	Later  []inspect.Delayed
	Timers []inspect.Timer
}

func (d *Dashboard) due(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	v := due{Later: s.Delayed, Timers: s.Timers}
	for _, l := range s.Delayed {
		if l.Due != nil {
			v.Strip.add(s.At, *l.Due)
		}
	}
	for _, t := range s.Timers {
		if t.Due != nil {
			v.Strip.add(s.At, *t.Due)
		}
	}
	return "Due later", v, nil
}

// definition is a report as its page shows it.
type definition struct {
	*report.Report
	Name    string
	Paused  bool
	Running int
}

func (d *Dashboard) reports(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	running := map[string]int{}
	for _, j := range s.Jobs {
		running[j.Report]++
	}
	var all []definition
	for _, name := range slices.Sorted(maps.Keys(d.o.Reports)) {
		all = append(all, definition{
			Report: d.o.Reports[name], Name: name, Running: running[name],
			Paused: slices.ContainsFunc(s.Pauses, func(p inspect.Pause) bool { return p.What == "report/"+name }),
		})
	}
	return "Reports", all, nil
}

// countdown is a time that is left, as 0:41 or 2:03:00.
func countdown(d time.Duration) string {
	if d < 0 {
		return "now"
	}
	d = d.Round(time.Second)
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	if hours > 0 {
		return fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
	}
	return strconv.Itoa(minutes) + fmt.Sprintf(":%02d", seconds)
}
