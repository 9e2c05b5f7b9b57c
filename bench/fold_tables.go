package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// foldTable is a table of a fold: rows that are made from their numbers.
type foldTable struct {
	rows    int
	columns []foldColumn
}

// foldColumn is a column, and how it appends the value of a row.
type foldColumn struct {
	dataset.Column
	value func(dst []byte, row int) []byte
}

// duckTypes are the types of columns in DuckDB.
var duckTypes = map[report.Kind]string{
	report.KindInteger: "BIGINT", report.KindDecimal: "DECIMAL(12,2)", report.KindText: "VARCHAR",
	report.KindDatetime: "TIMESTAMP",
}

// foldRows is prime: each multiple of a number, modulo it, is another one.
const foldRows = 1_000_003

var foldTables = map[string]*foldTable{
	"a": {foldRows, []foldColumn{
		integers("id", 1, foldRows), integers("g", 31, 10_000), integers("h", 7919, 500_000), decimals("x"), texts("name", 65_537),
		datetimes("made"),
	}},
	"b": {foldRows, []foldColumn{
		integers("id", 1, foldRows), integers("a_id", 104_729, foldRows), decimals("x"), texts("note", 17),
	}},
	"o": {200_000, []foldColumn{
		integers("id", 1, foldRows), integers("a_id", 104_729, foldRows), integers("b_id", 7919, foldRows), decimals("x"),
	}},
}

// integers are the numbers of the rows, times a factor, modulo another one.
func integers(name string, factor, modulo int) foldColumn {
	return foldColumn{dataset.Column{Name: name, Kind: report.KindInteger}, func(dst []byte, row int) []byte {
		return strconv.AppendInt(dst, int64(row*factor%modulo), 10)
	}}
}

func decimals(name string) foldColumn {
	return foldColumn{dataset.Column{Name: name, Kind: report.KindDecimal, Digits: 12, Scale: 2},
		func(dst []byte, row int) []byte {
			dst = append(strconv.AppendInt(dst, int64(row*7919%100_000), 10), '.')
			return append(dst, '0'+byte(row/10%10), '0'+byte(row%10))
		}}
}

func texts(name string, factor int) foldColumn {
	return foldColumn{dataset.Column{Name: name, Kind: report.KindText}, func(dst []byte, row int) []byte {
		return strconv.AppendInt(append(append(dst, name...), ' '), int64(row*factor%foldRows), 10)
	}}
}

func datetimes(name string) foldColumn {
	first := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	return foldColumn{dataset.Column{Name: name, Kind: report.KindDatetime}, func(dst []byte, row int) []byte {
		return first.Add(time.Duration(row)*time.Minute).AppendFormat(dst, time.DateTime)
	}}
}

// writeCSV writes the rows for DuckDB.
func (t *foldTable) writeCSV(file string) (err error) {
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	out, line := bufio.NewWriter(to), []byte(nil)
	for row := range t.rows {
		line = line[:0]
		for _, c := range t.columns {
			line = append(c.value(line, row), ',')
		}
		line[len(line)-1] = '\n'
		_, _ = out.Write(line)
	}
	return out.Flush()
}

// stored is a dataset whose chunks are outside Go's heap, as those in Redis are.
type stored struct {
	columns []dataset.Column
	rows    int64
	chunks  [][][]byte // by column
}

// dataset makes the chunks of the rows, as a listener does.
func (t *foldTable) dataset() (*stored, error) {
	s := &stored{rows: int64(t.rows)}
	for _, c := range t.columns {
		s.columns = append(s.columns, c.Column)
	}
	b, value := dataset.NewBuilder(s.columns), []byte(nil)
	for row := range t.rows {
		for i, c := range t.columns {
			value = c.value(value[:0], row)
			if c.Kind == report.KindInteger {
				n, _ := strconv.ParseInt(string(value), 10, 64)
				b.Int(i, n)
			} else {
				b.Text(i, value)
			}
		}
		if err := b.EndRow(); err != nil {
			return nil, err
		}
		if b.Full() || row == t.rows-1 {
			if err := s.add(b.Fields()); err != nil {
				return nil, err
			}
			b.Reset()
		}
	}
	return s, nil
}

// add copies a chunk.
func (s *stored) add(fields [][]byte) error {
	all := bytes.Join(fields, nil)
	memory, err := unix.Mmap(-1, 0, len(all), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	rest, chunk := memory[:copy(memory, all)], [][]byte(nil)
	for _, field := range fields {
		chunk, rest = append(chunk, rest[:len(field)]), rest[len(field):]
	}
	s.chunks = append(s.chunks, chunk)
	return nil
}

func (s *stored) Columns() []dataset.Column { return s.columns }
func (s *stored) Rows() int64               { return s.rows }
func (s *stored) Chunks() int64             { return int64(len(s.chunks)) }

// Chunk decodes a copy of the fields, as the client of Redis makes one.
func (s *stored) Chunk(n int64, columns []int) (*dataset.Chunk, error) {
	of, fields := make([]dataset.Column, len(columns)), make([][]byte, len(columns))
	for i, c := range columns {
		of[i], fields[i] = s.columns[c], bytes.Clone(s.chunks[n][c])
	}
	return dataset.DecodeChunk(of, fields)
}
