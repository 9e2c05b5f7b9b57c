package fold

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/fanfold/fanfold/dataset"
)

// maxPrefetch is the number of chunks that a reader prefetches in parallel: reading and decoding a
// chunk costs about as much as joining its rows.
const maxPrefetch = 3

// reader reads the chunks of a dataset in order. It reads the first two on demand, because most
// datasets have one; from then on goroutines prefetch.
type reader struct {
	in         *input
	numbers    []int // of the columns to read
	columns    []dataset.Column
	next       int64 // chunk
	direct     int   // chunks that were read on demand
	prefetched chan chan read
	stop       chan struct{}
	running    sync.WaitGroup
}

// read is a chunk, or the error of reading it.
type read struct {
	chunk *dataset.Chunk
	err   error
}

// read returns a reader of these columns of a dataset, from a chunk on. The caller must close it.
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

// chunks yields these columns of the chunks of a dataset, from a chunk on. It stops after the
// first error, which it yields.
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
	if r.prefetched == nil {
		r.prefetched, r.stop = make(chan chan read, maxPrefetch-1), make(chan struct{})
		r.running.Go(func() { r.prefetch(n) })
	}
	c := <-<-r.prefetched
	return c.chunk, c.err
}

// prefetch reads all chunks from a chunk on, a few in parallel, and passes them on in order.
func (r *reader) prefetch(from int64) {
	for n := from; n < r.in.dataset.Chunks(); n++ {
		to := make(chan read, 1)
		select {
		case r.prefetched <- to:
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
		err = errors.New("a chunk has other columns than its dataset")
	}
	if err != nil {
		return nil, r.in.failed(err)
	}
	return c, nil
}

// close stops reading and waits until all reads have ended.
func (r *reader) close() {
	if r.stop != nil {
		close(r.stop)
		r.running.Wait()
	}
}

// failed adds the listener to an error of its dataset.
func (in *input) failed(err error) error {
	return fmt.Errorf("dataset of listener %q: %w", in.listener, err)
}
