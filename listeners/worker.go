package listeners

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// worker is an external worker with one of its replies.
type worker struct {
	*external
	reply
	task  *task
	state job.TaskState // of the task
	said  time.Time
	ended bool  // nothing is left to do for the reply
	why   error // why the reply has ended the try; nil: it has not
}

// take makes the worker the owner of its task, on its first reply. A worker that has given up the
// task, or whose entry another worker has, cannot take it.
func (w *worker) take(ctx context.Context) error {
	own := w.task.own
	switch {
	case w.state.Done:
		w.ended = true
		return w.acknowledge(ctx)
	case w.state.Owner == w.Worker:
		return nil
	case w.state.LastOwner == w.Worker:
		return w.left(ctx)
	}
	consumer, err := step.Insist(ctx, w.log, "look for entry", func() (string, error) {
		consumer, _, err := w.o.Scripts.Entries.Reader(ctx, own.Entry.Stream, w.Entry)
		return consumer, err
	}, step.UnlessFull)
	if err != nil {
		return w.lost(err)
	}
	if consumer == "" {
		return refused{fmt.Sprintf("entry %s is not pending in %s: another worker has the task", w.Entry,
			own.Entry.Stream)}
	}
	outcome, err := step.Insist(ctx, w.log, "take task", func() (scripts.Outcome, error) {
		return own.Take(ctx, scripts.Take{Owner: w.Worker, Known: w.known[w.Listener], Once: true})
	}, step.UnlessFull)
	if err != nil {
		return w.lost(err)
	}
	switch outcome {
	case scripts.OK:
	case scripts.Busy:
		return w.over(ctx)
	case scripts.Unknown:
		return errLeft
	default:
		return refused{"the job has moved on"}
	}
	w.state = job.TaskState{StepState: job.StepState{Tries: own.Tries}, Owner: w.Worker, Taken: w.said}
	if exhausted, ok := step.Exhausted(w.task.Tries()); ok {
		return w.fail(ctx, Permanent(exhausted.Err))
	}
	return nil
}

// left handles the reply of a worker that has given up its task. It acknowledges the entry that the
// worker read before it took the task, but not a later one, which another worker must do.
func (w *worker) left(ctx context.Context) error {
	w.ended = true
	if scripts.EntryTime(w.Entry).After(w.state.Taken) {
		return refused{"this worker has given up the task: use a new worker name for every entry"}
	}
	if err := w.acknowledge(ctx); err != nil || w.Type == replyFailed { // a repetition, or this reply itself
		return err
	}
	return refused{"this worker has given up the task"}
}

// over handles a reply whose worker has just lost its task: the task is done, the worker has given it
// up, or another one has it.
func (w *worker) over(ctx context.Context) error {
	w.ended = true
	state, err := w.look(ctx, w.reply)
	if err != nil {
		return err
	}
	switch t := state.Tasks[w.Listener]; {
	case t.Done:
		return w.acknowledge(ctx) // by this worker
	case t.Owner != w.Worker && t.LastOwner == w.Worker:
		w.state = t
		return w.left(ctx)
	}
	return refused{"another worker has the task"}
}

// lost returns the error of a reply after an error of Redis.
func (w *worker) lost(err error) error {
	if errors.Is(err, scripts.ErrBroken) {
		return err
	}
	return away(err)
}

// apply applies the reply of the owner.
func (w *worker) apply(ctx context.Context) error {
	late := w.said.Sub(w.state.Taken)
	if w.Type != replyDone && w.Type != replyFailed && late > w.task.Listener.Timeout {
		return w.fail(ctx,
			fmt.Errorf("timed out after %s: raise the timeout of the listener, or make its service faster",
				w.task.Listener.Timeout))
	}
	switch w.Type {
	case replyRows:
		if w.Segment != "" {
			return segments{w}.handIn(ctx)
		}
		return w.store(ctx)
	case replyDone:
		return w.end(ctx)
	case replyFailed:
		err := errors.New(w.Error)
		if w.Permanent {
			err = Permanent(err)
		}
		return w.fail(ctx, err)
	}
	return w.keep(ctx)
}

// keep renews the worker's lease and its entry.
func (w *worker) keep(ctx context.Context) error {
	return w.done(ctx, "keep task", func() (scripts.Outcome, error) { return w.task.own.Renew(ctx) })
}

// store stores a chunk.
func (w *worker) store(ctx context.Context) error {
	if w.state.At != "" {
		return w.fail(ctx, errMixed)
	}
	fields, rows, err := dataset.Rows(w.task.Listener.Columns, w.task.Listener.Types, w.Rows)
	if err == nil && rows > maxReplyRows {
		err = fmt.Errorf("%d rows in one entry, more than %d: send them in several entries", rows, maxReplyRows)
	}
	if err != nil {
		return w.fail(ctx, Permanent(fmt.Errorf("rows number %d: %w", w.Number, err)))
	}
	chunk := w.chunk(w.Number, fields)
	chunk.Rows = int64(rows)
	err = w.done(ctx, "store chunk", func() (scripts.Outcome, error) { return w.task.own.Store(ctx, chunk) })
	if err != nil || w.ended {
		return err
	}
	if w.task.own.Stored.Total >= 0 {
		return w.complete(ctx)
	}
	return w.keep(ctx)
}

// chunk makes a chunk from the JSON of all columns of the listener. It has those that are stored.
func (w *worker) chunk(number int64, fields [][]byte) scripts.Chunk {
	all := columnsOf(w.task.Listener)
	chunk := scripts.Chunk{Number: number}
	var columns []dataset.Column
	for i, keep := range w.task.stored.keeps(w.Listener, all) {
		if keep {
			columns, chunk.Names = append(columns, all[i]), append(chunk.Names, all[i].Name)
			chunk.Fields = append(chunk.Fields, fields[i])
		}
	}
	chunk.Columns = columns
	if w.o.Limits.Compress {
		var c dataset.Compressor
		chunk.Fields = c.Fields(chunk.Fields)
	}
	return chunk
}

// columnsOf returns all columns of an external listener.
func columnsOf(l *report.Listener) []dataset.Column {
	all := make([]dataset.Column, len(l.Columns))
	for i, name := range l.Columns {
		all[i] = dataset.Column{Name: name, Kind: l.Types[i]}
	}
	return all
}

// end stores the number of chunks, and completes the task if all have arrived.
func (w *worker) end(ctx context.Context) error {
	err := w.done(ctx, "note the end", func() (scripts.Outcome, error) { return w.task.own.SetTotal(ctx, w.Number) })
	if err != nil || w.ended {
		return err
	}
	if w.Number > 0 && w.state.Chunks == 0 || w.state.At != "" {
		return segments{w}.progress(ctx) // a segment may have been listed since the state was read
	}
	return w.complete(ctx)
}

// complete counts the listener if all chunks have arrived.
func (w *worker) complete(ctx context.Context) error {
	stored := w.task.own.Stored
	switch {
	case stored.Last > stored.Total:
		return w.fail(ctx,
			Permanent(fmt.Errorf("done says %d entries of rows, but there were %d%s", stored.Total, stored.Last,
				chunksOf(w.state.At))))
	case stored.Chunks < stored.Total:
		return w.keep(ctx) // the reply with the last chunk completes it
	}
	var last scripts.Chunk
	if at, _, spooled := strings.Cut(w.state.At, " "); spooled {
		w.task.own.Service = at
		last.Number = w.state.Chunks - 1
	} else if stored.Total > 0 {
		last.Number = stored.Total - 1
	} else {
		fields := make([][]byte, len(w.task.Listener.Columns))
		for i := range fields {
			fields[i] = []byte("[]")
		}
		last = w.chunk(0, fields)
	}
	took := max(0, w.said.Sub(w.state.Taken))
	err := w.done(ctx, "complete task", func() (scripts.Outcome, error) { return w.task.own.Complete(ctx, last, took) })
	if err == nil && !w.ended {
		w.metrics.tasks.WithLabelValues(w.Listener, taskDone).Inc()
		w.metrics.seconds.WithLabelValues(w.Listener).Observe(took.Seconds())
	}
	return err
}

// done runs a script for the owner, and handles its outcome.
func (w *worker) done(ctx context.Context, what string, script func() (scripts.Outcome, error)) error {
	outcome, err := step.Insist(ctx, w.log, what, script, step.UnlessFull)
	switch {
	case outcome == scripts.TooFar:
		return errEarly
	case errors.Is(err, scripts.ErrFull):
		// Waiting would keep the replies of other jobs from being read.
		_, full := w.memory.contend(ctx, w.Message, 0, w.fullFor(ctx))
		switch {
		case errors.Is(full, ErrEnded):
			return w.over(ctx)
		case errors.Is(full, errLeft):
			return full
		}
		return w.fail(ctx, cmp.Or(full, Outage(err)))
	case err != nil:
		return w.lost(err)
	case outcome == scripts.TooMuch && w.Segment != "":
		return w.fail(ctx, errTooMuchSpooled)
	case outcome == scripts.TooMuch:
		return w.fail(ctx, errTooMuch)
	case outcome == scripts.Busy, outcome == scripts.Gone:
		return w.over(ctx)
	}
	return nil
}

// fullFor returns for how long no job was preempted in a full Redis, at most as long as it takes to
// believe what is there: a worker cannot wait while its reply is handled.
func (w *worker) fullFor(ctx context.Context) time.Duration {
	if since, err := w.o.Scripts.Memory.Contention(ctx); err != nil || time.Since(since) < 2*roomBelief {
		return 0
	}
	return roomBelief
}

// fail ends the worker's try with an error. The script of End acknowledges its entry.
func (w *worker) fail(ctx context.Context, why error) error {
	w.ended, w.why = true, why
	result := w.End(ctx, w.task, step.Decide(resultOf(why), w.state.Tries, w.task.Listener.Retry))
	if result.Kind == step.Elsewhere {
		return away(result.Err)
	}
	return nil
}

// acknowledge acknowledges the task's entry, which external services never do.
func (w *worker) acknowledge(ctx context.Context) error {
	stream := w.task.own.Entry.Stream
	if err := step.Ensure(ctx, w.log, "acknowledge task",
		func() error { return w.o.Scripts.Streams.Ack(ctx, stream, w.Entry) }, step.UnlessFull); err != nil {
		return away(err)
	}
	return nil
}
