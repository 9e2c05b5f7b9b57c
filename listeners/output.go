package listeners

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/processors"
	"github.com/fanfold/fanfold/internal/spooled"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
)

// output stores the chunks of a task: in Redis, or as segments in the spool once they are large together. Until that is
// known, it keeps them.
type output struct {
	*task
	ctx      context.Context
	kept     []scripts.Chunk
	bytes    int64         // of the chunks so far, as JSON
	place    place         // where the chunks lie
	segments *spool.Writer // nil: the dataset is not large
	at       string        // URL of the segments
	listed   int64         // chunks in segments that Redis lists
	lower    func()        // see processors.Raise; nil: the dataset is not large
}

// flush is a FlushFunc.
func (o *output) flush(columns []dataset.Column, b *dataset.Builder, last bool) error {
	chunk := scripts.Chunk{Rows: int64(b.Rows()), Columns: columns, Fields: b.Fields()}
	for _, c := range columns {
		chunk.Names = append(chunk.Names, c.Name)
	}
	o.bytes, o.rows = o.bytes+chunk.Bytes(), o.rows+chunk.Rows
	if o.lower == nil && o.bytes > processors.Large && !last {
		o.lower = processors.Raise()
	}
	if o.lower != nil {
		processors.Yield()
	}
	switch s := o.task.o.Spool; {
	case s == nil, o.stored.services[o.Listener.Name]:
		return o.store(o.ctx, chunk, last)
	case o.segments != nil:
	case o.bytes > s.Above():
		o.segments = s.Create(spool.Name{
			Report: o.Report.Name, ID: o.ID, Attempt: o.Attempt, Listener: o.Listener.Name,
			Generation: o.own.Generation, Writer: o.own.Writer(),
		})
		o.at, o.place = o.segments.URL(), inSpool
		for _, c := range o.kept {
			o.segments.Add(c.Rows, c.Fields)
		}
		o.kept = nil
	case !last:
		fields := make([][]byte, len(chunk.Fields)) // the builder is used again
		for i, f := range chunk.Fields {
			fields[i] = bytes.Clone(f)
		}
		chunk.Fields = fields
		o.kept = append(o.kept, chunk)
		return nil
	default:
		for _, c := range o.kept {
			if err := o.store(o.ctx, c, false); err != nil {
				return err
			}
		}
		return o.store(o.ctx, chunk, true)
	}
	o.segments.Add(chunk.Rows, chunk.Fields)
	if !last && !o.segments.Full() {
		return nil
	}
	return o.commit(columns, last)
}

// commit commits a segment, has Redis list it, and completes the task with the last one.
func (o *output) commit(columns []dataset.Column, last bool) error {
	number := int64(o.segments.Number())
	s, err := o.segments.Commit(o.ctx)
	if err != nil {
		return spoolFailed(o.ctx, err)
	}
	if err := o.list(o.ctx, scripts.Segment{
		Number: number, At: o.at, Text: s.String(), Chunks: s.Chunks, Rows: s.Rows, Bytes: s.Bytes, Columns: columns,
	}); err != nil {
		return err
	}
	o.listed += s.Chunks
	if !last {
		return nil
	}
	return o.script(o.ctx, 0, func() (scripts.Outcome, error) {
		return o.own.Complete(o.ctx, scripts.Chunk{Number: o.listed - 1}, time.Since(o.began))
	})
}

// list has Redis list a segment.
func (t *task) list(ctx context.Context, s scripts.Segment) error {
	err := t.script(ctx, 0, func() (scripts.Outcome, error) { return t.own.List(ctx, s) })
	if errors.Is(err, errTooMuch) {
		return errTooMuchSpooled
	}
	return err
}

const errSpool fault.Kind = "the spool"

// errTooMuchSpooled is the error of a job with too many bytes in the spool.
var errTooMuchSpooled = Permanent(errReport.New(
	"the job's data in the spool exceeds limits.spool_bytes: reduce the result size or raise the limit"))

// spoolFailed returns the error of a task that could not use the spool.
func spoolFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	result := spooled.ResultOf(err)
	switch err = errSpool.Of(result.Err); result.Kind {
	case step.Outage:
		err = Outage(err)
	case step.Permanent:
		err = Permanent(err)
	}
	return err
}
