package recovery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/step"
)

const (
	// watchEvery is how often Redis is asked whether it has its memory.
	watchEvery = time.Second
	// tablesEvery is how often missing tables are looked for.
	tablesEvery = time.Minute
)

// watch polls whether Redis still has its data: one GET and one INFO.
func (r *Recovery) watch(ctx context.Context) error {
	w := &watcher{Recovery: r}
	return step.Every(ctx, r.log, watchEvery, "compare the epoch of Redis with the database", w.poll)
}

// watcher is the state of the loop of watch.
type watcher struct {
	*Recovery
	run    string    // of the server
	warned bool      // that there are no tables
	asked  time.Time // for the tables, when they were missing
}

// poll compares the epoch in Redis with the one in MySQL. If nothing is agreed on (at first, after
// a restart of Redis, and when a snapshot or a pass doubts it), it also compares the versions of
// the snapshot.
func (w *watcher) poll(ctx context.Context) error {
	found, err := w.o.Scripts.Epoch.Read(ctx)
	if err != nil {
		return err
	}
	before, _ := w.agreed()
	// INFO may be denied: then only the next snapshot detects lost writes.
	if run, err := w.o.Scripts.Epoch.ReadRun(ctx); err == nil && run != w.run {
		if w.run != "" {
			w.doubt() // what was not on its disk is lost, and it may be a copy
		}
		w.run = run
	}
	agreed, stored := w.agreed()
	if found != "" && found == agreed && (stored || w.o.Store == nil || time.Since(w.asked) < tablesEvery) {
		return nil
	}
	noted, err := "", ErrNoTables
	if w.o.Store != nil {
		noted, err = w.o.Store.Epoch(ctx)
	}
	switch {
	case errors.Is(err, ErrNoTables):
		return w.pollAlone(ctx, found, before, err)
	case err != nil:
		return err
	case found == "" && noted == "":
		if _, err := w.o.Scripts.Epoch.First(ctx, rand.Text()); err != nil {
			return err
		}
		return w.poll(ctx)
	case noted == "":
		if _, err := w.o.Store.SetEpoch(ctx, "", found); err != nil {
			return err
		}
		w.agree(found, true)
		return nil
	}
	_, _, older, err := w.versions(ctx)
	if err != nil {
		return err
	}
	if found == noted && !older {
		w.agree(found, true)
		return nil
	}
	w.doubt()
	if err := w.restoreLost(ctx); err != nil {
		return fmt.Errorf("restore what Redis has lost: %w", err)
	}
	return nil
}

// pollAlone polls without tables: nothing can be restored, but the records tell which jobs are
// lost.
func (w *watcher) pollAlone(ctx context.Context, found, before string, why error) error {
	if w.o.Store != nil && !w.warned {
		w.warned = true
		w.log.Warn("due times and timers are lost if Redis loses its data: create the tables with fanfold migrate, and "+
			"grant the account SELECT, INSERT, UPDATE and DELETE on them", "err", why)
	}
	w.asked = time.Now()
	if found == "" {
		found = rand.Text()
		first, err := w.o.Scripts.Epoch.First(ctx, found)
		if err != nil || !first {
			return err // another process was first: the next poll finds it
		}
		if before != "" {
			w.metrics.lost.Inc()
			w.log.Warn("Redis has lost its data", "epoch", before)
		}
	}
	w.agree(found, false)
	return nil
}
