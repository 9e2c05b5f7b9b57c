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
	"github.com/fanfold/fanfold/scripts"
)

// errLeft means that an entry is not done and is not to be acknowledged:
// somebody else has the task, or Redis is away. It comes again.
var errLeft = errors.New("listeners: not done here")

// ErrEnded is matched by an error that means that the job has ended or moved on: there
// is nothing left to do for the entry.
var ErrEnded = errors.New("listeners: the job has ended")

// errRedis marks the error of a task that Redis has kept from going on, errReport that of a
// definition or of parameters that cannot be used.
var (
	errRedis  = errors.New("listeners: Redis was away")
	errReport = errors.New("listeners: report")
)

func ofReport(err error) error { return marked{err, errReport} }

// read has the source read the task's data, stores it and completes the task.
func (r *tasks) read(ctx context.Context, t *task) error {
	rep, listener := r.definitions[t.Definition], t.listener
	if listener == nil {
		return Permanent(ofReport(fmt.Errorf("report %s has no such listener", rep.Name)))
	}
	parameters, err := rep.Bind(t.Parameters)
	if err != nil {
		return Permanent(ofReport(err))
	}
	if err := r.share.take(ctx, r.stop, slotPatience); err != nil {
		return err
	}
	place := &place{r.share, true}
	defer place.leave()
	release, err := r.slot(ctx, t, listener.Source, place)
	if err != nil {
		return err
	}
	defer release()
	var began atomic.Pointer[time.Time] // the chunks are stored beside the reading
	began.Store(new(time.Now()))
	limit, giveUp := &limit{place: place}, context.CancelFunc(nil)
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
		Turn: r.turn(listener.Source, limit),
		Memo: remembered(t.Memo).Memo, Before: t.Failure,
		Remember: func(ctx context.Context, memo []byte) error {
			return limit.without(func() error { return r.remember(ctx, t, t.Definition, memo) })
		},
		Values: func(ctx context.Context, from, column string) (dataset.Column, iter.Seq2[[]byte, error], error) {
			return r.values(ctx, limit, t.ID, from, column)
		},
	}, out)
	place.leave() // the last chunk is the work of Redis
	if err == nil {
		err = out.Close()
	}
	giveUp() // also storing
	out.Stop()
	switch {
	case err == nil, errors.Is(err, ErrPermanent), errors.Is(err, ErrOutage), errors.Is(err, ErrEnded), errors.As(err, new(wait)):
	case limit.away > 0 && !errors.Is(err, errLeft):
		// Meanwhile the query stood still, and the server may have ended it.
		return Outage(marked{fmt.Errorf("Redis was away for %s while the query ran: %w", limit.away.Round(time.Second), err), errRedis})
	case errors.Is(context.Cause(ctx), errLate):
		return fmt.Errorf("%w after %s: raise the timeout of the listener, or make its query faster", errLate, listener.Timeout)
	}
	return err
}

// patience is how much longer than its timeout a task may take, from the moment
// that it was taken: a source that keeps to it by itself says more.
const patience = 3 * time.Second

// errLate is the error of a task whose source has not kept to its timeout.
var errLate = errors.New("listeners: timed out")

// limit ends a task that takes too long. Time in which Redis is asked, or the task waits
// for a turn, does not count: that is not the task's fault.
type limit struct {
	*ask.Patience // nil: no limit
	place         *place
	away          time.Duration // for how long Redis was
}

// slow is how long an answer of Redis takes where it was away.
const slow = time.Second

// without runs f, which asks Redis.
func (l *limit) without(f func() error) error {
	began := time.Now()
	err := l.Stopped(func() error { return l.place.without(f) })
	if took := time.Since(began); took >= slow {
		l.away += took
	}
	return err
}

// flush returns what stores the chunks of a task, and completes it with the last
// one.
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
		outcome, err := insist(ctx, r, "store chunk", func() (scripts.Outcome, error) {
			if last {
				return t.Complete(ctx, chunk, time.Since(*began.Load()))
			}
			return t.Append(ctx, chunk)
		})
		switch {
		case errors.Is(err, scripts.ErrFull):
			// Waiting here would keep the memory that others need to end.
			return Outage(err)
		case err != nil:
			return away(err)
		case outcome == scripts.TooMuch:
			return Permanent(ofReport(errors.New("the job's data exceeds limits.job_bytes: reduce the result size or raise the limit")))
		case outcome == scripts.Busy:
			return errLeft
		case outcome == scripts.Gone:
			return ErrEnded
		}
		t.rows += chunk.Rows
		return nil
	}
}

// away is the error of a task that Redis has kept from going on: it comes again.
func away(err error) error {
	if err == nil {
		return errLeft
	}
	return fmt.Errorf("%w: %w", errLeft, err)
}
