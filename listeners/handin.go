package listeners

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
)

const (
	// maxReads is the maximum number of segments of external workers that a process has in memory.
	maxReads = 2
	// readWait is how long a reply waits for its turn among them.
	readWait = 5 * time.Second
	// readTime bounds the time that reading and checking a segment takes.
	readTime = 30 * time.Second
)

var (
	errMixed = Permanent(errors.New("the task has rows and segments: send all of its rows in one of these ways"))
	// A process that was started before the spool was configured can still run.
	errNoSpool = errSpool.New("the worker sent a segment, but this process has no spool: configure spool for all processes")
	errRead    = Permanent(errors.New("the service of a later stage reads the rows of this listener in Redis: " +
		"send them as rows, not as segments"))
)

// arrived returns how many replies with rows of a task are stored, from the first one on without gap.
func arrived(t job.TaskState) int64 {
	if t.At == "" {
		return t.Chunks
	}
	return int64(strings.Count(t.At, " ")) // a word for each segment follows their URL
}

// chunksOf says what the chunks of done are, in an error, if the entries of rows are segments, which have chunks, too.
func chunksOf(at string) string {
	if at == "" {
		return ""
	}
	return ": its chunks is the number of segments"
}

// takesSegments tells whether the rows of a task may lie in the spool.
func takesSegments(t *task) error {
	switch {
	case t.o.Spool == nil:
		return errNoSpool
	case t.stored.services[t.Listener.Name]:
		return errRead
	}
	return nil
}

// segments are those that a worker hands in.
type segments struct{ *worker }

// name returns the name of a segment of the worker's task. Generation and writer are the choice of the worker.
func (w segments) name(number int64, writer string) spool.Name {
	return spool.Name{Report: w.task.Report.Name, ID: w.ID, Attempt: w.Attempt, Listener: w.Listener, Writer: writer,
		Number: int(number)}
}

// handIn lists a segment that the worker has written into the spool, once it is checked.
func (w segments) handIn(ctx context.Context) error {
	if err := takesSegments(w.task); err != nil {
		return w.fail(ctx, err)
	}
	if w.state.At == "" && w.state.Columns != nil { // it has rows
		return w.fail(ctx, errMixed)
	}
	switch listed := arrived(w.state); {
	case w.Number < listed:
		return w.progress(ctx)
	case w.Number > listed:
		return errEarly
	}
	writer, _ := strings.CutPrefix(w.Worker, deskPrefix)
	if w.Consumer != deskConsumer {
		writer = "" // no claim has said one
	}
	name, err := w.task.o.Spool.Handed(w.Segment, w.name(w.Number, writer))
	if err != nil {
		return w.fail(ctx, Permanent(err))
	}
	at := w.task.o.Spool.URL(name)
	if first, _, listed := strings.Cut(w.state.At, " "); listed && first != at {
		return w.fail(ctx, Permanent(fmt.Errorf("segment %s: the URLs of all segments of a task begin with %s", w.Segment,
			first)))
	}
	// Only the owner's is read.
	if err := w.keep(ctx); err != nil || w.ended {
		return err
	}
	s, err := w.read(ctx, name)
	switch {
	case ctx.Err() != nil:
		return away(context.Cause(ctx))
	case errors.Is(err, errLeft):
		return err
	case errors.Is(err, step.ErrLost):
		return w.over(ctx)
	case errors.As(err, new(spool.Unfit)):
		return w.fail(ctx, Permanent(err))
	case errors.As(err, new(spool.Damaged)):
		return w.fail(ctx, err)
	case err != nil:
		return w.fail(ctx, spoolFailed(ctx, err))
	}
	w.task.own.Service = at
	err = w.done(ctx, "list segment", func() (scripts.Outcome, error) {
		return w.task.own.List(ctx, scripts.Segment{
			Number: w.Number, At: at, Text: s.String(), Chunks: s.Chunks, Rows: s.Rows, Bytes: s.Bytes,
			Columns: columnsOf(w.task.Listener),
		})
	})
	if err != nil || w.ended {
		return err
	}
	return w.progress(ctx)
}

// read reads and checks a segment. The worker need not say meanwhile that it is alive.
func (w segments) read(ctx context.Context, name spool.Name) (spool.Segment, error) {
	late := time.NewTimer(readWait)
	defer late.Stop()
	select {
	case w.slots.reads <- struct{}{}:
		defer func() { <-w.slots.reads }()
	case <-late.C:
		return spool.Segment{}, away(errors.New("other segments are read"))
	case <-ctx.Done():
		return spool.Segment{}, context.Cause(ctx)
	}
	leased, stop := w.leases.Renew(ctx, w.ID, w.task.own.Lease, w.task.Renew)
	defer stop()
	reading, cancel := context.WithTimeoutCause(leased, readTime, fmt.Errorf("reading took longer than %s", readTime))
	defer cancel()
	s, err := w.task.o.Spool.Check(reading, name, columnsOf(w.task.Listener))
	if cause := context.Cause(reading); err != nil && cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return s, err
}

// progress completes the task if all of its segments are listed.
func (w segments) progress(ctx context.Context) error {
	state, err := w.look(ctx, w.reply)
	if err != nil {
		return err
	}
	t := state.Tasks[w.Listener]
	if t.Done || t.Owner != w.Worker {
		return w.over(ctx)
	}
	if w.state = t; t.At != "" {
		w.task.own.Stored = scripts.Stored{Chunks: arrived(t), Last: arrived(t), Total: t.Total}
	}
	if t.Total < 0 {
		return w.keep(ctx)
	}
	return w.complete(ctx)
}
