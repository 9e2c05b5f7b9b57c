package engine

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/scripts"
)

const (
	// lateEvery is the time between two looks for late files.
	lateEvery = 5 * time.Second
	// latePage is how many records are read of at once.
	latePage = 100
)

// LateAfter is how long after a job's end the files of its earlier attempts are
// looked for once more: a worker that hung, or a sink that was slow, may make one
// visible after they were removed, and die before it removes it itself.
func LateAfter(l config.Limits) time.Duration { return 5 * l.Grace }

// noteLate has files of attempts before this one be looked for once more, whatever
// becomes of Redis until then. Without tables nobody does.
func (e *Engine) noteLate(ctx context.Context, late Late) error {
	if e.o.Memory == nil {
		return nil
	}
	return e.onRecord(ctx, "note late files", func() error {
		err := e.o.Memory.NoteLate(ctx, late, LateAfter(e.o.Limits))
		if errors.Is(err, ErrNoMemory) {
			return nil
		}
		return err
	})
}

// late removes late files, in one process at a time.
func (r *rebuilder) late(ctx context.Context) error {
	if r.e.o.Memory == nil {
		return nil
	}
	return r.e.every(ctx, lateEvery, "remove late files", r.removeLate)
}

func (r *rebuilder) removeLate(ctx context.Context) error {
	all, err := r.e.o.Memory.Late(ctx, latePage)
	if errors.Is(err, ErrNoMemory) || err == nil && len(all) == 0 {
		return nil
	} else if err != nil {
		return err
	}
	ctx, release, err := r.lock(ctx, "late")
	if err != nil || ctx == nil {
		return err // somebody else is at it
	}
	defer release()
	// One whose files cannot be removed must not keep the others from it.
	var failed error
	for len(all) > 0 {
		for _, late := range all {
			if err := r.e.removeLateOf(ctx, late); err != nil {
				failed = err
				_ = r.e.o.Memory.NoteLate(ctx, late, LateAfter(r.e.o.Limits)) // the others come first
			}
		}
		if failed != nil || len(all) < latePage {
			return failed
		}
		if all, err = r.e.o.Memory.Late(ctx, latePage); err != nil {
			return err
		}
	}
	return nil
}

// removeLateOf looks for the files of the attempts before this one. Where the record's
// last attempt is the one before, that one may have none any more: it was cancelled, or
// never ran. Where a later one runs or has ended, that one looks.
func (e *Engine) removeLateOf(ctx context.Context, late Late) error {
	records, err := e.o.Records.Read(ctx, []string{late.ID})
	if err != nil {
		return err
	}
	if r, ok := records[late.ID]; ok && (r.Attempt == late.Attempt || r.Attempt == late.Attempt-1) {
		if !r.Status.Final() {
			return e.noteLate(ctx, late)
		}
		state := &scripts.State{ID: late.ID, Attempt: r.Attempt, Report: late.Report}
		if err := e.removeAttempts(ctx, state, late.Attempt-1, "", func(r Record) bool { return r.Status.Final() }); err != nil {
			return err
		}
	}
	return e.o.Memory.ForgetLate(ctx, late)
}
