package fold

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/fanfold/fanfold/dataset"
)

// prefetched is how many chunks a reader reads ahead, side by side: to read and decode a
// chunk costs about as much as to join its rows.
const prefetched = 3

// reader reads chunks of a dataset in their order. The first two are read when they are
// asked for, since most datasets have one; from then on goroutines read ahead.
type reader struct {
	in      *input
	numbers []int // of the columns
	columns []dataset.Column
	next    int64 // chunk
	direct  int   // chunks that were read without a goroutine
	ahead   chan chan read
	stop    chan struct{}
	running sync.WaitGroup
}

// read is a chunk that was read, or why not.
type read struct {
	chunk *dataset.Chunk
	err   error
}

// read reads these columns of a dataset from a chunk on. The reader must be closed.
func (in *input) read(columns []int, from int64) *reader {
	r := &reader{in: in, numbers: columns, next: from, columns: in.columns}
	if !slices.Equal(columns, in.all) {
		r.columns = make([]dataset.Column, len(columns))
		for i, c := range columns {
			r.columns[i] = in.columns[c]
		}
	}
	return r
}

// chunks yields these columns of the chunks of a dataset from one on, or an error, and no
// more then.
func (in *input) chunks(columns []int, from int64) iter.Seq2[*dataset.Chunk, error] {
	return func(yield func(*dataset.Chunk, error) bool) {
		r := in.read(columns, from)
		defer r.close()
		for {
			c, err := r.chunk()
			if c == nil && err == nil || !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// chunk returns the next chunk, or nil after the last one.
func (r *reader) chunk() (*dataset.Chunk, error) {
	if r.next == r.in.dataset.Chunks() {
		return nil, nil
	}
	n := r.next
	r.next++
	if r.direct < 2 {
		r.direct++
		return r.readChunk(n)
	}
	if r.ahead == nil {
		r.ahead, r.stop = make(chan chan read, prefetched-1), make(chan struct{})
		r.running.Go(func() { r.prefetch(n) })
	}
	c := <-<-r.ahead
	return c.chunk, c.err
}

// prefetch reads all chunks from one on, a few at a time, and hands them over in order.
func (r *reader) prefetch(from int64) {
	for n := from; n < r.in.dataset.Chunks(); n++ {
		to := make(chan read, 1)
		select {
		case r.ahead <- to:
		case <-r.stop:
			return
		}
		r.running.Go(func() {
			c, err := r.readChunk(n)
			to <- read{c, err}
		})
	}
}

func (r *reader) readChunk(n int64) (*dataset.Chunk, error) {
	c, err := r.in.dataset.Chunk(n, r.numbers)
	if err == nil && (c == nil || !slices.Equal(c.Columns(), r.columns)) {
		err = errors.New("a chunk whose columns are not those of the dataset")
	}
	if err != nil {
		return nil, r.in.failed(err)
	}
	return c, nil
}

// close waits until the dataset is not read any more.
func (r *reader) close() {
	if r.stop != nil {
		close(r.stop)
		r.running.Wait()
	}
}

// failed names the listener in an error of its dataset.
func (in *input) failed(err error) error {
	return fmt.Errorf("fold: dataset of listener %q: %w", in.listener, err)
}
