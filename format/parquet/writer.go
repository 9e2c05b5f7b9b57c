package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"github.com/fanfold/fanfold/format"
)

// limits bound the memory of a file.
type limits struct {
	rows, bytes int // of a row group
	// chunks is the maximum number of columns of row groups: what describes each is in memory until the file ends.
	chunks int
}

// standard are the limits of every file. A row group has as many rows as DuckDB reads at once.
var standard = limits{rows: 122_880, bytes: 32 << 20, chunks: 50_000}

const cellBytes = 8 // what a cell takes beside its value

const (
	pagesBytes   = 4 << 20 // of the pages of all columns that are being filled
	maxPageBytes = 256 << 10
	minPageBytes = 8 << 10
	batchValues  = 16 << 10
	batchBytes   = 256 << 10
)

// pages are buffers of compressed pages.
var pages = parquet.NewChunkBufferPool(8 << 10)

// writer builds the columns of row groups. Its pages end after the same rows whatever the pieces are that it gets.
type writer struct {
	columns []*column
	limits
	file    *parquet.Writer
	into    []*parquet.ColumnWriter
	rest    []byte            // a part of a row
	batch   []byte            // rows that values refer to
	values  [][]parquet.Value // by column, not yet written
	waiting int               // rows of values
	group   struct{ rows, bytes, number int }
}

func newWriter(w io.Writer, columns []*column, l limits) *writer {
	n := max(len(columns), 1)
	options := []parquet.WriterOption{
		schema(columns), parquet.Compression(new(small)), parquet.CreatedBy("fanfold", "1", ""),
		parquet.ColumnPageBuffers(pages), parquet.PageBufferSize(min(max(pagesBytes/n, minPageBytes), maxPageBytes)),
		parquet.DataPageVersion(1), parquet.DataPageStatistics(false),
	}
	for _, c := range columns {
		if !c.bounded {
			options = append(options, parquet.SkipPageBounds(c.label))
		}
	}
	file := parquet.NewWriter(w, options...)
	return &writer{columns: columns, limits: l, file: file, into: file.ColumnWriters(),
		values: make([][]parquet.Value, len(columns))}
}

// Write adds rows that AppendRow returned, in pieces of any size.
func (w *writer) Write(p []byte) (int, error) {
	rows := p
	if len(w.rest) > 0 {
		w.rest = append(w.rest, p...)
		rows = w.rest
	}
	for {
		size, n := binary.Uvarint(rows)
		if n <= 0 || uint64(len(rows)-n) < size {
			break
		}
		if err := w.add(rows[n : n+int(size)]); err != nil {
			return 0, err
		}
		rows = rows[n+int(size):]
	}
	w.rest = append(w.rest[:0], rows...)
	return len(p), nil
}

// add adds the values of a row.
func (w *writer) add(row []byte) error {
	size := len(row) + cellBytes*len(w.columns)
	if w.group.rows > 0 && (w.group.rows == w.limits.rows || w.group.bytes+size > w.limits.bytes) {
		if err := w.endGroup(); err != nil {
			return err
		}
	}
	w.group.rows++
	w.group.bytes += size
	w.batch = append(w.batch, row...) // a larger array leaves the values in the one before
	row = w.batch[len(w.batch)-len(row):]
	for i, c := range w.columns {
		size, n := binary.Uvarint(row)
		if row = row[n:]; size == 0 {
			w.values[i] = append(w.values[i], parquet.NullValue().Level(0, 0, i))
			continue
		}
		w.values[i] = append(w.values[i], c.value(row[:size-1]).Level(0, 1, i))
		row = row[size-1:]
	}
	if w.waiting++; w.waiting*len(w.columns) < batchValues && len(w.batch) < batchBytes {
		return nil
	}
	return w.flush()
}

// flush writes the values of the rows.
func (w *writer) flush() error {
	for i, values := range w.values {
		if len(values) == 0 {
			continue
		}
		if _, err := w.into[i].WriteRowValues(values); err != nil {
			return err
		}
		clear(values)
		w.values[i] = values[:0]
	}
	if w.waiting = 0; cap(w.batch) > 2*batchBytes {
		w.batch = nil // a long row enlarged it
	}
	w.batch = w.batch[:0]
	return nil
}

// endGroup ends a row group.
func (w *writer) endGroup() error {
	if err := w.flush(); err != nil {
		return err
	}
	w.group.number++
	if most := w.mostGroups(); w.group.number == most {
		return fmt.Errorf("%w: a Parquet file of %d columns has at most %d row groups: narrow the parameters, or set "+
			"compress: zip and split", format.ErrTooLarge, len(w.columns), most)
	}
	w.group.rows, w.group.bytes = 0, 0
	return w.file.Flush()
}

// mostGroups returns the maximum number of row groups.
func (w *writer) mostGroups() int {
	return min(max(w.chunks/max(len(w.columns), 1), 1), parquet.MaxRowGroups)
}

// Close writes the last row group, and the types of the columns.
func (w *writer) Close() error {
	if len(w.rest) > 0 {
		return errors.New("the last row is incomplete")
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.file.Close()
}
