package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// memoryAgain is how often tables that are missing are looked for.
const memoryAgain = time.Minute

// watch looks every second whether Redis has its memory: one GET and one INFO.
func (r *rebuilder) watch(ctx context.Context) error {
	w := &watcher{rebuilder: r}
	return r.e.every(ctx, lookEvery, "look at Redis's memory", w.look)
}

// watcher is what the loop of watch remembers.
type watcher struct {
	*rebuilder
	run    string    // of the server
	warned bool      // that there are no tables
	asked  time.Time // for the tables, when they were missing
}

// look compares the epoch in Redis with the one that is noted in MySQL, and
// where nothing is agreed on (at first, after a restart of Redis, and when the
// mirror doubts) how many writes to the mirror both know.
func (w *watcher) look(ctx context.Context) error {
	found, err := w.e.o.Scripts.ReadEpoch(ctx)
	if err != nil {
		return err
	}
	known, _ := w.memory()
	// INFO may be forbidden: then only the mirror finds that writes are lost.
	if run, err := w.e.o.Scripts.ReadRun(ctx); err == nil && run != w.run {
		if w.run != "" {
			w.doubt() // what was not on its disk is lost, and it may be a copy
		}
		w.run = run
	}
	agreed, mirrored := w.memory()
	if found != "" && found == agreed && (mirrored || w.e.o.Memory == nil || time.Since(w.asked) < memoryAgain) {
		return nil
	}
	noted, err := "", ErrNoMemory
	if w.e.o.Memory != nil {
		noted, err = w.e.o.Memory.Epoch(ctx)
	}
	switch {
	case errors.Is(err, ErrNoMemory):
		return w.lookAlone(ctx, found, known, err)
	case err != nil:
		return err
	case found == "" && noted == "":
		if _, err := w.e.o.Scripts.FirstEpoch(ctx, rand.Text()); err != nil {
			return err
		}
		return w.look(ctx)
	case noted == "":
		if _, err := w.e.o.Memory.SetEpoch(ctx, "", found); err != nil {
			return err
		}
		w.agree(found, true)
		return nil
	case found == noted:
		if err := w.refresh(ctx, found); err != nil {
			return fmt.Errorf("restore what an older copy of Redis has not: %w", err)
		}
		return nil
	}
	w.doubt()
	if err := w.recover(ctx); err != nil {
		return fmt.Errorf("restore what Redis has lost: %w", err)
	}
	return nil
}

// lookAlone does without tables: nothing can be restored, but the records tell
// which jobs are lost.
func (w *watcher) lookAlone(ctx context.Context, found, known string, why error) error {
	if w.e.o.Memory != nil && !w.warned {
		w.warned = true
		w.e.log.Warn("due times and timers are not mirrored: fanfold migrate makes the tables; the account needs SELECT, INSERT, UPDATE and DELETE on them", "err", why)
	}
	w.asked = time.Now()
	if found == "" {
		found = rand.Text()
		first, err := w.e.o.Scripts.FirstEpoch(ctx, found)
		if err != nil || !first {
			return err // somebody else was first: the next look finds it
		}
		if known != "" {
			w.e.metrics.epochsLost.Inc()
			w.e.log.Warn("Redis has lost its memory", "epoch", known)
		}
	}
	w.agree(found, false)
	return nil
}
