package listeners

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/internal/spooled"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// fallback is a dataset that an earlier job has read, of a task whose tries have failed.
type fallback struct {
	*scripts.Fallback
	task job.TaskState // that has read it, or has used it in the same way
}

// fallBack completes a task whose tries have failed with the last good dataset of its listener. Its result is Permanent
// if there is none that the listener may use, and else how the try to copy it ended.
func (r *Runner) fallBack(ctx context.Context, t *task, why error) step.Result {
	if t.own.Lease > 0 { // that of an external task, which no reader renews
		var stop func()
		ctx, stop = step.Renew(ctx, t.own.Lease, t.Renew)
		defer stop()
	}
	if t.clock != nil {
		t.clock.Stop()
	}
	t.clock = ask.NewPatience(ctx, t.limit(), errLate)
	defer t.clock.Stop()
	from, err := r.copyNewest(t.clock.Context(), t, why)
	if interrupted, ok := step.Interrupted(ctx); ok && err != nil {
		return interrupted
	}
	result := resultOf(err)
	switch result.Kind {
	case step.Done:
		r.log.Warn("the job uses an older dataset of a listener", "job", t.ID, "attempt", t.Attempt,
			"listener", t.Listener.Name, "from", from, "err", why)
		r.metrics.tasks.WithLabelValues(t.Listener.Name, taskStale).Inc()
	case step.Permanent, step.Retry:
		if err != errNoFallback {
			r.log.Warn("an older dataset cannot be used", "job", t.ID, "attempt", t.Attempt,
				"listener", t.Listener.Name, "from", from, "err", err)
		}
		result.Kind = step.Permanent
	}
	return result
}

// errNoFallback is the error of a task whose listener has no dataset that it may use.
var errNoFallback = Permanent(errors.New("no older dataset is left"))

// maxReplaced is how often another job may replace the dataset that is copied.
const maxReplaced = 3

// copyNewest copies the newest dataset that the listener of a task may use, and returns which attempt has left it.
func (r *Runner) copyNewest(ctx context.Context, t *task, why error) (from string, err error) {
	for range maxReplaced {
		var newest *fallback
		if newest, err = r.newest(ctx, t); err != nil {
			return "", err
		}
		if newest == nil {
			return "", errNoFallback
		}
		if err = newest.begin(ctx, t, why); err == nil {
			err = newest.copyTo(ctx, t)
		}
		if from = newest.From; !errors.Is(err, scripts.ErrNoChunk) {
			return from, err
		}
	}
	return from, Permanent(fmt.Errorf("its rows are not complete, or were replaced meanwhile: %v", err))
}

// newest returns the newest dataset, of all partitions, that the listener of a task may use; nil: there is none.
func (r *Runner) newest(ctx context.Context, t *task) (*fallback, error) {
	var newest *fallback
	for _, s := range r.o.Partitions {
		var now time.Time
		found, err := callRedis(ctx, t, "find an older dataset", func() (f *scripts.Fallback, err error) {
			f, now, err = s.Fallbacks.Read(ctx, t.Report.Name, t.own.Parameters)
			return f, err
		})
		if err != nil {
			return nil, err
		}
		if found == nil || !job.Usable(t.Report, t.Listener, t.stored.columns, found.State, t.own.Parameters, now) {
			continue
		}
		f := &fallback{found, found.Tasks[t.Listener.Name]}
		if newest == nil || f.task.ReadAt().After(newest.task.ReadAt()) {
			newest = f
		}
	}
	return newest, nil
}

// begin prepares a task for copyTo. Meanwhile its lease is not renewed: while the answer is on its way, Redis refuses
// the generation that the task has here.
func (from *fallback) begin(ctx context.Context, t *task, why error) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.script(ctx, 0, func() (scripts.Outcome, error) {
		return t.o.Scripts.Fallbacks.Begin(ctx, t.own, from.task.ReadAt(), why.Error())
	})
}

// copyTo stores an older dataset as that of a task, and completes the task.
func (from *fallback) copyTo(ctx context.Context, t *task) error {
	var columns []dataset.Column
	if err := json.Unmarshal(from.task.Columns, &columns); err != nil {
		return Permanent(fmt.Errorf("columns of %s: %w", t.Listener.Name, err))
	}
	var store dataset.Store = from.Stored(t.Listener.Name)
	if from.task.At != "" {
		if t.o.Spool == nil {
			return Permanent(errors.New("it lies in the spool, which is not configured here"))
		}
		var err error
		if store, err = spooled.Open(t.o.Spool, t.Listener.Name, from.task); err != nil {
			return spoolFailed(ctx, err)
		}
	}
	t.chunks, t.rows, t.began = 0, 0, time.Now()
	o := &output{task: t, ctx: ctx, place: inRedis}
	defer func() {
		if o.lower != nil {
			o.lower()
		}
	}()
	out := writerOf(t, o.flush, &o.place)
	err := out.Columns(columns)
	for number := int64(0); number < from.task.Chunks && err == nil; number++ {
		var chunk *dataset.Chunk
		if chunk, err = t.chunk(ctx, store, number, columns...); err != nil {
			break
		}
		for row := 0; row < chunk.Rows() && err == nil; row++ {
			chunk.CopyRow(row, out.Builder())
			err = out.EndRow()
		}
	}
	if err == nil {
		err = out.Close()
	}
	out.Stop()
	return err
}
