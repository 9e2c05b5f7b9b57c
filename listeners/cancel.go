package listeners

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// Canceler is a Source that can end the work that a cancelled task has started elsewhere, such as a
// vendor's job. The task has its ID, Attempt, Report, Listener and Memo; its state may be deleted.
// Cancel is best effort: an error is retried a few times, unless it is Permanent. It may be called
// again for work that has ended.
type Canceler interface {
	Cancel(ctx context.Context, task Task) error
}

// cancelPauses are the delays between the tries of a cancel.
var cancelPauses = []time.Duration{time.Second, 3 * time.Second}

// cancelTime is the timeout of one try.
const cancelTime = 10 * time.Second

// cancel ends the work that a cancelled task has started elsewhere. Nothing depends on it, so the
// entry is acknowledged even after an error. If the process stops, the entry is delivered again.
func (r *Runner) cancel(ctx context.Context, t *scripts.Task) step.Result {
	log := r.log.With("job", t.ID, "attempt", t.Attempt, "listener", t.Listener)
	err := errors.New("its definition is not in this configuration")
	if task, ok := r.newTask(t, []byte(t.Entry.Fields["memo"])); ok {
		err = r.tryCancel(ctx, task.Task)
	}
	switch {
	case ctx.Err() != nil:
		return step.Result{Kind: step.Elsewhere}
	case err != nil:
		log.Warn("could not end the work that a cancelled task had started", "err", err)
	default:
		log.Info("ended the work that a cancelled task had started")
	}
	return step.Result{Kind: step.Void}
}

func (r *Runner) tryCancel(ctx context.Context, task Task) error {
	canceler, ok := r.o.Sources[task.Listener.Source].(Canceler)
	if !ok {
		return nil
	}
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
