package listeners

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
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
func (r *Runner) cancel(ctx context.Context, t *scripts.Task, entry step.Entry) step.Result {
	m := remembered([]byte(entry.Fields["memo"]))
	err := r.tryCancel(ctx, t, m)
	switch {
	case ctx.Err() != nil:
		return step.Result{Kind: step.Elsewhere}
	case err != nil:
		r.log.Warn("could not end the work that a cancelled task had started", "job", t.ID, "attempt", t.Attempt, "listener", t.Listener, "err", err)
	default:
		r.log.Info("ended the work that a cancelled task had started", "job", t.ID, "attempt", t.Attempt, "listener", t.Listener)
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
