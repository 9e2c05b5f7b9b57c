package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// restorePage is how many members are restored at once.
	restorePage = 1000
	// memoryAgain is how often tables that are missing are looked for.
	memoryAgain = time.Minute
)

// watch looks every second whether Redis has its memory: one GET and one INFO.
func (r *rebuilder) watch(ctx context.Context) error {
	w := &watcher{rebuilder: r}
	return r.every(ctx, lookEvery, "look at Redis's memory", w.look)
}

// watcher is what the loop of watch remembers.
type watcher struct {
	*rebuilder
	run    string    // of the server
	stale  bool      // the server was started anew, perhaps from an older copy
	warned bool      // that there are no tables
	asked  time.Time // for the tables, when they were missing
}

// look compares the incarnation in Redis with the one that is noted in MySQL.
func (w *watcher) look(ctx context.Context) error {
	found, err := w.e.o.Scripts.ReadIncarnation(ctx)
	if err != nil {
		return err
	}
	known, mirrored := w.memory()
	// INFO may be forbidden, and is not needed for the rest.
	if run, err := w.e.o.Scripts.ReadRun(ctx); err == nil && run != w.run {
		// It may have lost what it had not written to its disk, or was not copied.
		w.stale = w.stale || w.run != "" && found == known
		w.run = run
	}
	if w.stale && found != "" && found == known {
		return w.refresh(ctx, found, mirrored)
	}
	w.noteRun(w.run)
	if found != "" && found == known && (mirrored || w.e.o.Memory == nil || time.Since(w.asked) < memoryAgain) {
		return nil
	}
	noted, err := "", ErrNoMemory
	if w.e.o.Memory != nil {
		noted, err = w.e.o.Memory.Incarnation(ctx)
	}
	switch {
	case errors.Is(err, ErrNoMemory):
		return w.lookAlone(ctx, found, err)
	case err != nil:
		return err
	case found == "" && noted == "":
		if _, err := w.e.o.Scripts.FirstIncarnation(ctx, rand.Text()); err != nil {
			return err
		}
		return w.look(ctx)
	case noted == "":
		if _, err := w.e.o.Memory.SetIncarnation(ctx, "", found); err != nil {
			return err
		}
		w.agree(found, true)
		return nil
	case found == noted:
		w.agree(found, true)
		return nil
	}
	w.agree("", true)
	if err := w.recover(ctx); err != nil {
		return fmt.Errorf("restore what Redis has lost: %w", err)
	}
	return nil
}

// refresh gives back what an older copy of Redis may not have: the due times and
// timers that are not due yet. What was due may have been done.
func (w *watcher) refresh(ctx context.Context, found string, mirrored bool) error {
	if mirrored {
		held, release, err := w.lock(ctx, "refresh")
		if err != nil || held == nil {
			return err // somebody else does the same: the next look goes on
		}
		defer release()
		now, err := w.e.o.Scripts.Now(held)
		if err != nil {
			return err
		}
		for _, set := range w.sets() {
			if _, err := w.restore(held, set, now.Add(2*mirrorEvery).UnixMilli()); err != nil {
				return err
			}
		}
	}
	w.stale = false
	w.noteRun(w.run)
	w.wantPass()
	return nil
}

// lookAlone does without tables: nothing can be restored, but the records tell
// which jobs are lost.
func (w *watcher) lookAlone(ctx context.Context, found string, why error) error {
	if w.e.o.Memory != nil && !w.warned {
		w.warned = true
		w.e.log.Warn("due times and timers are not mirrored: fanfold migrate makes the tables; the account needs SELECT, INSERT, UPDATE and DELETE on them", "err", why)
	}
	w.asked = time.Now()
	if found == "" {
		found = rand.Text()
		first, err := w.e.o.Scripts.FirstIncarnation(ctx, found)
		if err != nil || !first {
			return err // somebody else was first: the next look finds it
		}
		if known, _ := w.memory(); known != "" {
			w.e.metrics.incarnationsLost.Inc()
			w.e.log.Warn("Redis has lost its memory", "incarnation", known)
		}
	}
	w.agree(found, false)
	return nil
}

// recover restores the sets and then notes the new incarnation. It is written to
// Redis first and to MySQL last: as long as the two differ, the work is not done,
// and a crash, or one more loss in the middle, begins it again.
func (r *rebuilder) recover(ctx context.Context) error {
	ctx, release, err := r.lock(ctx, "rebuild")
	if err != nil || ctx == nil {
		return err // somebody else is at it
	}
	defer release()
	found, err := r.e.o.Scripts.ReadIncarnation(ctx)
	if err != nil {
		return err
	}
	noted, err := r.e.o.Memory.Incarnation(ctx)
	if err != nil || found == noted {
		return err
	}
	now := rand.Text()
	r.e.log.Warn("Redis has lost its memory", "incarnation", noted, "found", found)
	if err := r.e.o.Scripts.WriteIncarnation(ctx, now); err != nil {
		return err
	}
	restored := 0
	for _, set := range r.sets() {
		n, err := r.restore(ctx, set, math.MinInt64)
		if err != nil {
			return err
		}
		restored += n
	}
	ok, err := r.e.o.Memory.SetIncarnation(ctx, noted, now)
	if err != nil || !ok {
		return err // not ok: somebody else was faster, and both begin again
	}
	r.e.metrics.incarnationsLost.Inc()
	r.e.log.Warn("due times and timers are restored", "incarnation", now, "restored", restored)
	r.agree(now, true)
	return nil
}

// restore gives one set back to Redis, as far as it is due at a time (ms) or later;
// what is there already stays.
func (r *rebuilder) restore(ctx context.Context, set string, from int64) (restored int, err error) {
	for after := ""; ; {
		page, err := r.e.o.Memory.Dues(ctx, set, after, restorePage)
		if err != nil || len(page) == 0 {
			return restored, err
		}
		var members []redis.Z
		for _, d := range page {
			if d.At >= from {
				members = append(members, redis.Z{Member: d.Member, Score: float64(d.At)})
			}
		}
		if len(members) > 0 {
			if err := r.e.o.Scripts.Restore(ctx, set, members); err != nil {
				return restored, err
			}
		}
		restored += len(members)
		after = page[len(page)-1].Member
	}
}
