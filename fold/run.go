package fold

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// Scratch is a file that a fold may use as long as it lasts. It is used by several
// goroutines at once, each with bytes of its own.
type Scratch interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// scratch hands out places in a file, one after the other.
type scratch struct {
	Scratch
	end    atomic.Int64
	closed bool
}

// Close may be called again.
func (s *scratch) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return s.Scratch.Close()
}

// run is a sequence of records in a scratch file, in blocks of whole records. Its
// rows have their numbers in their links.
type run struct {
	scratch *scratch
	blocks  []extent
	bytes   int64
	rows    int
	first   record // the first one, without its row
	several bool   // there are other keys than that of the first
}

// extent is where a block is.
type extent struct {
	at    int64
	bytes int
}

var errNumbers = errors.New("more than 4,294,967,295 rows")

// runWriter makes a run. Nothing is written before flush, or a full block.
type runWriter struct {
	*run
	block *[]byte // from blocks; nil: empty
}

// blockBuffers are what runs are written from and read into.
var blockBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, blockBytes)) }}

func newRun(s *scratch) *runWriter { return &runWriter{run: &run{scratch: s}} }

// add copies a record to the end.
func (w *runWriter) add(r record) error {
	if w.rows++; w.first == nil {
		w.first = bytes.Clone(r[:len(r)-len(r.row())])
	} else if !w.several {
		w.several = !w.first.is(r.key())
	}
	size := padded(len(r))
	if w.block != nil && len(*w.block)+size > blockBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.block == nil {
		w.block = blockBuffers.Get().(*[]byte)
		*w.block = (*w.block)[:0]
	}
	*w.block = appendPadded(*w.block, r)
	if len(*w.block) > blockBytes {
		return w.flush() // a long row does not wait for others
	}
	return nil
}

// flush writes what is left.
func (w *runWriter) flush() error {
	if w.block == nil {
		return nil
	}
	n := len(*w.block)
	e := extent{w.scratch.end.Add(int64(n)) - int64(n), n}
	_, err := w.scratch.WriteAt(*w.block, e.at)
	w.blocks, w.bytes = append(w.blocks, e), w.bytes+int64(n)
	if n <= blockBytes {
		blockBuffers.Put(w.block)
	}
	w.block = nil
	if err != nil {
		return fmt.Errorf("fold: write rows that are too many for memory: %w", err)
	}
	return nil
}

// read fills buffer with a block.
func (r *run) read(e extent, buffer []byte) error {
	if _, err := r.scratch.ReadAt(buffer, e.at); err != nil {
		return fmt.Errorf("fold: read rows that were too many for memory: %w", err)
	}
	return nil
}

// load reads all of a run, of this dataset.
func (r *run) load(in *input) (*held, error) {
	h := &held{rows: r.rows}
	for _, e := range r.blocks {
		block := make([]byte, e.bytes)
		if err := r.read(e, block); err != nil {
			return nil, err
		}
		if err := h.adopt(block); err != nil {
			return nil, in.failed(err)
		}
	}
	return h, nil
}

// all calls f with every record, in their order, until there is an error. A record
// is valid until f returns.
func (r *run) all(f func(r record) error) error {
	for c := r.cursor(); ; {
		next, err := c.next()
		if next == nil || err != nil {
			return err
		}
		if err := f(next); err != nil {
			c.close()
			return err
		}
	}
}

// runCursor reads a run.
type runCursor struct {
	run    *run
	number int // of the next block
	buffer *[]byte
	block  []byte // what is not yet read of the current one
}

func (r *run) cursor() *runCursor { return &runCursor{run: r} }

// next returns the next record, valid until more is called for than what is left
// of its block, or nil.
func (c *runCursor) next() (record, error) {
	if len(c.block) == 0 {
		if ok, err := c.more(); !ok {
			return nil, err
		}
	}
	r := record(c.block)
	r = r[:r.size()]
	c.block = c.block[padded(len(r)):]
	return r, nil
}

// word returns the word of the next record. Of a long row no more is read for that.
func (c *runCursor) word() (word uint64, ok bool, err error) {
	if len(c.block) == 0 {
		c.block = nil // a long row is not needed any more
		if c.number < len(c.run.blocks) && c.run.blocks[c.number].bytes > blockBytes {
			head := make(record, recordHead)
			err := c.run.read(c.run.blocks[c.number], head)
			return head.word(), err == nil, err
		}
		if ok, err := c.more(); !ok {
			return 0, false, err
		}
	}
	return record(c.block).word(), true, nil
}

// more reads the next block, and tells whether there is one: never with an error.
func (c *runCursor) more() (bool, error) {
	if c.number == len(c.run.blocks) {
		c.close()
		return false, nil
	}
	e := c.run.blocks[c.number]
	c.number++
	if e.bytes > blockBytes {
		c.block = make([]byte, e.bytes)
	} else {
		if c.buffer == nil {
			c.buffer = blockBuffers.Get().(*[]byte)
		}
		c.block = (*c.buffer)[:e.bytes]
	}
	if err := c.run.read(e, c.block); err != nil {
		c.close()
		return false, err
	}
	return true, nil
}

func (c *runCursor) close() {
	if c.buffer != nil {
		blockBuffers.Put(c.buffer)
	}
	c.buffer, c.block = nil, nil
}
