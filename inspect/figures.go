package inspect

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// Figures are measured values of all of Redis.
type Figures struct{ o *Options }

// Figure is a measured value in Redis: a number, an age or a delay.
type Figure struct {
	Name  string  `json:"name"` // of the metric, without fanfold_
	Help  string  `json:"-"`
	Label string  `json:"label,omitempty"` // listener, report, class or empty
	Of    string  `json:"of,omitempty"`    // name of the listener, report or class
	Part  string  `json:"partition,omitempty"`
	Value float64 `json:"value"` // a number, or seconds
}

// TakesMax reports whether it is an age, a delay or a ratio: for several partitions the maximum
// counts, not the sum.
func (f Figure) TakesMax() bool {
	return strings.HasSuffix(f.Name, "_seconds") || strings.HasSuffix(f.Name, "_ratio")
}

// measure computes a figure.
type measure struct {
	Figure
	value func(*reading) (float64, error)
}

// reading is what figures are computed from: the streams and sets of a partition, by key.
type reading struct {
	now       time.Time
	streams   map[string]*scripts.Stream
	sets      map[string]*scripts.Set
	paused    int
	pausedErr error
	memory    scripts.Usage
	memoryErr error
	full      bool // jobs compete for a full Redis
	fullErr   error
}

// Read reads all figures, from all partitions concurrently. The cost does not depend on the
// length of the lists: one round trip per partition, one for the pauses, and a further one if there are entries that no
// process has read. Figures of a key with a wrong type are missing. If a partition does not answer,
// it returns the error together with the figures of the others.
func (f Figures) Read(ctx context.Context) ([]Figure, error) {
	parts := f.measures()
	found, failed := make([][]Figure, len(parts)), make([]error, len(parts))
	var group sync.WaitGroup
	for i, s := range f.o.Scripts {
		group.Go(func() { found[i], failed[i] = f.read(ctx, s, parts[i]) })
	}
	group.Wait()
	return slices.Concat(found...), errors.Join(failed...)
}

// read reads the figures of a partition.
func (f Figures) read(ctx context.Context, s *scripts.Scripts, all []measure) (found []Figure, failed error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	r := &reading{now: now}
	streams, sets := f.keys(s.Keys)
	r.streams, r.sets = s.Entries.Survey(ctx, streams, sets)
	var holds scripts.Holds
	holds, r.pausedErr = s.Gate.Holds(ctx)
	r.paused = len(holds.Pauses())
	r.memory, r.memoryErr = s.Memory.Usage(ctx)
	if r.sets[s.Keys.Contenders].Length > 0 {
		var since time.Time
		since, r.fullErr = s.Memory.Contention(ctx)
		r.full = !since.IsZero()
	}
	for _, m := range all {
		value, err := m.value(r)
		switch {
		case err == nil:
			m.Value = value
			found = append(found, m.Figure)
		case !scripts.IsAnswer(err):
			failed = cmp.Or(failed, err)
		}
	}
	return found, failed
}

// keys returns the streams and sets of a partition that figures need.
func (f Figures) keys(k *scripts.Keys) (streams, sets []string) {
	streams = append(slices.Collect(maps.Keys(f.o.Config.Readers(k))), k.Reply, k.Quarantined)
	sets = []string{k.Deadlines, k.Delayed, k.Contenders, k.Dead, k.Timers, k.WaitingFired}
	for name := range f.o.Config.Reports {
		sets = append(sets, k.Waiting(name))
	}
	if of := f.o.Config.Limits.Lanes; of != nil {
		for _, c := range of.All() {
			sets = append(sets, k.ClassWaiting(c.Name), k.ClassRunning(c.Name))
		}
	}
	return streams, sets
}

// Measured returns what Read returns, without values.
func (f Figures) Measured() []Figure {
	var all []Figure
	for _, m := range slices.Concat(f.measures()...) {
		all = append(all, m.Figure)
	}
	return all
}

// measures returns the measures of every partition.
func (f Figures) measures() [][]measure {
	parts := make([][]measure, len(f.o.Scripts))
	for i, s := range f.o.Scripts {
		parts[i] = f.measuresOf(s.Keys)
		for j := range parts[i] {
			if len(parts) > 1 {
				parts[i][j].Part = strconv.Itoa(i)
			}
		}
	}
	return parts
}

// measuresOf returns the measures of a partition.
func (f Figures) measuresOf(k *scripts.Keys) []measure {
	all := slices.Concat(
		backlogFigures("jobs", k.Jobs, "Pushed ids that are not started yet."),
		backlogFigures("fanin", k.FanIn, "Jobs that wait for fan-in: all listeners are done, or the job is to end."),
		backlogFigures("fanin_large", k.FanInLarge,
			"Jobs with much data that wait for fan-in: a process folds at most limits.large_files of them at once."),
		backlogFigures("replies", k.Reply, "Replies of external services that are not applied yet."),
		backlogFigures("timer_actions", k.Fired,
			"Timers that have fired and whose action is not done, including those in "+
				"work."),
		backlogFigures("ends", k.Finished,
			"Ends of jobs and receipts that are not reported to a service yet, including "+
				"those in work."),
		[]measure{
			size("jobs_running", k.Deadlines, "Running jobs, in all processes."),
			overdue("timeout", k.Deadlines,
				"How long ago the oldest deadline of a job passed that has not ended, else 0. It "+
					"grows while no scheduler fails the job, no engine ends it, or a paused listener stops the deadline."),
			{
				Figure{Name: "paused", Help: "Paused databases, APIs, listeners and reports."},
				func(r *reading) (float64, error) { return float64(r.paused), r.pausedErr },
			},
			size("jobs_delayed", k.Delayed, "Delayed ids and retries."),
			overdue("delayed", k.Delayed,
				"By how much the oldest delayed id or retry is overdue, else 0. It grows while no "+
					"scheduler runs."),
			contending(k),
			size("jobs_dead", k.Dead, "Failed jobs that were neither retried nor discarded."),
			length("quarantined", k.Quarantined,
				"Entries that could not be used. Above about 10,000, the oldest are removed."),
			size("timers", k.Timers, "Timers that are set and not paused."),
			overdue("timers", k.Timers,
				"By how much the oldest timer is overdue, else 0. It grows while no scheduler runs."),
			{
				Figure{Name: "redis_memory_used_ratio",
					Help: "How much of its maxmemory Redis uses, from 0 to 1; 0 if it has " +
						"no limit. Above limits.redis_memory_percent no job is started."},
				func(r *reading) (float64, error) { return float64(r.memory.Percent()) / 100, r.memoryErr },
			},
			size("timer_actions_retrying", k.WaitingFired,
				"Actions of timers, and reports of ends and receipts to services, that wait for their next try."),
		})
	for _, name := range slices.Sorted(maps.Keys(f.o.Config.Reports)) {
		m := size("jobs_parked", k.Waiting(name),
			"Pushed ids that wait because their report is paused, or has as many "+
				"running jobs as it may have.")
		m.Label, m.Of = "report", name
		all = append(all, m)
	}
	all = append(all, laneFigures(f.o.Config.Limits.Lanes, k)...)
	readers := f.o.Config.Readers(k)
	for _, stream := range slices.Sorted(maps.Keys(readers)) {
		by := readers[stream]
		if by.Listener == "" {
			continue
		}
		tasks := backlogFigures("tasks", stream, "Open tasks of the listener, including those in work.")
		tasks = append(tasks, workers("tasks_workers", stream,
			"Processes that run the listener, or workers of its external service.", by))
		for _, m := range tasks {
			m.Label, m.Of = "listener", by.Listener
			all = append(all, m)
		}
	}
	return all
}

// length measures a stream.
func length(name, key, help string) measure {
	return measure{Figure{Name: name, Help: help}, func(r *reading) (float64, error) {
		return float64(r.streams[key].Length), r.streams[key].Err
	}}
}

// size measures a sorted set.
func size(name, key, help string) measure {
	return measure{Figure{Name: name, Help: help}, func(r *reading) (float64, error) {
		return float64(r.sets[key].Length), r.sets[key].Err
	}}
}

// overdue measures how late the first member of a sorted set of times is. Services may write
// seconds, which the scheduler rewrites to milliseconds.
func overdue(name, key, help string) measure {
	return measure{Figure{Name: name + "_overdue_seconds", Help: help}, func(r *reading) (late float64, err error) {
		for _, score := range r.sets[key].First {
			if due, ok := DueTime(score); ok {
				late = max(late, since(r.now, due))
			}
		}
		return late, r.sets[key].Err
	}}
}

// contending measures the competition for a full Redis: a job that has ended may still be in the set.
func contending(k *scripts.Keys) measure {
	const help = "Jobs that compete for the memory of a full Redis, else 0. They run one after another."
	return measure{Figure{Name: "jobs_contending", Help: help}, func(r *reading) (n float64, err error) {
		if r.full {
			n = float64(r.sets[k.Contenders].Length)
		}
		return n, cmp.Or(r.sets[k.Contenders].Err, r.fullErr)
	}}
}

// workers measures how many processes read a listener's stream. Before version 7.2 (without
// `inactive`), Redis does not tell whether the idle consumer of a service waits or is gone: it counts
// until a task stays unread.
func workers(name, key, help string, by Reader) measure {
	return measure{Figure{Name: name, Help: help}, func(r *reading) (n float64, err error) {
		for _, one := range r.streams[key].Consumers {
			if by.Alive(one) || by.External && r.streams[key].AllRead && one.Inactive == 0 {
				n++
			}
		}
		return n, r.streams[key].Err
	}}
}

// backlogFigures returns the figures of a stream whose entries are deleted when they are done: its
// entries, how many of them a process has read, how many none has, and the age of the oldest.
func backlogFigures(name, key, help string) []measure {
	of := func(suffix, help string, value func(s *scripts.Stream, now time.Time) float64) measure {
		return measure{Figure{Name: name + suffix, Help: help}, func(r *reading) (float64, error) {
			return value(r.streams[key], r.now), r.streams[key].Err
		}}
	}
	waiting := "fanfold_" + name + "_waiting"
	return []measure{
		of("_waiting", help, func(s *scripts.Stream, _ time.Time) float64 { return float64(s.Length) }),
		of("_pending", "How many of "+waiting+" a process has read.", func(s *scripts.Stream, _ time.Time) float64 {
			return float64(s.Pending)
		}),
		// XINFO GROUPS cannot tell the lag after an unread entry was deleted.
		of("_lag", "How many of "+waiting+" no process has read yet.", func(s *scripts.Stream, _ time.Time) float64 {
			return float64(max(0, s.Length-s.Pending))
		}),
		of("_oldest_seconds", "Age of the oldest entry of "+waiting+", 0 if there is none.",
			func(s *scripts.Stream, now time.Time) float64 {
				if s.Oldest == "" {
					return 0
				}
				return since(now, scripts.EntryTime(s.Oldest))
			}),
	}
}

// since returns the seconds since a time, at least 0.
func since(now, at time.Time) float64 { return max(0, now.Sub(at).Seconds()) }
