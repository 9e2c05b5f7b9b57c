package listeners

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// watchEvery is how often entries of silent workers are searched.
const watchEvery = time.Second

// watchBatch is how many entries one search reads.
const watchBatch = 100

// silence detects external workers that fall silent.
type silence struct{ *external }

// watch ends the tries of external workers that fall silent, or that read an entry and never reply.
// It claims entries that are idle for long enough, so that one process checks each of them, and
// another one if that process dies.
//
// Replies that are not applied yet are no silence: the age of the oldest one is added to the limit.
// After an outage of Redis, workers get the full time again.
func (e silence) watch(ctx context.Context) error {
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
func (e silence) tidy(ctx context.Context) error {
	return step.Every(ctx, e.log, time.Minute, "tidy streams of external listeners",
		func(ctx context.Context) (failure error) {
			for listener := range e.silences {
				_, err := e.o.Scripts.Streams.RemoveIdleConsumers(ctx, e.o.Scripts.Keys.Task(listener), scripts.MaxIdle)
				failure = errors.Join(failure, err)
			}
			return failure
		})
}

// watchListener looks at the idle entries of a listener.
func (e silence) watchListener(ctx context.Context, listener string, silence time.Duration) error {
	behind, err := e.behind(ctx)
	if err != nil {
		return err
	}
	from := e.o.Scripts.Keys.Task(listener)
	for last := ""; ; {
		began := time.Now()
		idle, readers, err := e.o.Scripts.Entries.Idle(ctx, from, silence+behind, last, watchBatch)
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
			if err := e.end(ctx, listener, entry, readers[entry.ID]); err != nil {
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
func (e silence) behind(ctx context.Context) (time.Duration, error) {
	oldest, err := e.o.Scripts.Entries.First(ctx, e.o.Scripts.Keys.Reply, 1)
	if err != nil || len(oldest) == 0 {
		return 0, err
	}
	now, err := e.o.Scripts.Now(ctx)
	return max(0, now.Sub(scripts.EntryTime(oldest[0].ID))), err
}

// end ends the try of an idle entry, if the entry belongs to one. The reader is the consumer that had it.
func (e silence) end(ctx context.Context, listener string, entry scripts.Entry, reader string) error {
	ack := func() error { return e.o.Scripts.Streams.Ack(ctx, entry.Stream, entry.ID) }
	quarantine := func(why string) error {
		e.log.Warn("quarantined", "stream", entry.Stream, "entry", entry.ID, "err", why)
		if err := e.o.Scripts.Streams.Quarantine(ctx, entry.Stream, entry.ID, entry.Fields, why); err != nil {
			return err
		}
		return ack()
	}
	message, ok := entry.Message()
	if !ok {
		return quarantine("not a task: id and attempt are needed")
	}
	state, err := e.look(ctx, reply{Message: message, Listener: listener})
	switch {
	case errors.As(err, new(refused)):
		return ack() // nothing is left to do for it
	case errors.Is(err, scripts.ErrBroken):
		return quarantine(err.Error())
	case err != nil:
		return err
	}
	if state.Tasks[listener].Owner == "" {
		later := job.Later{ID: message.ID, Attempt: message.Attempt, Step: listener}
		found, err := e.o.Scripts.Sets.Scores(ctx, e.o.Scripts.Keys.Delayed, []string{later.String()})
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return ack() // its try was given up, and the next one is scheduled
		}
	}
	own, _ := e.o.Scripts.Tasks.New(message, listener, entry)
	own.Definition, own.Lease = state.Definition, e.o.Limits.Lease
	t, ok := e.newTask(own, nil)
	if !ok {
		return nil // another process has its definition
	}
	took, err := own.Take(ctx, scripts.Take{Owner: fmt.Sprintf("%s/silent/%d", e.o.Consumer, e.takes.Add(1)),
		Known: e.known[listener]})
	switch {
	case err != nil:
		return err
	case took == scripts.Busy, took == scripts.Unknown:
		return nil // the worker has replied meanwhile
	case took == scripts.OK:
		if result := e.End(ctx, t, verdictOf(t, state.Tasks[listener], reader)); result.Kind == step.Elsewhere {
			return result.Err
		}
	}
	return ack()
}

// verdictOf returns the verdict on the try of a silent worker, from the state before its task was taken
// from it.
func verdictOf(t *task, was job.TaskState, reader string) step.Verdict {
	tries, retry, failure := t.Tries()
	// A minimal delay: until it is moved, the retry is visible in the delayed set.
	again := scripts.Requeue{Delay: time.Millisecond, Counts: true,
		Error: fmt.Sprintf("a worker read its entry and sent no reply for %s", t.Listener.Silence),
		Blame: job.BlameSource}
	if was.Owner == "" && reader == deskConsumer {
		// A Desk takes a task before it hands it out: a crash or an outage of Redis came between, and no worker has it.
		again.Counts, again.Blame = false, job.BlameRedis
		again.Error = "no worker got it: its claim over HTTP has failed"
		return step.Verdict{Act: step.Requeue, Again: again}
	}
	if was.Owner != "" {
		// The worker's own take has counted.
		again.Counts, again.Error, tries = false, failure, tries-1
		if was.Total >= 0 {
			again.Error = fmt.Sprintf("done says %d entries of rows, but number %d did not arrive within %s",
				was.Total, arrived(was), t.Listener.Silence) + chunksOf(was.At)
		}
	}
	if exhausted, ok := step.Exhausted(tries+1, retry, again.Error); ok {
		exhausted.Blame = job.BlameSource
		return step.Decide(exhausted, tries, retry)
	}
	return step.Verdict{Act: step.Requeue, Again: again}
}
