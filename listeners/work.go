package listeners

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/scripts"
)

// errLeft means that an entry is not done and must not be acknowledged: another worker has the task,
// or Redis is away. The entry is delivered again.
var errLeft = errors.New("not done here")

// ErrEnded means that the job has ended or moved on: nothing is left to do for the entry.
var ErrEnded = errors.New("the job has ended")

// Who is to blame for an error, if not the source.
const (
	errRedis  fault.Kind = "Redis was away"
	errReport fault.Kind = "the definition or the parameters"
)

// read reads the task's data from its source, stores it and completes the task.
func (r *tasks) read(ctx context.Context, t *task) error {
	rep, listener := r.definitions[t.Definition], t.listener
	if listener == nil {
		return Permanent(errReport.New("report %s does not have this listener", rep.Name))
	}
	parameters, err := rep.Bind(t.Parameters)
	if err != nil {
		return Permanent(errReport.Of(err))
	}
	if err := r.share.take(ctx, r.stop, slotPatience); err != nil {
		return err
	}
	slot := &taskSlot{r.share, true}
	defer slot.leave()
	if connection := r.connections[listener.Source]; connection != nil {
		// Unlike the slot, it is held while Redis is away, as the connection is.
		if err := connection.take(ctx, r.stop, slotPatience); err != nil {
			return err
		}
		defer connection.leave()
	}
	release, err := r.slot(ctx, t, listener.Source, slot)
	if err != nil {
		return err
	}
	defer release()
	var began atomic.Pointer[time.Time] // chunks are stored concurrently
	began.Store(new(time.Now()))
	limit, giveUp := &limit{slot: slot}, context.CancelFunc(nil)
	if listener.Timeout > 0 {
		limit.Patience = ask.NewPatience(ctx, listener.Timeout+patience, errLate)
		ctx, giveUp = limit.Context(), limit.Stop
	} else {
		ctx, giveUp = context.WithCancel(ctx)
	}
	defer giveUp()
	out := NewWriter(r.flush(ctx, t, &began))
	out.wait = limit.without
	err = r.o.Sources[listener.Source].Read(ctx, Task{
		ID: t.ID, Attempt: t.Attempt, Report: rep, Listener: listener, Parameters: parameters,
		Begin: func() {
			began.Store(new(time.Now()))
			limit.Restart(listener.Timeout + patience)
		},
		RateLimit: r.rateLimit(listener.Source, limit),
		Memo:      remembered(t.Memo).Memo, Before: t.Failure,
		Remember: func(ctx context.Context, memo []byte) error {
			return limit.without(func() error { return r.remember(ctx, t, t.Definition, memo) })
		},
		Values: func(ctx context.Context, from, column string) (dataset.Column, iter.Seq2[[]byte, error], error) {
			return r.values(ctx, limit, t.ID, from, column)
		},
	}, out)
	slot.leave() // storing the last chunk needs no slot
	if err == nil {
		err = out.Close()
	}
	giveUp() // also storing
	out.Stop()
	switch {
	case err == nil, errors.Is(err, ErrPermanent), errors.Is(err, ErrOutage), errors.Is(err, ErrEnded), errors.As(err, new(wait)):
	case limit.away > 0 && !errors.Is(err, errLeft):
		// The query stood still meanwhile, and the server may have ended it.
		return Outage(errRedis.New("Redis was away for %s while the query ran: %w", limit.away.Round(time.Second), err))
	case errors.Is(context.Cause(ctx), errLate):
		return fmt.Errorf("%w after %s: raise the timeout of the listener, or make its query faster", errLate, listener.Timeout)
	}
	return err
}

// patience is how much longer than its timeout a task may take. The error of a source that keeps the
// timeout itself says more.
const patience = 3 * time.Second

// errLate is the error of a task whose source did not keep the timeout.
var errLate = errors.New("timed out")

// limit ends a task that takes too long. Time spent in Redis or on a rate limit does not count.
type limit struct {
	*ask.Patience // nil: no limit
	slot          *taskSlot
	away          time.Duration // total time that Redis was away
}

// slow is the duration of a Redis call from which Redis counts as away.
const slow = time.Second

// without runs f, which calls Redis, outside the time limit.
func (l *limit) without(f func() error) error {
	began := time.Now()
	err := l.Stopped(func() error { return l.slot.without(f) })
	if took := time.Since(began); took >= slow {
		l.away += took
	}
	return err
}

// flush returns the function that stores the chunks of a task, and completes it with the last one.
func (r *Runner) flush(ctx context.Context, t *task, began *atomic.Pointer[time.Time]) FlushFunc {
	var number int64
	var compressor dataset.Compressor
	return func(columns []dataset.Column, b *dataset.Builder, last bool) error {
		chunk := scripts.Chunk{Number: number, Rows: int64(b.Rows()), Columns: columns, Fields: b.Fields()}
		if r.o.Limits.Compress {
			chunk.Fields = compressor.Fields(chunk.Fields)
		}
		for _, c := range columns {
			chunk.Names = append(chunk.Names, c.Name)
		}
		number++
		outcome, err := r.insistOnRoom(ctx, t, chunk.Bytes(), "store chunk", func() (scripts.Outcome, error) {
			if last {
				return t.Complete(ctx, chunk, time.Since(*began.Load()))
			}
			return t.Append(ctx, chunk)
		})
		switch {
		case err != nil:
			return err
		case outcome == scripts.TooMuch:
			return Permanent(errReport.New("the job's data exceeds limits.job_bytes: reduce the result size or raise the limit"))
		case outcome == scripts.Busy:
			return errLeft
		case outcome == scripts.Gone:
			return ErrEnded
		}
		t.rows += chunk.Rows
		return nil
	}
}

// away returns the error of a task that is retried because Redis is away.
func away(err error) error {
	if err == nil {
		return errLeft
	}
	return fmt.Errorf("%w: %w", errLeft, err)
}
