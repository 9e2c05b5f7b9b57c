package listeners

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Canceler is a Source that can end what a task has begun elsewhere, such as a job of a
// vendor, once nobody needs it any more. Of the task are known its ID, Attempt, Report,
// Listener and Memo; its state may be gone. It is best effort: an error is tried again
// a few times, unless it is Permanent. It may be called again for what it has ended.
type Canceler interface {
	Cancel(ctx context.Context, task Task) error
}

// cancelPauses are those between the tries of a cancel.
var cancelPauses = []time.Duration{time.Second, 3 * time.Second}

// cancelTime bounds one try.
const cancelTime = 10 * time.Second

// cancel ends what a task has begun that was cancelled. Nothing depends on it, so its
// entry is done whatever comes of it; one that a stop interrupts comes again.
func (r *Runner) cancel(ctx context.Context, t *scripts.Task, entry step.Entry) step.Result {
	m := remembered([]byte(entry.Fields["memo"]))
	err := r.tryCancel(ctx, t, m)
	switch {
	case ctx.Err() != nil:
		return step.Result{Kind: step.Elsewhere}
	case err != nil:
		r.log.Warn("what a cancelled task has begun could not be ended", "job", t.ID, "attempt", t.Attempt, "listener", t.Listener, "err", err)
	default:
		r.log.Info("what a cancelled task has begun was ended", "job", t.ID, "attempt", t.Attempt, "listener", t.Listener)
	}
	return step.Result{Kind: step.Void}
}

func (r *Runner) tryCancel(ctx context.Context, t *scripts.Task, m memo) error {
	rep, listener := r.definition(t.Listener, m.Definition)
	if listener == nil {
		return errors.New("its definition is not in this configuration")
	}
	canceler, ok := r.o.Sources[listener.Source].(Canceler)
	if !ok {
		return nil
	}
	task := Task{ID: t.ID, Attempt: t.Attempt, Report: rep, Listener: listener, Memo: m.Memo}
	for _, wait := range append(cancelPauses, 0) {
		try, done := context.WithTimeout(ctx, cancelTime)
		err := canceler.Cancel(try, task)
		done()
		if err == nil || errors.Is(err, ErrPermanent) || wait == 0 || ctx.Err() != nil {
			return err
		}
		if err := step.Wait(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}

// definition finds a listener in a definition.
func (r *Runner) definition(listener, hash string) (*report.Report, *report.Listener) {
	rep := r.definitions[hash]
	if rep == nil {
		return nil, nil
	}
	l, _, _ := rep.Listener(listener)
	return rep, l
}
