package listeners

import (
	"errors"

	"github.com/fanfold/fanfold/report"
)

// Writer takes the rows of one task and stores them chunk by chunk. It is used
// by one goroutine. Columns is called once, before the first value; then for
// each row one value per column goes to Builder, and EndRow ends it.
type Writer struct {
	builder *report.Builder
	flush   FlushFunc
	columns []report.Column
}

// FlushFunc stores what is in the builder: a chunk that is full, or the last one
// of the dataset, which may have no rows. The builder is reset after it.
type FlushFunc func(columns []report.Column, b *report.Builder, last bool) error

// NewWriter returns a Writer that stores its chunks with flush.
func NewWriter(flush FlushFunc) *Writer { return &Writer{flush: flush} }

// Columns says what the dataset consists of. It is called once.
func (w *Writer) Columns(columns []report.Column) error {
	if w.columns != nil {
		return errors.New("listeners: Columns called twice")
	}
	w.columns = columns
	w.builder = report.NewBuilder(columns)
	return nil
}

// Builder takes the values of the current row. It is nil before Columns.
func (w *Writer) Builder() *report.Builder { return w.builder }

// EndRow ends the current row, and stores the chunk where it is full. Its errors
// are Permanent where a value has no JSON form; any other ends the task, because
// its owner has changed or Redis is out of reach, and is returned from Read as it
// is.
func (w *Writer) EndRow() error {
	if err := w.builder.EndRow(); err != nil {
		return Permanent(err)
	}
	if !w.builder.Full() {
		return nil
	}
	if err := w.flush(w.columns, w.builder, false); err != nil {
		return err
	}
	w.builder.Reset()
	return nil
}

// Close stores the last chunk. Whoever made the Writer calls it once Read has
// succeeded.
func (w *Writer) Close() error {
	if w.columns == nil {
		return Permanent(errors.New("the source has named no columns"))
	}
	return w.flush(w.columns, w.builder, true)
}
