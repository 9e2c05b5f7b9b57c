package dashboard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// overview is the content of the start page.
type overview struct {
	NoWorkers []string
	Charts    []chart
}

func (d *Dashboard) overview(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	return "Overview", overview{NoWorkers: d.noWorkers(s), Charts: charts(d.sampler.points(), time.Now())}, nil
}

// noWorkers returns the listeners without a worker.
func (d *Dashboard) noWorkers(s *sample) []string {
	var names []string
	for _, name := range d.o.Listeners {
		if s.Figures.Known("tasks_workers", name) && s.Figures.Of("tasks_workers", name) == 0 {
			names = append(names, name)
		}
	}
	return names
}

// dead is the content of the page of dead jobs.
type dead struct {
	Since, Until string // the filter, by the time of failure
	Wrong        string // what is wrong with it; empty: nothing
	Groups       []group
	Total        int // length of the list in Redis
	Sweeps       []sweep
}

// group has the dead jobs of a report whose reasons differ only in numbers.
type group struct {
	Report, Reason string // the reason of the newest job
	Key            string
	Jobs           []inspect.DeadJob
	Last           time.Time
}

// keyOf returns the key of a job's group.
func keyOf(j inspect.DeadJob) string {
	sum := sha256.Sum256([]byte(j.Report + "\x00" + numbers.ReplaceAllString(j.Error, "0") + "\x00" + j.Note))
	return hex.EncodeToString(sum[:])
}

var numbers = regexp.MustCompile(`[0-9]+`)

func (v dead) refused() bool { return v.Wrong != "" }

func (d *Dashboard) dead(_ context.Context, r *http.Request, s *sample) (string, any, error) {
	v := dead{Since: r.FormValue("since"), Until: r.FormValue("until"), Total: int(s.Figures.Of("jobs_dead", "")), Sweeps: d.sweeps.list()}
	span, err := spanOf(r, time.Now())
	if err != nil {
		v.Wrong = err.Error()
		return "Dead jobs", v, nil
	}
	at := map[string]int{}
	for _, j := range s.Dead { // newest first
		if !span.Has(j.When) {
			continue
		}
		key := keyOf(j)
		i, ok := at[key]
		if !ok {
			i = len(v.Groups)
			at[key] = i
			v.Groups = append(v.Groups, group{Key: key, Report: j.Report, Reason: cmp.Or(j.Error, j.Note), Last: j.When})
		}
		v.Groups[i].Jobs = append(v.Groups[i].Jobs, j)
	}
	slices.SortStableFunc(v.Groups, func(a, b group) int { return cmp.Compare(len(b.Jobs), len(a.Jobs)) })
	return "Dead jobs", v, nil
}

// quarantine is the content of the page of quarantined entries.
type quarantine struct {
	Entries []inspect.Quarantined
	More    int // entries that are not listed
}

func (d *Dashboard) quarantine(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	v := quarantine{Entries: s.Quarantined}
	if len(v.Entries) > maxRows {
		v.Entries = v.Entries[:maxRows]
	}
	v.More = max(0, int(s.Figures.Of("quarantined", ""))-len(v.Entries))
	return "Quarantine", v, nil
}

// listenerRows is the content of the page of listeners.
type listenerRows struct {
	Listeners []listener
	Sources   []sourceRow
	Seen      time.Time // start of the count of tries, at most an hour ago
}

// listener is a row of the page of listeners.
type listener struct {
	inspect.Load
	Source, Kind string
	Known        bool    // the figures were read
	Jobs         int     // jobs that wait for it
	Slotless     float64 // tasks that a worker has read and that wait for a slot of its source
}

func (d *Dashboard) listeners(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	open := map[string]int{}
	for _, j := range s.Jobs {
		for _, name := range j.Open {
			open[name]++
		}
	}
	var all []listener
	for _, load := range inspect.Loads(d.o.Listeners, s.Figures, s.Pauses, s.Slots) {
		l := listener{Known: s.Figures.Known("tasks_workers", load.Name), Load: load, Jobs: open[load.Name], Slotless: load.Pending - load.Running}
		for _, r := range d.o.Reports {
			if of, _, ok := r.Listener(load.Name); ok {
				l.Source, l.Kind = of.Source, string(of.Kind)
			}
		}
		all = append(all, l)
	}
	tried := d.sampler.tries()
	v := listenerRows{Listeners: all, Sources: d.sourceRows(s, all, tried), Seen: tried.since}
	return "Listeners", v, nil
}

// due is the content of the page of delayed ids and timers.
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

// definition is a report on the page of reports.
type definition struct {
	*report.Report
	Name    string
	Paused  bool
	Running int
	Wrong   map[string]string // what is wrong with the values of its form, by parameter
	Typed   map[string]string // the values of its form, by parameter
}

func (d *Dashboard) reports(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	return "Reports", d.definitions(s, &wrongForm{}), nil
}

// definitions returns all reports, one of them with a form that was sent.
func (d *Dashboard) definitions(s *sample, form *wrongForm) []definition {
	running := map[string]int{}
	for _, j := range s.Jobs {
		running[j.Report]++
	}
	var all []definition
	for _, name := range slices.Sorted(maps.Keys(d.o.Reports)) {
		one := definition{
			Report: d.o.Reports[name], Name: name, Running: running[name],
			Paused: slices.ContainsFunc(s.Pauses, func(p inspect.Pause) bool { return p.What == "report/"+name }),
		}
		if name == form.report {
			one.Wrong, one.Typed = form.wrong, form.typed
		}
		all = append(all, one)
	}
	return all
}
