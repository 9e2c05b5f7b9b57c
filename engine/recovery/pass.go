package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/step"
)

// errForgotten ends a pass in whose middle Redis has lost its memory: what is
// due later is not known until it is restored.
var errForgotten = errors.New("recovery: Redis has lost its memory")

const (
	// passPage is how many records a pass reads at once.
	passPage = 100
	// passRetry is the time after which a pass that failed is repeated.
	passRetry = 5 * time.Second
	// roomRetry is how long a pass waits for room before it asks again. The trigger asks
	// far more often, and so comes first.
	roomRetry = 200 * time.Millisecond
)

// passes walks over the records: at the start and when Redis has lost its
// memory, once more when all that was young then is older than the grace time,
// and slowly all the time.
func (r *Recovery) passes(ctx context.Context) error {
	// More often than passes are made: the process that finds that the last one, of any
	// kind, was long enough ago makes the next.
	tick := time.NewTicker(r.o.PassEvery / 10)
	defer tick.Stop()
	var again, failed <-chan time.Time
	for {
		regular := false
		select {
		case <-ctx.Done():
			return nil
		case <-r.want:
			again = time.After(r.o.Grace + watchEvery)
		case <-again:
			again = nil
		case <-failed:
			failed = nil
		case <-tick.C:
			regular = true
		}
		if err := r.pass(ctx, regular); err != nil && ctx.Err() == nil && !errors.Is(err, errForgotten) {
			r.log.Warn("pass over the records", "err", err)
			failed = time.After(passRetry)
		}
	}
}

// pass does one walk, as the only process. A regular one is left out where
// another process has done it in this interval.
func (r *Recovery) pass(ctx context.Context, regular bool) error {
	// This lock is not released: it ends when the next regular pass is due.
	_, err := r.locks.Obtain(ctx, r.o.Scripts.Lock("rebuilt"), r.o.PassEvery*9/10, nil)
	if errors.Is(err, redislock.ErrNotObtained) && regular {
		return nil
	} else if err != nil && !errors.Is(err, redislock.ErrNotObtained) {
		return err
	}
	ctx, release, err := r.waitForLock(ctx)
	if err != nil {
		return err
	}
	defer release()
	epoch, _ := r.agreed()
	if epoch == "" {
		return errForgotten // a pass is wanted once it is restored
	}
	w := walk{Recovery: r, epoch: epoch}
	err = w.run(ctx)
	if w.started+w.failed+w.skipped > 0 {
		r.log.Warn("records that Redis did not know", "started", w.started, "failed", w.failed, "skipped", w.skipped, "first skipped", w.first)
	}
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	return err
}

func (r *Recovery) waitForLock(ctx context.Context) (held context.Context, release func(), err error) {
	for {
		held, release, err = r.lock(ctx, "rebuild")
		if err != nil || held != nil {
			return held, release, err
		}
		if err := step.Wait(ctx, watchEvery); err != nil {
			return nil, nil, err
		}
	}
}

// walk is one pass over the records.
type walk struct {
	*Recovery
	epoch   string // as it began
	started int
	failed  int    // with parameters that their report does not take
	skipped int    // that cannot be started: without a known report, for example
	first   string // of these
}

// run goes over the records page by page, and rests after each one: for the rate, and at
// least for as long as MySQL has worked.
func (w *walk) run(ctx context.Context) error {
	for after := ""; ; {
		began := time.Now()
		var page []engine.Record
		if err := step.Insist(ctx, w.log, "read startable records", func() (err error) {
			page, err = w.o.Records.Startable(ctx, after, w.o.Grace, min(w.o.Rate, passPage))
			return err
		}); err != nil || len(page) == 0 {
			return err
		}
		took := time.Since(began)
		if err := w.page(ctx, page); err != nil {
			return err
		}
		after = page[len(page)-1].ID
		rest := time.Duration(len(page))*time.Second/time.Duration(w.o.Rate) - time.Since(began)
		if err := step.Wait(ctx, max(took, rest)); err != nil {
			return err
		}
	}
}

// page starts what Redis does not know of a page, as far as there is room; for
// the rest it waits. It takes half of the room, so that the trigger has some.
func (w *walk) page(ctx context.Context, page []engine.Record) error {
	for len(page) > 0 {
		lost, err := w.lost(ctx, page)
		if err != nil || len(lost) == 0 {
			return err
		}
		var room int
		if err := step.Insist(ctx, w.log, "running jobs", func() (err error) {
			room, err = w.o.Jobs.Admit(ctx)
			return err
		}); err != nil {
			return err
		}
		n := min(len(lost), (max(room, 0)+1)/2)
		if n == 0 {
			if err := step.Wait(ctx, roomRetry); err != nil {
				return err
			}
		} else if err := w.start(ctx, lost[:n]); err != nil {
			return err
		}
		page = lost[n:]
	}
	return nil
}

// lost returns those that Redis does not know, and counts what cannot be started.
func (w *walk) lost(ctx context.Context, page []engine.Record) (lost []engine.Record, err error) {
	var skipped []string
	forgotten := false
	if err := step.Insist(ctx, w.log, "read states", func() (err error) {
		if lost, skipped, err = w.o.Jobs.Lost(ctx, page); err != nil {
			return err
		}
		// Read last: what was read before is of this memory.
		forgotten, err = w.forgotten(ctx)
		return err
	}); err != nil {
		return nil, err
	}
	if forgotten {
		return nil, errForgotten
	}
	if w.skipped += len(skipped); len(skipped) > 0 {
		w.first = cmp.Or(w.first, fmt.Sprintf("%.80q", skipped[0]))
	}
	return lost, nil
}

// forgotten tells whether Redis has another memory than when the pass began.
func (w *walk) forgotten(ctx context.Context) (bool, error) {
	now, err := w.o.Scripts.ReadEpoch(ctx)
	agreed, stored := w.agreed()
	if err != nil || now != w.epoch || agreed != w.epoch || !stored {
		return now != w.epoch || agreed != w.epoch, err
	}
	_, _, older, err := w.versions(ctx)
	if older || errors.Is(err, ErrNoTables) {
		w.doubt() // an older copy, or the tables are gone: the watch mends that
		return true, nil
	}
	return false, err
}

func (w *walk) start(ctx context.Context, lost []engine.Record) error {
	started, failed, err := w.o.Jobs.StartLost(ctx, lost, w.epoch)
	w.started, w.failed = w.started+started, w.failed+failed
	w.metrics.started.Add(float64(started))
	return err
}
