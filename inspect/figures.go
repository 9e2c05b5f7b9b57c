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

// Figure is how much there is of something in Redis, or how old or late it is.
type Figure struct {
	Name  string  `json:"name"` // of the metric, without fanfold_
	Help  string  `json:"-"`
	Label string  `json:"label,omitempty"` // what it is of: listener or report
	Of    string  `json:"of,omitempty"`    // its name
	Part  string  `json:"partition,omitempty"`
	Value float64 `json:"value"` // a number, or seconds
}

// Greatest tells whether it is an age, a lateness or a ratio: of several partitions the greatest
// counts, and not their sum.
func (f Figure) Greatest() bool {
	return strings.HasSuffix(f.Name, "_seconds") || strings.HasSuffix(f.Name, "_ratio")
}

// measure is a figure that is to be read.
type measure struct {
	Figure
	ask   func(ctx context.Context, p redis.Pipeliner) // nil: another one asks for what it needs
	again func(ctx context.Context, p redis.Pipeliner) // after the answers to all that was asked; nil: nothing more
	value func(now time.Time) (float64, error)
}

// Figures reads what is in Redis: of each partition at once, in one round trip of commands that cost
// the same however long the lists are, and in a second one where entries wait that no process has
// read. Where a key is of another type, its figures are missing; any other error is that of Redis,
// and comes with the figures of the partitions that answered.
func (in *Inspector) Figures(ctx context.Context) ([]Figure, error) {
	parts := measures(in)
	found, failed := make([][]Figure, len(parts)), make([]error, len(parts))
	var group sync.WaitGroup
	for i, s := range in.o.Scripts {
		group.Go(func() { found[i], failed[i] = in.read(ctx, s, parts[i]) })
	}
	group.Wait()
	return slices.Concat(found...), errors.Join(failed...)
}

// read reads the figures of a partition.
func (in *Inspector) read(ctx context.Context, s *scripts.Scripts, all []measure) (found []Figure, failed error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	_, _ = in.o.Redis.Pipelined(ctx, func(p redis.Pipeliner) error { // each command has its error
		for _, m := range all {
			if m.ask != nil {
				m.ask(ctx, p)
			}
		}
		return nil
	})
	_, _ = in.o.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
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

// measures lists what there is to read in each partition.
func measures(in *Inspector) [][]measure {
	parts := make([][]measure, len(in.o.Scripts))
	for i, s := range in.o.Scripts {
		parts[i] = append(in.measuresOf(s.Keys), memory(s))
		for j := range parts[i] {
			if len(parts) > 1 {
				parts[i][j].Part = strconv.Itoa(i)
			}
		}
	}
	return parts
}

// measuresOf lists what there is to read in a partition.
func (in *Inspector) measuresOf(k scripts.Keys) []measure {
	all := slices.Concat(
		backlogFigures("jobs", k.Jobs(), "Pushed ids that are not started yet."),
		backlogFigures("fanin", k.FanIn(), "Jobs whose listeners are done, and whose file is not, or that are to end."),
		backlogFigures("fanin_large", k.FanInLarge(), "Jobs with much data that are as those of fanfold_fanin_waiting: a process folds limits.folds of them at once."),
		backlogFigures("replies", k.Reply(), "What external services said and is not applied yet."),
		backlogFigures("timer_actions", k.Fired(), "Timers that have fired and whose action is not done, in work or not."),
		backlogFigures("ends", k.Finished(), "Ends of jobs and receipts that a service is not told yet, in work or not."),
		[]measure{
			size("jobs_running", k.Deadlines(), "Jobs that run, in all processes."),
			overdue("timeout", k.Deadlines(), "How long ago the first deadline passed of a job that has not ended, 0 if none did: it grows while no scheduler fails the job, no engine ends it, or a paused listener stops the deadline."),
			size("paused", k.PausedSet(), "Listeners and reports that are paused."),
			size("jobs_delayed", k.Delayed(), "Ids and retries that are due later."),
			overdue("delayed", k.Delayed(), "How long ago the first id or retry was due that is still delayed, 0 if none was: it grows while no scheduler runs."),
			size("jobs_dead", k.Dead(), "Failed jobs that were neither run again nor discarded."),
			length("quarantined", k.Quarantined(), "Entries that could not be used; the oldest of about 10,000 are removed."),
			size("timers", k.Timers(), "Timers that are set and not paused."),
			overdue("timers", k.Timers(), "How long ago the first timer was due that has not fired, 0 if none was: it grows while no scheduler runs."),
			size("timer_actions_retrying", k.WaitingFired(), "Timers that have fired and whose action waits for its next try, and ends of which a service is to be told again."),
		})
	for _, name := range slices.Sorted(maps.Keys(in.o.Config.Reports)) {
		m := size("jobs_parked", k.Waiting(name), "Pushed ids that wait for their report, which is paused.")
		m.Label, m.Of = "report", name
		all = append(all, m)
	}
	readers := in.Readers(k)
	for _, stream := range slices.Sorted(maps.Keys(readers)) {
		by := readers[stream]
		if by.Listener == "" {
			continue
		}
		tasks := backlogFigures("tasks", stream, "Tasks of the listener that are not done, in work or not.")
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

// overdue measures how late the first member of a sorted set of times is. Services write seconds,
// too, which a scheduler rewrites.
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

// memory measures how full the server of a partition is. It asks on its own connection: a pipeline
// to a cluster sends INFO, which names no key, to any server.
func memory(s *scripts.Scripts) measure {
	var used int
	var err error
	return measure{
		Figure: Figure{Name: "redis_memory_used_ratio", Help: "How much of its maxmemory Redis uses, from 0 to 1; 0 if it has no limit. Above limits.memory no job is started."},
		ask:    func(ctx context.Context, _ redis.Pipeliner) { used, err = s.MemoryUsed(ctx) },
		value:  func(time.Time) (float64, error) { return float64(used) / 100, err },
	}
}

// workers measures how many processes read a listener's stream.
func workers(name, key, help string, by Reader) measure {
	var c *redis.XInfoConsumersCmd
	return measure{
		Figure: Figure{Name: name, Help: help},
		ask:    func(ctx context.Context, p redis.Pipeliner) { c = p.XInfoConsumers(ctx, key, scripts.Group) },
		value: func(time.Time) (n float64, err error) {
			consumers, err := c.Result()
			for _, one := range consumers {
				if by.Alive(one) {
					n++
				}
			}
			if err != nil && missing(err) {
				return 0, nil
			}
			return n, err
		},
	}
}

func number(n int64, err error) (float64, error) { return float64(n), err }

// since is how many seconds a time is past.
func since(now, at time.Time) float64 { return max(0, now.Sub(at).Seconds()) }
