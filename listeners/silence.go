package listeners

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// watchEvery is how often entries of silent workers are searched.
const watchEvery = time.Second

// watchBatch is how many entries one search reads.
const watchBatch = 100

// watch ends the tries of external workers that fall silent, or that read an entry and never reply.
// It claims entries that are idle for long enough, so that one process checks each of them, and
// another one if that process dies.
//
// Replies that are not applied yet are no silence: the age of the oldest one is added to the limit.
// After an outage of Redis, workers get the full time again.
func (e *external) watch(ctx context.Context) error {
	var away time.Time // when Redis was away last
	failed := map[string]time.Time{}
	return step.Every(ctx, e.log, watchEvery, "find silent workers", func(ctx context.Context) (failure error) {
		began := time.Now()
		if _, err := e.o.Scripts.Now(ctx); err != nil || time.Since(began) > watchEvery {
			away = time.Now()
		}
		for _, listener := range slices.Sorted(maps.Keys(e.silences)) {
			silence := e.silences[listener]
			if time.Since(away) < silence || time.Since(failed[listener]) < silence {
				continue
			}
			if err := e.watchListener(ctx, listener, silence); err != nil {
				failed[listener], failure = time.Now(), fmt.Errorf("listener %s: %w", listener, err)
			}
		}
		return failure
	})
}

// tidy deletes consumers that no longer exist, once a minute.
func (e *external) tidy(ctx context.Context) error {
	return step.Every(ctx, e.log, time.Minute, "tidy streams of external listeners", func(ctx context.Context) (failure error) {
		for listener := range e.silences {
			_, err := e.o.Scripts.Streams.RemoveIdleConsumers(ctx, e.o.Scripts.Keys.Task(listener), scripts.MaxIdle)
			failure = errors.Join(failure, err)
		}
		return failure
	})
}

// watchListener looks at the idle entries of a listener.
func (e *external) watchListener(ctx context.Context, listener string, silence time.Duration) error {
	behind, err := e.behind(ctx)
	if err != nil {
		return err
	}
	from := e.o.Scripts.Keys.Task(listener)
	for last := ""; ; {
		began := time.Now()
		idle, err := e.o.Scripts.Entries.Idle(ctx, from, silence+behind, last, watchBatch)
		if err != nil || len(idle) == 0 {
			return err
		}
		entries, err := e.o.Scripts.Entries.TakeOver(ctx, from, e.o.Consumer, silence+behind, idle)
		if err != nil {
			return err
		}
		if took := time.Since(began); took > watchEvery {
			return fmt.Errorf("Redis took %s to answer", took.Round(time.Second)) // workers had to wait, too
		}
		for _, entry := range entries {
			if err := e.silent(ctx, listener, entry.ID, entry.Fields); err != nil {
				return err
			}
		}
		if len(idle) < watchBatch || ctx.Err() != nil {
			return nil
		}
		last = idle[len(idle)-1]
	}
}

// behind returns the age of the oldest reply that is not applied.
func (e *external) behind(ctx context.Context) (time.Duration, error) {
	oldest, err := e.o.Scripts.Entries.First(ctx, e.o.Scripts.Keys.Reply, 1)
	if err != nil || len(oldest) == 0 {
		return 0, err
	}
	now, err := e.o.Scripts.Now(ctx)
	return max(0, now.Sub(scripts.EntryTime(oldest[0].ID))), err
}

// silent ends the try of an idle entry, if the entry belongs to one.
func (e *external) silent(ctx context.Context, listener, entry string, fields map[string]string) error {
	from := e.o.Scripts.Keys.Task(listener)
	ack := func() error { return e.o.Scripts.Streams.Ack(ctx, from, entry) }
	a := reply{ID: fields["id"], Listener: listener}
	attempt, err := strconv.ParseInt(fields["attempt"], 10, 64)
	if !report.ValidID(a.ID) || err != nil || attempt < 1 {
		e.log.Warn("quarantined", "stream", from, "entry", entry)
		if err := e.o.Scripts.Streams.Quarantine(ctx, from, entry, fields, "not a task: id and attempt are needed"); err != nil {
			return err
		}
		return ack()
	}
	a.Attempt = attempt
	state, err := e.look(ctx, a)
	var no refused
	switch {
	case errors.As(err, &no):
		return ack() // nothing is left to do for it
	case errors.Is(err, scripts.ErrBroken):
		if err := e.o.Scripts.Streams.Quarantine(ctx, from, entry, fields, err.Error()); err != nil {
			return err
		}
		return ack()
	case err != nil:
		return err
	}
	if state.Tasks[listener].Owner == "" {
		later := job.Later{ID: a.ID, Attempt: attempt, Step: listener}
		found, err := e.o.Scripts.Sets.Scores(ctx, e.o.Scripts.Keys.Delayed, []string{later.String()})
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return ack() // its try was given up, and the next one is scheduled
		}
	}
	task, _ := e.o.Scripts.Tasks.New(scripts.Message{ID: a.ID, Attempt: attempt}, listener,
		scripts.Entry{Stream: from, Group: scripts.Group, Consumer: e.o.Consumer, ID: entry}, nil)
	task.Lease = e.o.Limits.Lease
	return e.endSilent(ctx, state, task)
}

// endSilent takes a task from its worker, unless the worker has replied meanwhile, and ends the try.
func (e *external) endSilent(ctx context.Context, state *job.State, t *scripts.Task) error {
	rep := e.definitions[state.Definition]
	if rep == nil {
		return nil // another process has its definition
	}
	l, _, ok := rep.Listener(t.Listener)
	if !ok {
		return nil
	}
	took, err := t.Take(ctx, scripts.Take{Owner: fmt.Sprintf("%s/silent/%d", e.o.Consumer, e.takes.Add(1)), Known: e.known[t.Listener]})
	if err != nil {
		return err
	}
	switch took {
	case scripts.OK:
	case scripts.Busy, scripts.Unknown:
		return nil
	default:
		return e.o.Scripts.Streams.Ack(ctx, t.Entry.Stream, t.Entry.ID)
	}
	// A minimal delay: until it is moved, the retry is visible in the delayed set.
	again := scripts.Requeue{Delay: time.Millisecond, Counts: true, Error: fmt.Sprintf("a worker read its entry and sent no reply for %s", l.Silence), Blame: job.BlameSource}
	tries := t.Tries
	if state.Tasks[t.Listener].Owner != "" {
		// The worker's own take has counted.
		again.Counts, again.Error, tries = false, t.Failure, t.Tries-1
		if was := state.Tasks[t.Listener]; was.Total >= 0 {
			again.Error = fmt.Sprintf("done says %d entries of rows, but number %d did not arrive within %s", was.Total, was.Chunks, l.Silence)
		}
	}
	v := step.Verdict{Act: step.Requeue, Again: again}
	if exhausted, ok := step.Exhausted(tries+1, l.Retry, again.Error); ok {
		v = step.Decide(exhausted, tries, l.Retry)
		v.Blame = job.BlameSource
	}
	if result := e.End(ctx, &task{Task: t, listener: l}, v); result.Kind == step.Elsewhere {
		return result.Err
	}
	return e.o.Scripts.Streams.Ack(ctx, t.Entry.Stream, t.Entry.ID)
}
