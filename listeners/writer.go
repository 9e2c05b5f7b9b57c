package listeners

import (
	"errors"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/report"
)

// Writer takes the rows of one task and stores them chunk by chunk: the rows behind
// a full chunk are taken while it is being stored. It is used by one goroutine.
// Columns is called once, before the first value; then for each row one value per
// column goes to Builder, and EndRow ends it.
type Writer struct {
	builder *dataset.Builder
	spare   *dataset.Builder // nil before the first full chunk
	flush   FlushFunc
	columns []dataset.Column
	drops   []int // columns that are not stored
	kept    []dataset.Column
	keeps   func(columns []dataset.Column) []bool // nil: all
	storing chan error                            // of the chunk that is being stored; nil: none is
	pause   func() (resume func())                // it is called while the source waits
}

// FlushFunc stores what is in the builder, with the columns that are kept: a chunk that is full, or the last one
// of the dataset, which may have no rows. One chunk is stored at a time, in their
// order, and none behind one that was not. The builder is used again after it.
type FlushFunc func(columns []dataset.Column, b *dataset.Builder, last bool) error

// NewWriter returns a Writer that stores its chunks with flush, which it calls in
// goroutines of its own. Close or Stop ends them.
func NewWriter(flush FlushFunc) *Writer {
	return &Writer{flush: flush, pause: func() (resume func()) { return func() {} }}
}

// Columns says what the dataset consists of. It is called once.
func (w *Writer) Columns(columns []dataset.Column) error {
	if w.columns != nil {
		return errors.New("Columns called twice")
	}
	w.columns, w.kept = columns, columns
	if w.keeps != nil {
		w.kept = nil
		for i, keep := range w.keeps(columns) {
			if keep {
				w.kept = append(w.kept, columns[i])
			} else {
				w.drops = append(w.drops, i)
			}
		}
	}
	w.builder = dataset.NewBuilder(columns, w.drops...)
	return nil
}

// Builder takes the values of the current row. It is nil before Columns, and
// another one after EndRow.
func (w *Writer) Builder() *dataset.Builder { return w.builder }

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
	resume := w.pause()
	err := w.stored()
	if resume(); err != nil {
		return err
	}
	full := w.builder
	if w.builder = w.spare; w.builder == nil {
		w.builder = dataset.NewBuilder(w.columns, w.drops...)
	}
	w.builder.Reset()
	w.spare = full
	storing := make(chan error, 1)
	w.storing = storing
	go func() { storing <- w.flush(w.kept, full, false) }()
	return nil
}

// stored waits for the chunk that is being stored.
func (w *Writer) stored() error {
	if w.storing == nil {
		return nil
	}
	err := <-w.storing
	w.storing = nil
	return err
}

// Close stores the last chunk. Whoever made the Writer calls it once Read has
// succeeded, and Stop where it has not.
func (w *Writer) Close() error {
	if w.columns == nil {
		return Permanent(errors.New("the source has named no columns"))
	}
	defer w.pause()()
	if err := w.stored(); err != nil {
		return err
	}
	return w.flush(w.kept, w.builder, true)
}

// Stop waits until nothing is being stored any more. The Writer is not used after
// it.
func (w *Writer) Stop() { _ = w.stored() }

// stored says how the datasets of a definition are stored.
type stored struct {
	columns  map[string][]string // those that are, by listener; all of a listener that is missing
	services map[string]bool     // listeners whose rows services may read: they lie in Redis, however many they are
}

// storedOf returns how the datasets of a report are stored, see fold.Stored.
func storedOf(r *report.Report) stored {
	columns, services := fold.Stored(r)
	return stored{columns, services}
}

// keeps returns which columns of a listener are stored.
func (s stored) keeps(listener string, columns []dataset.Column) []bool {
	names, some := s.columns[listener]
	keeps := make([]bool, len(columns))
	for i, c := range columns {
		keeps[i] = !some || slices.Contains(names, c.Name)
	}
	return keeps
}
