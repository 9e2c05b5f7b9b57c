package op

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Scratch is a temporary file.
type Scratch interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Memory is the budget of the operators of a query, all of which are used by one goroutine.
type Memory struct {
	left   int64
	create func() (Scratch, error)
	file   Scratch
	end    int64
	spills int64 // number of runs that were written
}

// NewMemory returns a budget in bytes; 0: no limit. scratch creates a file, at most once, which Close closes.
func NewMemory(budget int64, scratch func() (Scratch, error)) *Memory {
	if budget == 0 {
		budget = math.MaxInt64
	}
	return &Memory{left: budget, create: scratch}
}

// Spills returns how often rows have exceeded the budget.
func (m *Memory) Spills() int64 { return m.spills }

// Close removes the scratch file.
func (m *Memory) Close() {
	if m.file != nil {
		_ = m.file.Close()
	}
}

// minBytes is what an operator may hold even if others have used up the budget.
const minBytes = 256 << 10

// take reserves bytes, of which an operator holds so many already. It returns false if the budget is used up.
func (m *Memory) take(bytes, held int64) bool {
	if bytes > m.left && held+bytes > minBytes {
		return false
	}
	m.left -= bytes
	return true
}

// give returns bytes.
func (m *Memory) give(bytes int64) { m.left += bytes }

// blockBytes is the size of the reads and writes of a run.
const blockBytes = 64 << 10

// run is a sequence of records in the scratch file.
type run struct {
	m       *Memory
	blocks  []extent
	tail    []byte
	records int64
}

// extent is the place of a block.
type extent struct {
	at    int64
	bytes int
}

func (m *Memory) newRun() *run {
	m.spills++
	return &run{m: m}
}

// add appends a record.
func (r *run) add(rec record) error {
	r.tail = appendRecord(r.tail, rec)
	r.records++
	if len(r.tail) < blockBytes {
		return nil
	}
	return r.flush()
}

// flush writes what is buffered.
func (r *run) flush() error {
	if len(r.tail) == 0 {
		return nil
	}
	m := r.m
	if m.file == nil {
		if m.create == nil {
			return errors.New("the rows exceed the memory budget, and there is no scratch file")
		}
		file, err := m.create()
		if err != nil {
			return fmt.Errorf("create a file for rows beyond the memory budget: %w", err)
		}
		m.file = file
	}
	if _, err := m.file.WriteAt(r.tail, m.end); err != nil {
		return fmt.Errorf("write rows beyond the memory budget: %w", err)
	}
	r.blocks = append(r.blocks, extent{m.end, len(r.tail)})
	m.end += int64(len(r.tail))
	r.tail = r.tail[:0]
	return nil
}

// finish writes the rest and frees the buffer.
func (r *run) finish() error {
	err := r.flush()
	r.tail = nil
	return err
}

// reader reads the records of a run that is finished.
type reader struct {
	run   *run
	next  int // block
	block []byte
	rest  []byte
}

func (r *run) read() *reader { return &reader{run: r} }

// record returns the next record, which is valid until the next call; false after the last one.
func (rd *reader) record() (rec record, ok bool, err error) {
	if len(rd.rest) == 0 {
		if rd.next == len(rd.run.blocks) {
			return record{}, false, nil
		}
		e := rd.run.blocks[rd.next]
		rd.next++
		if cap(rd.block) < e.bytes {
			rd.block = make([]byte, e.bytes)
		}
		rd.rest = rd.block[:e.bytes]
		if _, err := rd.run.m.file.ReadAt(rd.rest, e.at); err != nil {
			return record{}, false, fmt.Errorf("read rows beyond the memory budget: %w", err)
		}
	}
	rec, rd.rest = nextRecord(rd.rest)
	return rec, true, nil
}
