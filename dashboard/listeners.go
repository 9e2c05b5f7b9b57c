package dashboard

import (
	"context"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

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

func (l listPages) listeners(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	open := map[string]int{}
	for _, j := range s.Jobs {
		for _, name := range j.Open {
			open[name]++
		}
	}
	var all []listener
	for _, load := range inspect.Loads(l.o.Listeners, s.Figures, s.Pauses, s.Slots) {
		one := listener{
			Load:     load,
			Known:    s.Figures.Known("tasks_workers", load.Name),
			Jobs:     open[load.Name],
			Slotless: load.Pending - load.Running,
		}
		for _, r := range l.o.Inspect.Config.Reports {
			if of, _, ok := r.Listener(load.Name); ok {
				one.Source, one.Kind = of.Source, string(of.Kind)
			}
		}
		all = append(all, one)
	}
	tried := l.sampler.tries()
	v := listenerRows{Listeners: all, Sources: l.sourceRows(s, all, tried), Seen: tried.since}
	return "Listeners", v, nil
}

// sourceRow is a source on the page of listeners.
type sourceRow struct {
	source
	Bound report.Bound
	Used  int // slots
	Open  int // tasks of its listeners that are not done
	// Of the last hour, since this process started at the earliest: the failed tries of its listeners, the
	// queries per minute that succeeded, and the 95th percentile of their durations.
	Failed int
	Rate   float64
	P95    time.Duration
}

// sourceRows returns a row for every source.
func (l listPages) sourceRows(s *sample, rows []listener, tried tries) (all []sourceRow) {
	for _, one := range s.Sources {
		row := sourceRow{source: one, Bound: l.o.Bounds[one.Name], Used: len(s.Holders[one.Name])}
		var took durations
		for _, of := range rows {
			if of.Source != one.Name {
				continue
			}
			row.Open += of.Jobs
			row.Failed += tried.failed[of.Name]
			if more := tried.took[of.Name]; more != nil {
				took.add(more)
			}
		}
		row.Rate = float64(took.count()) / max(s.At.Sub(tried.since).Minutes(), 1)
		row.P95 = took.quantile(0.95)
		all = append(all, row)
	}
	return all
}
