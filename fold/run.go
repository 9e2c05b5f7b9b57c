package fold

import (
	"fmt"
	"io"
	"sync"
)

// Scratch is a temporary file of one fold.
type Scratch interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// scratch is a file that is created with the first write.
type scratch struct {
	create func() (Scratch, error)
	file   Scratch
	end    int64
}

// write appends bytes and returns their extent.
func (s *scratch) write(b []byte) (extent, error) {
	if s.file == nil {
		file, err := s.create()
		if err != nil {
			return extent{}, fmt.Errorf("create a file for rows beyond the memory budget: %w", err)
		}
		s.file = file
	}
	e := extent{s.end, len(b)}
	s.end += int64(len(b))
	if _, err := s.file.WriteAt(b, e.at); err != nil {
		return e, fmt.Errorf("write rows beyond the memory budget: %w", err)
	}
	return e, nil
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

// extent is the position of a block in the scratch file.
type extent struct {
	at    int64
	bytes int
}

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
	e, err := r.scratch.write(*r.tail)
	if err != nil {
		return err
	}
	r.blocks = append(r.blocks, e)
	if len(*r.tail) <= blockBytes {
		blockBuffers.Put(r.tail)
	}
	r.tail = nil
	return nil
}

// free returns the tail for reuse. The run must not be used afterwards.
func (r *run) free() {
	if r.tail != nil {
		blockBuffers.Put(r.tail)
		r.tail = nil
	}
}

// load reads all records into memory, and frees the run. Errors name the listener of in.
func (r *run) load(in *input) (*arena, error) {
	a := &arena{rows: r.rows}
	for _, e := range r.blocks {
		block := make([]byte, e.bytes)
		if err := r.scratch.read(e, block); err != nil {
			return nil, err
		}
		if err := a.adopt(block); err != nil {
			return nil, in.failed(err)
		}
	}
	if r.tail != nil {
		if err := a.adopt(append(make([]byte, 0, len(*r.tail)), *r.tail...)); err != nil {
			return nil, in.failed(err)
		}
	}
	r.free()
	return a, nil
}

// all calls f with every record, in order, until an error. A record is valid until f returns.
func (r *run) all(f func(r record) error) error {
	buffer := blockBuffers.Get().(*[]byte)
	defer blockBuffers.Put(buffer)
	for _, e := range r.blocks {
		block := *buffer
		if e.bytes > cap(block) {
			block = make([]byte, e.bytes)
		}
		block = block[:e.bytes]
		if err := r.scratch.read(e, block); err != nil {
			return err
		}
		if err := eachRecord(block, f); err != nil {
			return err
		}
	}
	if r.tail == nil {
		return nil
	}
	return eachRecord(*r.tail, f)
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
