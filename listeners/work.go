package listeners

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/processors"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
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
func (r *tasks) read(ctx context.Context, t *task) (err error) {
	if t.Parameters, err = t.Report.Decode(t.own.Parameters); err != nil {
		return Permanent(errReport.Of(err))
	}
	if err := r.takeShare(ctx, t, r.share); err != nil {
		return err
	}
	t.slot = taskSlot{r.share, true}
	defer t.slot.leave()
	connection := r.connections[t.Listener.Source]
	if connection != nil {
		connection.want(1) // no more tasks are read than can have one
	}
	release, err := r.takeSlot(ctx, t)
	if connection != nil {
		connection.want(-1)
	}
	if err != nil {
		return err
	}
	defer release()
	if connection != nil {
		// Unlike the slot, it is held while Redis is away, as the connection is.
		if err := r.takeShare(ctx, t, connection); err != nil {
			return err
		}
		defer connection.leave()
	}
	if err := guardOf(t).wait(ctx, r, t); err != nil {
		return err
	}
	if err := r.stopped(ctx, t); err != nil {
		return err
	}
	if err := t.beginsAfterWait(ctx); err != nil {
		return err
	}
	processors.Small()
	t.began = time.Now()
	t.clock = ask.NewPatience(ctx, t.limit(), errLate)
	ctx = t.clock.Context()
	defer t.clock.Stop()
	o := &output{task: t, ctx: ctx, place: inRedis}
	defer func() {
		if o.lower != nil {
			o.lower()
		}
	}()
	out := writerOf(t, o.flush, &o.place)
	t.Begin, t.Remember, t.Values = t.begin, t.remember, t.values
	t.Backoff = &Backoff{task: t}
	if r.o.Bounds[t.Listener.Source].Rate.Count > 0 {
		t.RateLimit = t.waitForRate
	}
	whole := true
	if source := r.o.Sources[t.Listener.Source]; t.Listener.Divide != nil {
		whole, err = r.divided(ctx, t, source, out)
	} else {
		err = source.Read(ctx, t.Task, out)
	}
	t.slot.leave() // storing the last chunk needs no slot
	if err == nil && whole {
		err = out.Close()
	}
	t.clock.Stop() // also storing
	out.Stop()
	switch {
	case err == nil, errors.Is(err, ErrPermanent), errors.Is(err, ErrOutage), errors.Is(err, ErrEnded),
		errors.As(err, new(wait)):
	case t.pauses.away > 0 && !errors.Is(err, errLeft):
		// The query stood still meanwhile, and the server may have ended it.
		return Outage(t.pauses.at.kind.New("%s was %s for %s while the query ran: %w", t.pauses.at.name,
			t.pauses.at.state, t.pauses.away.Round(time.Second), err))
	case t.clock.Over():
		return fmt.Errorf("%w after %s: raise the timeout of the listener, or make its query faster", errLate,
			t.Listener.Timeout)
	}
	return err
}

// writerOf returns a Writer of the columns of a task that are stored.
func writerOf(t *task, flush FlushFunc, at *place) *Writer {
	out := NewWriter(flush)
	out.pause = func() (resume func()) { return t.pause(at) }
	out.keeps = func(columns []dataset.Column) []bool { return t.stored.keeps(t.Listener.Name, columns) }
	return out
}

// patience is how much longer than its timeout a task may take. The error of a source that keeps the
// timeout itself says more.
const patience = 3 * time.Second

// errLate is the error of a task whose source did not keep the timeout.
var errLate = errors.New("timed out")

// limit is how long the task may take; 0: as long as it wants.
func (t *task) limit() time.Duration {
	if t.Listener.Timeout == 0 {
		return 0
	}
	return t.Listener.Timeout + patience
}

// begin is Task.Begin.
func (t *task) begin() {
	t.began = time.Now()
	t.clock.Restart(t.limit())
}

// slow is the duration of a Redis call from which Redis counts as away.
const slow = time.Second

// place is where data lies, or what a task waits for.
type place struct {
	kind  fault.Kind
	name  string
	state string        // that makes the task wait
	slow  time.Duration // duration of a call from which the place is in that state
}

// A segment is large. Servers wait longer for the reader of a query: MySQL for 60 seconds (net_write_timeout).
var (
	inRedis = place{errRedis, "Redis", "away", slow}
	inSpool = place{errSpool, "the spool", "away", 15 * time.Second}
)

// pauses are those of a task, in which it waits for Redis or the spool. The parts of a divided one pause each for
// itself: the task pauses while all of them do.
type pauses struct {
	mu    sync.Mutex
	parts int           // that are read now; 0: the task is not divided
	now   int           // pauses that have begun and not ended
	end   func()        // of the pause of the task; nil: there is none
	away  time.Duration // total time that Redis or the spool was away, or the database busy
	at    place         // the last of them
	till  time.Time     // the end of that
}

// pause stops the time limit until resume is called, which reads the place. Time spent there does not count, and other
// tasks may use the slot while it is slow.
func (t *task) pause(at *place) (resume func()) {
	p, began := &t.pauses, time.Now()
	count(t, 1, 0)
	return func() {
		count(t, -1, 0)
		p.mu.Lock()
		defer p.mu.Unlock()
		if now := time.Now(); now.Sub(began) >= at.slow {
			if began.Before(p.till) {
				began = p.till // counted for another part
			}
			p.away, p.at, p.till = p.away+now.Sub(began), *at, now
		}
	}
}

// count counts so many more pauses and parts that are read, and stops or continues the time limit.
func count(t *task, more, parts int) {
	p := &t.pauses
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.parts = p.now+more, p.parts+parts
	switch pause := p.now >= max(1, p.parts); {
	case pause && p.end == nil:
		run, back := t.clock.Pause(), t.slot.lend()
		p.end = func() { back(); run() }
	case !pause && p.end != nil:
		p.end()
		p.end = nil
	}
}

// callRedis repeats a call of Redis, outside the time limit of a task.
func callRedis[T any](ctx context.Context, t *task, what string, call func() (T, error)) (T, error) {
	defer t.pause(&inRedis)()
	value, err := step.Insist(ctx, t.log, what, call, step.UnlessFull)
	if err != nil {
		err = away(err)
	}
	return value, err
}

// store stores a chunk of the task in Redis, and completes the task with the last one.
func (t *task) store(ctx context.Context, chunk scripts.Chunk, last bool) error {
	if t.o.Limits.Compress {
		chunk.Fields = t.compressor.Fields(chunk.Fields)
	}
	chunk.Number = t.chunks
	t.chunks++
	if !last {
		return t.script(ctx, chunk.Bytes(), func() (scripts.Outcome, error) { return t.own.Append(ctx, chunk) })
	}
	return t.script(ctx, chunk.Bytes(), func() (scripts.Outcome, error) {
		return t.own.Complete(ctx, chunk, time.Since(t.began))
	})
}

// script runs a script that stores something of the task.
func (t *task) script(ctx context.Context, bytes int64, run func() (scripts.Outcome, error)) error {
	outcome, err := t.memory.store(ctx, t.own.Message, bytes, run)
	switch {
	case err != nil:
		return err
	case outcome == scripts.TooMuch:
		return errTooMuch
	case outcome == scripts.Busy:
		return errLeft
	case outcome == scripts.Gone:
		return ErrEnded
	}
	return nil
}

// errTooMuch is the error of a job whose data is too large.
var errTooMuch = Permanent(errReport.New("the job's data exceeds limits.job_bytes: reduce the result size or raise the limit"))

// away returns the error of a task that is retried because Redis is away.
func away(err error) error {
	if err == nil {
		return errLeft
	}
	return fmt.Errorf("%w: %w", errLeft, err)
}
