package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/fanfold/fanfold/format"
)

// A row group ends after so many rows or bytes: the memory of a file is a few times the bytes, and some
// kilobytes for every column. Rows of a group are a multiple of what DuckDB reads at once.
const (
	groupRows  = 122_880
	groupBytes = 16 << 20
	cellBytes  = 8 // what a cell takes beside its value
)

// maxChunks is the maximum number of columns of row groups in a file: the memory has a kilobyte of each until the
// file ends.
const maxChunks = 100_000

const (
	pagesBytes      = 8 << 20 // of the pages of all columns that are being filled
	maxPageBytes    = 256 << 10
	minPageBytes    = 8 << 10
	dictionaryBytes = 4 << 20 // of those of all columns
	batchValues     = 16 << 10
	batchBytes      = 256 << 10
)

// The settings of the compression must not change: a file that is written again must have the same bytes.
var compression = &zstd.Codec{Level: zstd.SpeedFastest}

// pages are buffers of compressed pages.
var pages = parquet.NewChunkBufferPool(8 << 10)

// writer builds the columns of row groups. Its pages end after the same rows whatever the pieces are that it gets.
type writer struct {
	columns []*column
	file    *parquet.Writer
	into    []*parquet.ColumnWriter
	rest    []byte            // a part of a row
	batch   []byte            // rows that values refer to
	values  [][]parquet.Value // by column, not yet written
	rows    int               // of values
	group   struct{ rows, bytes, number int }
}

func newWriter(w io.Writer, columns []*column) *writer {
	n := max(len(columns), 1)
	options := []parquet.WriterOption{
		schema(columns), parquet.Compression(compression), parquet.CreatedBy("fanfold", "1", ""),
		parquet.ColumnPageBuffers(pages), parquet.PageBufferSize(min(max(pagesBytes/n, minPageBytes), maxPageBytes)),
		parquet.DictionaryMaxBytes(int64(min(max(dictionaryBytes/n, minPageBytes), maxPageBytes))),
		parquet.DataPageVersion(1), parquet.DataPageStatistics(false),
	}
	for _, c := range columns {
		if !c.bounded {
			options = append(options, parquet.SkipPageBounds(c.label))
		}
	}
	file := parquet.NewWriter(w, options...)
	return &writer{columns: columns, file: file, into: file.ColumnWriters(), values: make([][]parquet.Value, len(columns))}
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
	if w.group.rows > 0 && (w.group.rows == groupRows || w.group.bytes+size > groupBytes) {
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
	if w.rows++; w.rows*len(w.columns) < batchValues && len(w.batch) < batchBytes {
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
	if w.rows = 0; cap(w.batch) > 2*batchBytes {
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
	if w.group.number*len(w.columns) > maxChunks || w.group.number >= parquet.MaxRowGroups {
		return fmt.Errorf("%w: a Parquet file has at most %d columns of row groups, and this one would have more: narrow "+
			"the parameters, or set compress: zip and split", format.ErrTooLarge, maxChunks)
	}
	w.group.rows, w.group.bytes = 0, 0
	return w.file.Flush()
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
