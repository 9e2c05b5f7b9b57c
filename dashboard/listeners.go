package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/tally"
)

// listenerRows is the content of the page of listeners.
type listenerRows struct {
	Listeners table
	Sources   table
}

// listener is a row of the page of listeners.
type listener struct {
	inspect.Load
	Source, Kind string
	Pause        string  // what is paused, since when, by whom, until when and why; empty: nothing
	Known        bool    // the figures were read
	Jobs         int     // jobs that wait for it
	Slotless     float64 // tasks that a worker has read and that wait for a slot of its source
}

func (l listPages) listeners(_ context.Context, r *http.Request, s *sample) (string, any, error) {
	open := map[string]int{}
	for _, j := range s.Jobs {
		for _, name := range j.Open {
			open[name]++
		}
	}
	var all []listener
	for _, load := range l.o.Inspect.Loads(l.o.Listeners, s.Figures, s.Pauses, s.Slots) {
		one := listener{
			Load:     load,
			Pause:    l.pauseText(s, load.Paused),
			Known:    s.Figures.Known("tasks_workers", load.Name),
			Jobs:     open[load.Name],
			Slotless: load.Pending - load.Running,
		}
		for _, rep := range l.o.Inspect.Config.Reports {
			if of, _, ok := rep.Listener(load.Name); ok {
				one.Source, one.Kind = of.Source, string(of.Kind)
			}
		}
		all = append(all, one)
	}
	sources := sourceTable(s.At).of(r, l.sourceRows(s, all))
	return "Listeners", listenerRows{Listeners: listenerTable.of(r, all), Sources: sources}, nil
}

// listenerTable is the table of listeners.
var listenerTable = listing[listener]{
	name: "listeners", label: "Listeners", path: "/listeners", key: func(l listener) string { return l.Name },
	columns: []column[listener]{
		{
			key: "name", title: "Listener", class: "name", order: by(func(l listener) string { return l.Name }),
			cell: func(l listener) cell { return cell{Text: l.Name, Chips: pausedChip(l.Paused != ""), Soft: l.Pause} },
		},
		{
			key: "source", title: "Source", order: by(func(l listener) string { return cmp.Or(l.Source, l.Kind) }),
			cell: text(func(l listener) string { return cmp.Or(l.Source, l.Kind) }),
		},
		{
			key: "workers", title: "Workers", class: "number", order: by(func(l listener) float64 { return l.Workers }),
			cell: func(l listener) cell {
				switch {
				case !l.Known:
					return cell{Text: "unknown"}
				case l.Workers == 0:
					return cell{Text: "none", Chip: "failed"}
				}
				return cell{Text: count(l.Workers)}
			},
		},
		counted("jobs", "Waiting jobs", func(l listener) int { return l.Jobs }),
		counted("unread", "Unread tasks", func(l listener) float64 { return l.Lag }),
		{
			key: "running", title: "Running tasks", class: "number",
			order: by(func(l listener) float64 { return l.Running }),
			cell: func(l listener) cell {
				c := cell{Text: count(l.Running)}
				if l.Slotless != 0 {
					c.Soft = "and " + count(l.Slotless) + " wait for a slot"
				}
				return c
			},
		},
		{
			key: "oldest", title: "Oldest task", class: "number",
			order: by(func(l listener) time.Duration { return l.Oldest }),
			cell: text(func(l listener) string {
				if l.Oldest == 0 {
					return ""
				}
				return words.Short(l.Oldest)
			}),
		},
		{key: "change", title: "Change", operator: true, cell: func(l listener) cell {
			if l.Kind == report.External {
				return cell{}
			}
			return cell{Acts: []act{pauseOrResume("listener", l.Name, l.Paused == scripts.PausedListener(l.Name))}}
		}},
	},
}

// pausedChip marks what is paused.
func pausedChip(paused bool) []chip {
	if paused {
		return []chip{{State: "paused", Text: "paused"}}
	}
	return nil
}

// pauseText says what is paused, since when, by whom, until when and why; empty: it is not.
func (l listPages) pauseText(s *sample, what string) string {
	for _, one := range s.Pauses {
		if one.What == what {
			return l.o.Inspect.Pauses.Text(one)
		}
	}
	return ""
}

// limit returns how many may run of what scripts.PausedSource or PausedReport names, and who has limited it, since when
// and why; empty: that is the limit of the configuration.
func limit(o Options, s *sample, what string, configured int) (n int, text string) {
	for _, one := range s.Limits {
		if one.What == what {
			return one.Limit, o.Inspect.Limits.Text(one)
		}
	}
	return configured, ""
}

// setLimit are the buttons that limit a source or a report, and that end the limit that people have set.
func setLimit(kind, name string, limited bool) []act {
	to := "/" + kind + "s/" + name + "/limit"
	acts := []act{{Label: "Limit …", Of: name, To: to, Asks: true}}
	if limited {
		acts = append(acts, act{Label: "End limit", Of: "of " + name, To: to})
	}
	return acts
}

// pauseOrResume is the button that pauses or resumes a source, a listener or a report.
func pauseOrResume(kind, name string, paused bool) act {
	if paused {
		return act{Label: "Resume", Of: name, To: "/" + kind + "s/" + name + "/resume"}
	}
	return act{Label: "Pause …", Of: name, To: "/" + kind + "s/" + name + "/pause", Asks: true}
}

// holds are the buttons that pause or resume, and limit, a source or a report.
func holds(kind, name string, paused, limited bool) []act {
	return append([]act{pauseOrResume(kind, name, paused)}, setLimit(kind, name, limited)...)
}

// pauseFor are the buttons that pause a source at once, and the one to the form of any other pause.
func pauseFor(name string) (acts []act) {
	other := pauseOrResume("source", name, false)
	for _, long := range []struct{ label, length string }{{"30 min", "30m"}, {"1 h", "1h"}, {"2 h", "2h"}} {
		acts = append(acts, act{
			Label: long.label, Of: "pause " + name, To: other.To, Fields: []field{{"for", long.length}},
		})
	}
	other.Label, other.Of = "…", "Pause "+name+" for another time, or with a reason"
	return append(acts, other)
}

// sourceRow is a source on the page of listeners.
type sourceRow struct {
	source
	Pause string // as of a listener
	Limit string // that people have set
	Bound report.Bound
	Used  int // slots
	Open  int // tasks of its listeners that are not done
	// Of the last hour: the failed tries of its listeners, the queries per minute that succeeded, and the 95th
	// percentile of their durations.
	Failed int64
	Rate   float64
	P95    time.Duration
}

// sourceRows returns a row for every source.
func (l listPages) sourceRows(s *sample, rows []listener) (all []sourceRow) {
	hour := tally.NewBucket(time.Time{})
	for _, minute := range s.Minutes {
		hour.Add(minute)
	}
	for _, one := range s.Sources {
		row := sourceRow{
			source: one, Pause: l.pauseText(s, scripts.PausedSource(one.Name)),
			Bound: l.o.Bounds[one.Name], Used: len(s.Holders[one.Name]),
		}
		row.Bound.Parallel, row.Limit = limit(l.o, s, scripts.PausedSource(one.Name), row.Bound.Parallel)
		took := tally.Histogram{}
		for _, of := range rows {
			if of.Source != one.Name {
				continue
			}
			row.Open += of.Jobs
			if tried := hour.Listeners[of.Name]; tried != nil {
				row.Failed += tried.Failed
				took.Add(tried.Took)
			}
		}
		row.Rate = float64(took.Count()) / 60
		row.P95 = took.Quantile(0.95)
		all = append(all, row)
	}
	return all
}

// sourceTable is the table of sources.
func sourceTable(now time.Time) listing[sourceRow] {
	name := func(s sourceRow) string { return s.Name }
	all := listing[sourceRow]{name: "sources", label: "Sources", path: "/listeners", prefix: "sources.", key: name}
	all.columns = []column[sourceRow]{
		{key: "name", title: "Source", class: "name", order: by(name), cell: func(s sourceRow) cell {
			return cell{Text: s.Name, Chips: pausedChip(s.Pause != ""), Soft: s.Pause}
		}},
		{
			key: "state", title: "State", order: by(func(s sourceRow) string { return s.Unreachable }),
			cell: func(s sourceRow) cell {
				if s.Unreachable == "" {
					return cell{Text: "reachable", Chip: "done"}
				}
				return cell{
					Text: "unreachable", Chip: "failed",
					Soft: "first failed " + words.When(s.Since, now) + ": " + s.Unreachable,
				}
			},
		},
		{
			key: "slots", title: "Slots in use", class: "number", order: by(func(s sourceRow) int { return s.Used }),
			cell: func(s sourceRow) cell {
				if s.Bound.Parallel == 0 {
					return cell{Text: "no limit"}
				}
				return cell{Text: fmt.Sprintf("%d of %d", s.Used, s.Bound.Parallel), Soft: s.Limit}
			},
		},
		{
			key: "limit", title: "Rate limit", class: "number",
			cell: text(func(s sourceRow) string { return cmp.Or(s.Bound.Rate.String(), "no limit") }),
		},
		counted("open", "Open tasks", func(s sourceRow) int { return s.Open }),
		{
			key: "rate", title: "Tasks done per minute", class: "number",
			order: by(func(s sourceRow) float64 { return s.Rate }),
			cell:  text(func(s sourceRow) string { return rate(s.Rate) }),
		},
		{
			key: "p95", title: "95th percentile", class: "number",
			order: by(func(s sourceRow) time.Duration { return s.P95 }),
			cell: text(func(s sourceRow) string {
				if s.P95 == 0 {
					return ""
				}
				return words.Short(s.P95)
			}),
		},
		counted("failed", "Failed tries", func(s sourceRow) int64 { return s.Failed }),
		{key: "change", title: "Change", operator: true, cell: func(s sourceRow) cell {
			return cell{Acts: holds("source", s.Name, s.Pause != "", s.Limit != "")}
		}},
	}
	return all
}
