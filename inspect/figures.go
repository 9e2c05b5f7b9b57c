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

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// Figures are measured values of all of Redis.
type Figures struct{ o *Options }

// Figure is a measured value in Redis: a number, an age or a delay.
type Figure struct {
	Name  string  `json:"name"` // of the metric, without fanfold_
	Help  string  `json:"-"`
	Label string  `json:"label,omitempty"` // listener, report or empty
	Of    string  `json:"of,omitempty"`    // name of the listener or report
	Part  string  `json:"partition,omitempty"`
	Value float64 `json:"value"` // a number, or seconds
}

// TakesMax reports whether it is an age, a delay or a ratio: for several partitions the maximum
// counts, not the sum.
func (f Figure) TakesMax() bool {
	return strings.HasSuffix(f.Name, "_seconds") || strings.HasSuffix(f.Name, "_ratio")
}

// measure reads a figure.
type measure struct {
	Figure
	ask   func(ctx context.Context, p redis.Pipeliner) // nil: another measure asks
	again func(ctx context.Context, p redis.Pipeliner) // in a second round trip; nil: not needed
	value func(now time.Time) (float64, error)
}

// Figures reads all figures, from all partitions concurrently. The cost does not depend on the
// length of the lists: one round trip per partition, and a second one if there are entries that no
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
	_, _ = f.o.Redis.Pipelined(ctx, func(p redis.Pipeliner) error { // every command has its own error
		for _, m := range all {
			if m.ask != nil {
				m.ask(ctx, p)
			}
		}
		return nil
	})
	_, _ = f.o.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, m := range all {
			if m.again != nil {
				m.again(ctx, p)
			}
		}
		return nil
	})
	for _, m := range all {
		value, err := m.value(now)
		var refused redis.Error
		switch {
		case err == nil:
			m.Value = value
			found = append(found, m.Figure)
		case !errors.As(err, &refused):
			failed = cmp.Or(failed, err)
		}
	}
	return found, failed
}

// Measured returns what Figures returns, without values.
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
		parts[i] = append(f.measuresOf(s.Keys), memory(s))
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
		backlogFigures("fanin_large", k.FanInLarge, "Jobs with much data that wait for fan-in: a process folds at most limits.folds of them at once."),
		backlogFigures("replies", k.Reply, "Replies of external services that are not applied yet."),
		backlogFigures("timer_actions", k.Fired, "Timers that have fired and whose action is not done, including those in work."),
		backlogFigures("ends", k.Finished, "Ends of jobs and receipts that are not reported to a service yet, including those in work."),
		[]measure{
			size("jobs_running", k.Deadlines, "Running jobs, in all processes."),
			overdue("timeout", k.Deadlines, "How long ago the oldest deadline of a job passed that has not ended, else 0. It grows while no scheduler fails the job, no engine ends it, or a paused listener stops the deadline."),
			size("paused", k.PausedSet, "Paused listeners and reports."),
			size("jobs_delayed", k.Delayed, "Delayed ids and retries."),
			overdue("delayed", k.Delayed, "By how much the oldest delayed id or retry is overdue, else 0. It grows while no scheduler runs."),
			contending(k),
			size("jobs_dead", k.Dead, "Failed jobs that were neither retried nor discarded."),
			length("quarantined", k.Quarantined, "Entries that could not be used. Above about 10,000, the oldest are removed."),
			size("timers", k.Timers, "Timers that are set and not paused."),
			overdue("timers", k.Timers, "By how much the oldest timer is overdue, else 0. It grows while no scheduler runs."),
			size("timer_actions_retrying", k.WaitingFired, "Actions of timers, and reports of ends and receipts to services, that wait for their next try."),
		})
	for _, name := range slices.Sorted(maps.Keys(f.o.Config.Reports)) {
		m := size("jobs_parked", k.Waiting(name), "Pushed ids that wait because their report is paused, or has as many running jobs as it may have.")
		m.Label, m.Of = "report", name
		all = append(all, m)
	}
	readers := f.o.Config.Readers(k)
	for _, stream := range slices.Sorted(maps.Keys(readers)) {
		by := readers[stream]
		if by.Listener == "" {
			continue
		}
		tasks := backlogFigures("tasks", stream, "Open tasks of the listener, including those in work.")
		tasks = append(tasks, workers("tasks_workers", stream, "Processes that run the listener, or workers of its external service.", by))
		for _, m := range tasks {
			m.Label, m.Of = "listener", by.Listener
			all = append(all, m)
		}
	}
	return all
}

// length measures a stream.
func length(name, key, help string) measure {
	var c *redis.IntCmd
	return measure{
		Figure: Figure{Name: name, Help: help},
		ask:    func(ctx context.Context, p redis.Pipeliner) { c = p.XLen(ctx, key) },
		value:  func(time.Time) (float64, error) { return number(c.Result()) },
	}
}

// size measures a sorted set.
func size(name, key, help string) measure {
	var c *redis.IntCmd
	return measure{
		Figure: Figure{Name: name, Help: help},
		ask:    func(ctx context.Context, p redis.Pipeliner) { c = p.ZCard(ctx, key) },
		value:  func(time.Time) (float64, error) { return number(c.Result()) },
	}
}

// overdue measures how late the first member of a sorted set of times is. Services may write
// seconds, which the scheduler rewrites to milliseconds.
func overdue(name, key, help string) measure {
	ranges := []*redis.ZRangeBy{
		{Min: strconv.FormatInt(scripts.MinMillis, 10), Max: "+inf", Count: 1},
		{Min: strconv.FormatInt(scripts.MinMillis/1000, 10), Max: "(" + strconv.FormatInt(scripts.MinMillis, 10), Count: 1},
	}
	firsts := make([]*redis.ZSliceCmd, len(ranges))
	return measure{
		Figure: Figure{Name: name + "_overdue_seconds", Help: help},
		ask: func(ctx context.Context, p redis.Pipeliner) {
			for i, r := range ranges {
				firsts[i] = p.ZRangeByScoreWithScores(ctx, key, r)
			}
		},
		value: func(now time.Time) (late float64, err error) {
			for _, first := range firsts {
				found, failed := first.Result()
				err = cmp.Or(err, failed)
				for _, z := range found {
					if due, ok := DueTime(z.Score); ok {
						late = max(late, since(now, due))
					}
				}
			}
			return late, err
		},
	}
}

// contending measures the competition for a full Redis: a job that has ended may still be in the set.
func contending(k *scripts.Keys) measure {
	var jobs, full *redis.IntCmd
	return measure{
		Figure: Figure{Name: "jobs_contending", Help: "Jobs that compete for the memory of a full Redis, else 0. They run one after another."},
		ask: func(ctx context.Context, p redis.Pipeliner) {
			jobs, full = p.ZCard(ctx, k.Contenders), p.Exists(ctx, k.Full)
		},
		value: func(time.Time) (float64, error) {
			n, err := jobs.Result()
			return float64(n * full.Val()), cmp.Or(err, full.Err())
		},
	}
}

// memory measures the memory use of a partition's server. It does not use the pipeline: a pipeline
// to a cluster sends INFO, which names no key, to any server.
func memory(s *scripts.Scripts) measure {
	var used scripts.Usage
	var err error
	return measure{
		Figure: Figure{Name: "redis_memory_used_ratio", Help: "How much of its maxmemory Redis uses, from 0 to 1; 0 if it has no limit. Above limits.memory no job is started."},
		ask:    func(ctx context.Context, _ redis.Pipeliner) { used, err = s.Memory.Usage(ctx) },
		value:  func(time.Time) (float64, error) { return float64(used.Percent()) / 100, err },
	}
}

// workers measures how many processes read a listener's stream. Before version 7.2 (without
// `inactive`), Redis does not tell whether the idle consumer of a service waits or is gone: it counts
// until a task stays unread.
func workers(name, key, help string, by Reader) measure {
	var c *redis.XInfoConsumersCmd
	var g *redis.XInfoGroupsCmd
	return measure{
		Figure: Figure{Name: name, Help: help},
		ask: func(ctx context.Context, p redis.Pipeliner) {
			if c = p.XInfoConsumers(ctx, key, scripts.Group); by.External {
				g = p.XInfoGroups(ctx, key)
			}
		},
		value: func(time.Time) (n float64, err error) {
			consumers, err := c.Result()
			read := g != nil && slices.ContainsFunc(g.Val(), func(g redis.XInfoGroup) bool { return g.Name == scripts.Group && g.Lag == 0 })
			for _, one := range consumers {
				if by.Alive(one) || read && one.Inactive == 0 {
					n++
				}
			}
			if err != nil && Missing(err) {
				return 0, nil
			}
			return n, err
		},
	}
}

func number(n int64, err error) (float64, error) { return float64(n), err }

// since returns the seconds since a time, at least 0.
func since(now, at time.Time) float64 { return max(0, now.Sub(at).Seconds()) }
