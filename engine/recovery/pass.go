package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/quiet"
	"github.com/fanfold/fanfold/step"
)

// errForgotten ends a pass during which Redis has lost its data: delayed ids are unknown until they
// are restored.
var errForgotten = errors.New("recovery: Redis has lost its data")

const (
	// passPoll is how often it is decided whether a pass is to be made.
	passPoll = time.Second
	// passPage is how many records a pass reads at once.
	passPage = 100
	// roomRetry is how long a pass waits for room before it asks again. The trigger asks
	// far more often, and so comes first.
	roomRetry = 200 * time.Millisecond
)

// passes walks over the records: at the start and when Redis has lost its data, once more when all
// records that were too young then have reached the grace time, and slowly all the time.
func (r *Recovery) passes(ctx context.Context) error {
	p := &passer{Recovery: r}
	return step.Every(ctx, r.log, min(passPoll, r.o.PassEvery/10), "pass over the records", p.once)
}

// passer is the state of the loop of passes.
type passer struct {
	*Recovery
	urgent bool      // a pass is to be made at once
	again  time.Time // when one more is; zero: none is
	asked  time.Time // when it was found out last whether a regular one is
}

// once makes a pass if it is time, in one process.
func (p *passer) once(ctx context.Context) error {
	select {
	case <-p.want:
		p.urgent, p.again = true, time.Now().Add(p.o.Grace+watchEvery)
	default:
	}
	if !p.again.IsZero() && time.Now().After(p.again) {
		p.urgent, p.again = true, time.Time{}
	}
	// More often than passes are made: the process that finds that the last one, of any
	// kind, was long enough ago makes the next.
	if !p.urgent && time.Since(p.asked) < p.o.PassEvery/10 {
		return nil
	}
	p.asked = time.Now()
	// This lock is not released: it ends when the next regular pass is due.
	if ok, err := p.o.Scripts.TryLock(ctx, "rebuilt", p.o.PassEvery*9/10); err != nil || !ok && !p.urgent {
		return err
	}
	p.urgent = true // until one is made
	held, release, err := p.lock(ctx, "rebuild")
	if err != nil || held == nil {
		return err // another process is at it
	}
	defer release()
	w := walk{Recovery: p.Recovery}
	if w.epoch, _ = p.agreed(); w.epoch == "" {
		return nil
	}
	err = w.run(held)
	if w.started+w.failed+w.skipped > 0 {
		p.log.Warn("restored records that Redis did not know", "started", w.started, "failed", w.failed,
			"skipped", w.skipped, "first skipped", quiet.Varies(w.first))
	}
	if errors.Is(err, errForgotten) {
		err = nil // another pass is wanted once it is restored
	}
	p.urgent = err != nil
	return err
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

// run reads the records page by page. After every page it rests, to limit the rate, and at least as
// long as MySQL has worked.
func (w *walk) run(ctx context.Context) error {
	for after := ""; ; {
		began := time.Now()
		page, err := step.Insist(ctx, w.log, "read startable records", func() ([]engine.Record, error) {
			return w.o.Records.Startable(ctx, after, w.o.Grace, min(w.o.Rate, passPage))
		})
		if err != nil || len(page) == 0 {
			return err
		}
		took := time.Since(began)
		after = page[len(page)-1].ID
		if err := w.page(ctx, page); err != nil {
			return err
		}
		rest := time.Duration(len(page))*time.Second/time.Duration(w.o.Rate) - time.Since(began)
		if err := step.Wait(ctx, max(took, rest)); err != nil {
			return err
		}
	}
}

// page starts the records of a page that Redis does not know, within the capacity.
func (w *walk) page(ctx context.Context, page []engine.Record) error {
	for {
		lost, err := w.o.Jobs.StartLost(ctx, page, w.epoch, w.valid)
		w.started, w.failed, w.skipped = w.started+lost.Started, w.failed+lost.Failed, w.skipped+len(lost.Skipped)
		w.metrics.started.Add(float64(lost.Started))
		if len(lost.Skipped) > 0 {
			w.first = cmp.Or(w.first, fmt.Sprintf("%.80q", lost.Skipped[0]))
		}
		if page = lost.Left; err != nil || len(page) == 0 {
			return err
		}
		if err := step.Wait(ctx, roomRetry); err != nil {
			return err
		}
	}
}

// valid returns errForgotten if Redis has lost its data since the pass began.
func (w *walk) valid(ctx context.Context) error {
	return step.Ensure(ctx, w.log, "read the epoch", func() error {
		agreed, stored := w.agreed()
		now, err := w.o.Scripts.Epoch.Read(ctx)
		if err != nil {
			return err
		}
		if now != w.epoch || agreed != w.epoch {
			return step.Final(errForgotten)
		}
		if !stored {
			return nil
		}
		_, _, older, err := w.versions(ctx)
		if older || errors.Is(err, ErrNoTables) {
			w.doubt() // an older copy, or the tables are gone: the watch restores them
			return step.Final(errForgotten)
		}
		return err
	})
}
