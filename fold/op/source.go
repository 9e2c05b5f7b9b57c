package op

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/fanfold/fanfold/dataset"
)

// Dataset is the result of one listener. It is safe for concurrent use.
type Dataset interface {
	// Columns returns the columns of every chunk.
	Columns() []dataset.Column
	// Rows returns the number of rows in all chunks. It may be an estimate.
	Rows() int64
	// Chunks returns the number of chunks.
	Chunks() int64
	// Chunk reads chunk n, counted from 0, with only these columns, in this order. The chunk
	// stays valid.
	Chunk(n int64, columns []int) (*dataset.Chunk, error)
}

// source is rows that can be read again and again, in blocks.
type source interface {
	// size returns the number of rows, which may be an estimate, and of blocks.
	size() (rows, blocks int64)
	// read returns a reader of the blocks from one on. Their rows have at least these columns.
	read(columns []int, from int64) blocks
}

// blocks reads blocks in order.
type blocks interface {
	// next returns the next block, or nil after the last one.
	next() (block, error)
	close()
}

// block is some rows of a source. It is safe for concurrent use.
type block interface {
	rows() int
	// fillKeys sets at least the cells of a row that its keys and the filter need.
	fillKeys(into Row, row int)
	// fill sets the cells of a row that joined rows have.
	fill(into Row, row int)
	// appendTo encodes those cells, as appendCells does.
	appendTo(dst []byte, row int) []byte
}

// each yields the blocks of a source, from one on. It stops after the first error, which it yields.
func each(s source, columns []int, from int64) iter.Seq2[block, error] {
	return func(yield func(block, error) bool) {
		r := s.read(columns, from)
		defer r.close()
		for {
			b, err := r.next()
			if b == nil && err == nil || !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// recorded is the source of rows in records.
type recorded struct {
	columns []int // of a record
	rows    int64
	blocks  int64
	load    func(n int64) ([]byte, error)
}

func recordedRun(r *run, columns []int) *recorded {
	return &recorded{columns, int64(r.rows), r.count(), r.block}
}

func recordedArena(a *arena, columns []int) *recorded {
	block := func(n int64) ([]byte, error) { return a.blocks[n], nil }
	return &recorded{columns, int64(a.rows), int64(len(a.blocks)), block}
}

func (s *recorded) size() (rows, blocks int64) { return s.rows, s.blocks }

func (s *recorded) read(_ []int, from int64) blocks { return &recordReader{s, from} }

type recordReader struct {
	*recorded
	at int64
}

func (r *recordReader) close() {}

func (r *recordReader) next() (block, error) {
	if r.at == r.blocks {
		return nil, nil
	}
	r.at++
	bytes, err := r.load(r.at - 1)
	return newRecordBlock(bytes, r.columns), err
}

// recordBlock is a block of rows in records, without those that an earlier row matches.
type recordBlock struct {
	records []record
	columns []int
}

func newRecordBlock(bytes []byte, columns []int) *recordBlock {
	b := &recordBlock{columns: columns}
	_ = eachRecord(bytes, func(r record) error {
		if !r.has(flagMatched) {
			b.records = append(b.records, r)
		}
		return nil
	})
	return b
}

func (b *recordBlock) rows() int                  { return len(b.records) }
func (b *recordBlock) fillKeys(into Row, row int) { b.fill(into, row) }
func (b *recordBlock) fill(into Row, row int)     { decodeCells(into, b.columns, b.records[row].row()) }
func (b *recordBlock) appendTo(dst []byte, row int) []byte {
	return append(dst, b.records[row].row()...)
}

// chunkBlock is a block of the rows of a chunk.
type chunkBlock struct {
	*dataset.Chunk
	keys, kept []place // the columns for the keys, and those that joined rows have
}

// place is a column of a dataset.
type place struct {
	from int // its number in a chunk
	to   int // its number in the dataset
}

// placesOf finds columns among those of a chunk.
func placesOf(columns, read []int) []place {
	all := make([]place, 0, len(columns))
	for _, to := range columns {
		if from := slices.Index(read, to); from >= 0 {
			all = append(all, place{from, to})
		}
	}
	return all
}

func (c *chunkBlock) rows() int { return c.Rows() }

func (c *chunkBlock) fillKeys(into Row, row int) {
	for _, p := range c.keys {
		into[p.to] = c.Cell(p.from, row)
	}
}

func (c *chunkBlock) fill(into Row, row int) {
	for _, p := range c.kept {
		into[p.to] = c.Cell(p.from, row)
	}
}

func (c *chunkBlock) appendTo(dst []byte, row int) []byte {
	for _, p := range c.kept {
		dst = appendCell(dst, c.Cell(p.from, row))
	}
	return dst
}

// size implements source: the rows of a dataset.
func (t *Table) size() (rows, blocks int64) { return t.Set.Rows(), t.Set.Chunks() }

// maxPrefetch is the number of chunks that a reader prefetches in parallel: reading and decoding a
// chunk costs about as much as joining its rows.
const maxPrefetch = 3

// reader reads the chunks of a dataset in order. It reads the first two on demand, because most
// datasets have one; from then on goroutines prefetch.
type reader struct {
	of         *Table
	numbers    []int // of the columns to read
	keys, kept []place
	at         int64 // chunk
	direct     int   // chunks that were read on demand
	prefetched chan chan read
	stop       chan struct{}
	running    sync.WaitGroup
}

// read is a chunk, or the error of reading it.
type read struct {
	chunk block
	err   error
}

// read implements source. The caller must close the reader.
func (t *Table) read(columns []int, from int64) blocks {
	return &reader{
		of: t, numbers: columns, keys: placesOf(t.KeyColumns, columns), kept: placesOf(t.Kept, columns), at: from,
	}
}

// next implements blocks.
func (r *reader) next() (block, error) {
	if r.at == r.of.Set.Chunks() {
		return nil, nil
	}
	n := r.at
	r.at++
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
	for n := from; n < r.of.Set.Chunks(); n++ {
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

func (r *reader) readChunk(n int64) (block, error) {
	c, err := r.of.Set.Chunk(n, r.numbers)
	if err == nil && (c == nil || !r.read(c.Columns())) {
		err = errors.New("a chunk has other columns than its dataset")
	}
	if err != nil {
		return nil, r.of.failed(err)
	}
	return &chunkBlock{c, r.keys, r.kept}, nil
}

// read tells whether these are the columns to read.
func (r *reader) read(columns []dataset.Column) bool {
	all := r.of.Set.Columns()
	return slices.EqualFunc(columns, r.numbers, func(c dataset.Column, number int) bool { return c == all[number] })
}

// close stops reading and waits until all reads have ended.
func (r *reader) close() {
	if r.stop != nil {
		close(r.stop)
		r.running.Wait()
	}
}

// failed adds the listener to an error of its dataset.
func (t *Table) failed(err error) error {
	return fmt.Errorf("dataset of listener %q: %w", t.Name, err)
}
