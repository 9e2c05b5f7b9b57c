package op

import (
	"fmt"
	"io"
	"sync"
)

// Scratch is a temporary file.
type Scratch interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// scratch is a file that is created with the first write. The space of what is not needed any more is used again. Its
// methods are safe for concurrent use.
type scratch struct {
	create func() (Scratch, error)
	mutex  sync.Mutex // of all below
	file   Scratch
	end    int64
	writes int64
	unused [blockBytes/pageBytes + 1][]int64 // places of extents, by their pages
}

// extent is the position of a block in the scratch file.
type extent struct {
	at    int64
	bytes int
}

// pageBytes is the unit in which the scratch file is divided.
const pageBytes = 16 << 10

func pagesOf(bytes int) int { return (bytes + pageBytes - 1) / pageBytes }

// write stores bytes and returns their extent.
func (s *scratch) write(b []byte) (extent, error) {
	e, err := s.place(len(b))
	if err != nil {
		return e, fmt.Errorf("create a file for rows beyond the memory budget: %w", err)
	}
	if _, err := s.file.WriteAt(b, e.at); err != nil {
		return e, fmt.Errorf("write rows beyond the memory budget: %w", err)
	}
	return e, nil
}

// place finds unused space, and extends the file if there is none.
func (s *scratch) place(bytes int) (extent, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.file == nil {
		file, err := s.create()
		if err != nil {
			return extent{}, err
		}
		s.file = file
	}
	s.writes++
	pages := pagesOf(bytes)
	for n := pages; n < len(s.unused); n++ {
		if last := len(s.unused[n]) - 1; last >= 0 {
			at := s.unused[n][last]
			s.unused[n] = s.unused[n][:last]
			s.discard(at+int64(pages)*pageBytes, n-pages)
			return extent{at, bytes}, nil
		}
	}
	e := extent{s.end, bytes}
	s.end += int64(pages) * pageBytes
	return e, nil
}

// release makes the space of an extent unused.
func (s *scratch) release(e extent) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.discard(e.at, pagesOf(e.bytes))
}

// discard makes pages unused.
func (s *scratch) discard(at int64, pages int) {
	for ; pages > 0; pages -= len(s.unused) - 1 {
		n := min(pages, len(s.unused)-1)
		s.unused[n] = append(s.unused[n], at)
		at += int64(n) * pageBytes
	}
}

// read fills buffer with an extent.
func (s *scratch) read(e extent, buffer []byte) error {
	if _, err := s.file.ReadAt(buffer, e.at); err != nil {
		return fmt.Errorf("read rows beyond the memory budget: %w", err)
	}
	return nil
}

// Close removes the file.
func (s *scratch) Close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// Spills returns how often rows were written to the file.
func (s *scratch) Spills() int64 { return s.writes }

// run is a sequence of records in blocks of whole records: in the scratch file, the last ones in
// memory.
type run struct {
	scratch *scratch
	blocks  []extent
	tail    *[]byte // from blockBuffers; nil: empty
	bytes   int64   // in all blocks and the tail
	rows    int
}

// blockBuffers are reused for writing and reading runs.
var blockBuffers = sync.Pool{New: func() any { return new(make([]byte, 0, blockBytes)) }}

// add copies a record to the end.
func (r *run) add(next record) error {
	size := padded(len(next))
	if r.tail != nil && len(*r.tail)+size > blockBytes {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if r.tail == nil {
		r.tail = blockBuffers.Get().(*[]byte)
		*r.tail = (*r.tail)[:0]
	}
	*r.tail = appendPadded(*r.tail, next)
	r.rows++
	r.bytes += int64(size)
	if len(*r.tail) > blockBytes {
		return r.flush() // a long row is written at once
	}
	return nil
}

// flush writes the tail.
func (r *run) flush() error {
	if r.tail == nil {
		return nil
	}
	e, err := r.scratch.write(*r.tail)
	if err != nil {
		return err
	}
	r.blocks = append(r.blocks, e)
	r.freeTail()
	return nil
}

func (r *run) freeTail() {
	reuseBlock(r.tail)
	r.tail = nil
}

// reuseBlock returns a buffer, which can be nil, to blockBuffers.
func reuseBlock(b *[]byte) {
	if b != nil && cap(*b) <= blockBytes {
		blockBuffers.Put(b)
	}
}

// free returns the tail and the space in the file for reuse. The run must not be used afterwards.
func (r *run) free() {
	r.freeTail()
	for _, e := range r.blocks {
		r.scratch.release(e)
	}
	r.blocks = nil
}

// count returns the number of blocks.
func (r *run) count() int64 {
	if r.tail != nil {
		return int64(len(r.blocks)) + 1
	}
	return int64(len(r.blocks))
}

// block returns a copy of a block.
func (r *run) block(n int64) ([]byte, error) {
	if n == int64(len(r.blocks)) {
		return append(make([]byte, 0, len(*r.tail)), *r.tail...), nil
	}
	block := make([]byte, r.blocks[n].bytes)
	return block, r.scratch.read(r.blocks[n], block)
}

// load reads all records into memory, and frees the run. Errors name the table.
func (r *run) load(of *Table) (*arena, error) {
	a := &arena{rows: r.rows}
	for n := range r.count() {
		block, err := r.block(n)
		if err != nil {
			return nil, err
		}
		if err := a.adopt(block); err != nil {
			return nil, of.failed(err)
		}
	}
	r.free()
	return a, nil
}

// cursor reads the records of a run, in order.
type cursor struct {
	run    *run
	next   int     // block
	buffer *[]byte // from blockBuffers; nil: not yet
	rest   []byte
	frees  bool // the space of what was read
}

// record returns the next record, which is valid until the next call; nil after the last one.
func (c *cursor) record() (record, error) {
	for len(c.rest) == 0 {
		n := c.next
		if int64(n) >= c.run.count() {
			c.close()
			return nil, nil
		}
		if c.next++; n == len(c.run.blocks) {
			c.rest = *c.run.tail
			break
		}
		if c.buffer == nil {
			c.buffer = blockBuffers.Get().(*[]byte)
		}
		e := c.run.blocks[n]
		if c.rest = *c.buffer; e.bytes > cap(c.rest) {
			c.rest = make([]byte, e.bytes)
		}
		c.rest = c.rest[:e.bytes]
		if err := c.run.scratch.read(e, c.rest); err != nil {
			return nil, err
		}
		if c.frees {
			c.run.scratch.release(e)
		}
	}
	r := record(c.rest)
	r = r[:r.size()]
	c.rest = c.rest[padded(len(r)):]
	return r, nil
}

// close returns the buffer for reuse.
func (c *cursor) close() {
	if c.buffer != nil {
		blockBuffers.Put(c.buffer)
		c.buffer = nil
	}
}

// all calls f with every record, in order, until an error. A record is valid until f returns.
func (r *run) all(f func(r record) error) error {
	c := cursor{run: r}
	defer c.close()
	for {
		next, err := c.record()
		if next == nil || err != nil {
			return err
		}
		if err := f(next); err != nil {
			return err
		}
	}
}

// eachRecord calls f with the records of a block.
func eachRecord(block []byte, f func(r record) error) error {
	for len(block) > 0 {
		r := record(block)
		r = r[:r.size()]
		if err := f(r); err != nil {
			return err
		}
		block = block[padded(len(r)):]
	}
	return nil
}
