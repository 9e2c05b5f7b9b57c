package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// errForgotten ends a pass in whose middle Redis has lost its memory: what is
// due later is not known until it is restored.
var errForgotten = errors.New("engine: Redis has lost its memory")

// passAgain is how long a pass that failed rests.
const passAgain = 5 * time.Second

// passes walks over the records: at the start and when Redis has lost its
// memory, once more when all that was young then is older than the grace time,
// and slowly all the time.
func (r *rebuilder) passes(ctx context.Context) error {
	// More often than passes are made: whichever process finds that the last one, of any
	// kind, was long enough ago makes the next.
	tick := time.NewTicker(r.e.o.RebuildEvery / 10)
	defer tick.Stop()
	var again, failed <-chan time.Time
	for {
		regular := false
		select {
		case <-ctx.Done():
			return nil
		case <-r.want:
			again = time.After(r.e.o.Limits.Grace + lookEvery)
		case <-again:
			again = nil
		case <-failed:
			failed = nil
		case <-tick.C:
			regular = true
		}
		if err := r.pass(ctx, regular); err != nil && ctx.Err() == nil && !errors.Is(err, errForgotten) {
			r.e.log.Warn("rebuild from the records", "err", err)
			failed = time.After(passAgain)
		}
	}
}

// pass does one walk, as the only process. A regular one is left out where
// another process has done it in this interval.
func (r *rebuilder) pass(ctx context.Context, regular bool) error {
	// This lock is not released: it ends when the next regular pass is due.
	_, err := r.locks.Obtain(ctx, r.e.o.Scripts.Lock("rebuilt"), r.e.o.RebuildEvery*9/10, nil)
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
	epoch, _ := r.memory()
	if epoch == "" {
		return errForgotten // a pass is wanted once it is restored
	}
	w := walk{rebuilder: r, epoch: epoch}
	err = w.run(ctx)
	if w.started+w.failed+w.skipped > 0 {
		r.e.log.Warn("records that Redis did not know", "started", w.started, "failed", w.failed, "skipped", w.skipped, "first skipped", w.first)
	}
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	return err
}

func (r *rebuilder) waitForLock(ctx context.Context) (held context.Context, release func(), err error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		held, release, err = r.lock(ctx, "rebuild")
		if err != nil || held != nil {
			return held, release, err
		}
		if !wait(ctx, tick.C) {
			return nil, nil, ctx.Err()
		}
	}
}

// walk is one pass over the records.
type walk struct {
	*rebuilder
	epoch   string // as it began
	started int
	failed  int    // with parameters that their report does not take
	skipped int    // that cannot be started: without a known report, for example
	first   string // of these
}

// skip counts a record that cannot be started.
func (w *walk) skip(id string) {
	w.skipped++
	w.first = cmp.Or(w.first, fmt.Sprintf("%.80q", id))
}

// run goes over the records page by page, and rests after each one: for the rate
// of Limits.Rebuild, and at least for as long as MySQL has worked.
func (w *walk) run(ctx context.Context) error {
	size := min(w.e.o.Limits.Rebuild, triggerBatch)
	for after := ""; ; {
		began := time.Now()
		var page []Record
		if err := w.e.insist(ctx, "read startable records", func() (err error) {
			page, err = w.e.o.Records.Startable(ctx, after, w.e.o.Limits.Grace, size)
			return err
		}); err != nil {
			return err
		}
		took := time.Since(began)
		if len(page) == 0 {
			return nil
		}
		if err := w.page(ctx, page); err != nil {
			return err
		}
		after = page[len(page)-1].ID
		rest := time.Duration(len(page))*time.Second/time.Duration(w.e.o.Limits.Rebuild) - time.Since(began)
		if !wait(ctx, time.After(max(took, rest))) {
			return ctx.Err()
		}
	}
}

// page starts what Redis does not know of a page, as far as there is room; for
// the rest it waits. It takes half of the room, so that the trigger has some.
func (w *walk) page(ctx context.Context, page []Record) error {
	var pushes []*push
	for i, r := range page {
		if !report.ValidID(r.ID) {
			w.skip(r.ID)
			continue
		}
		// An unknown report is not looked for again: the next pass does.
		pushes = append(pushes, &push{id: r.ID, look: int64(len(report.RecordPolls)), record: &page[i], report: w.e.o.Reports[r.Report]})
	}
	for len(pushes) > 0 {
		lost, err := w.lost(ctx, pushes)
		if err != nil || len(lost) == 0 {
			return err
		}
		var room int
		if err := w.e.insist(ctx, "running jobs", func() (err error) {
			room, err = w.e.admit(ctx)
			return err
		}); err != nil {
			return err
		}
		n := min(len(lost), (max(room, 0)+1)/2)
		if n > 0 {
			if err := w.start(ctx, lost[:n]); err != nil {
				return err
			}
		} else if !wait(ctx, time.After(roomPause)) {
			return ctx.Err()
		}
		pushes = lost[n:]
	}
	return nil
}

// lost returns those that neither have a state nor a place in the delayed set,
// and are to be started or failed. It counts what can be neither.
func (w *walk) lost(ctx context.Context, pushes []*push) ([]*push, error) {
	var ids, places []string
	for _, p := range pushes {
		ids = append(ids, p.id)
		places = append(places, p.places()...)
	}
	var placed map[string]float64
	forgotten := false
	if err := w.e.insist(ctx, "read states", func() error {
		attempts, statuses, err := w.e.o.Scripts.Attempts(ctx, ids)
		if err != nil {
			return err
		}
		for i, p := range pushes {
			p.found(attempts[i], statuses[i])
		}
		if err := w.e.lookAtPauses(ctx, pushes); err != nil {
			return err
		}
		if placed, err = w.e.o.Scripts.Scores(ctx, w.e.o.Scripts.Delayed(), places); err != nil {
			return err
		}
		// Read last: what was read before is of this memory.
		now, err := w.e.o.Scripts.ReadEpoch(ctx)
		agreed, mirrored := w.memory()
		if forgotten = now != w.epoch || agreed != w.epoch; err != nil || forgotten || !mirrored {
			return err
		}
		if _, forgotten, err = w.counted(ctx); forgotten || errors.Is(err, ErrNoMemory) {
			w.doubt() // an older copy, or the tables are gone: the next look mends that
			forgotten, err = true, nil
		}
		return err
	}); err != nil {
		return nil, err
	}
	if forgotten {
		return nil, errForgotten
	}
	var lost []*push
	for _, p := range pushes {
		if p.isPlaced(placed) {
			continue
		}
		switch decide(*p, w.e.o.Limits.Grace).act {
		case actStart, actFail:
			lost = append(lost, p)
		case actQuarantine:
			w.skip(p.id) // a pass must not fill the quarantine
		}
	}
	return lost, nil
}

// start starts what still is to be started, by what MySQL and Redis say now:
// there may have been no room for a long time.
func (w *walk) start(ctx context.Context, pushes []*push) error {
	if err := w.e.lookUp(ctx, pushes); err != nil {
		return err
	}
	var start []*push
	for _, p := range pushes {
		if p.record == nil || p.record.Age < w.e.o.Limits.Grace {
			continue
		}
		switch d := decide(*p, w.e.o.Limits.Grace); d.act {
		case actStart:
			start = append(start, p)
		case actFail:
			if err := w.e.carryOut(ctx, p, d); err != nil {
				return err
			}
			w.failed++
		}
	}
	if len(start) > 0 {
		n := w.e.start(ctx, start, w.epoch)
		w.started += n
		w.e.metrics.rebuildStarted.Add(float64(n))
	}
	return ctx.Err()
}

// places are the members of the delayed set with which an id waits for its time.
func (p push) places() []string {
	places := []string{p.id}
	for i := range report.RecordPolls {
		places = append(places, scripts.Later{ID: p.id, Attempt: int64(i + 1), Step: scripts.StepTrigger}.String())
	}
	return places
}

func (p push) isPlaced(places map[string]float64) bool {
	for _, place := range p.places() {
		if _, ok := places[place]; ok {
			return true
		}
	}
	return false
}
