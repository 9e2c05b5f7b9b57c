package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/format/formattest"
	"github.com/fanfold/fanfold/report"
)

const null = "\x00" // no text of the suite

// read returns the cells of a file, the names of its columns first.
func read(file []byte) (rows [][]string, err error) {
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range f.Schema().Fields() {
		names = append(names, c.Name())
	}
	rows = append(rows, names)
	for _, group := range f.RowGroups() {
		reader := group.Rows()
		defer reader.Close()
		for some := make([]parquet.Row, 10); ; {
			n, err := reader.ReadRows(some)
			for _, row := range some[:n] {
				var texts []string
				for _, v := range row {
					if texts = append(texts, v.String()); v.IsNull() {
						texts[len(texts)-1] = null
					}
				}
				rows = append(rows, texts)
			}
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// TestFormat is what every format does.
func TestFormat(t *testing.T) {
	t.Parallel()
	formattest.Run(t, Kind, formattest.Reader{Read: read, Null: null})
}

// begin begins a file with a label for every column: its name.
func begin(t testing.TB, columns []dataset.Column, zone string, w io.Writer) *format.File {
	t.Helper()
	f := &report.File{TimeZone: zone}
	for _, c := range columns {
		f.Columns = append(f.Columns, report.FileColumn{Label: c.Name})
	}
	file, err := Kind.Begin(f, columns, format.Title{}, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(file.Abort)
	return file
}

// one returns the file of one column with these cells.
func one(t testing.TB, column dataset.Column, zone string, cells ...string) ([]byte, error) {
	t.Helper()
	var out bytes.Buffer
	file := begin(t, []dataset.Column{column}, zone, &out)
	var rows []byte
	var ends []int
	for _, cell := range cells {
		var err error
		if rows, err = file.AppendRow(rows, [][]byte{[]byte(cell)}); err != nil {
			return nil, err
		}
		ends = append(ends, len(rows))
	}
	if _, err := file.WriteRows(rows, ends); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), nil
}

// typed returns a column of a kind, with a zone after a space.
func typed(kind string, more dataset.Column) dataset.Column {
	c := datasettest.Columns("v", kind)[0]
	c.Digits, c.Scale, c.Bits, c.Unsigned = more.Digits, more.Scale, more.Bits, more.Unsigned
	return c
}

func TestTypes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		column     dataset.Column
		zone       string
		is         string // the type
		cell, want string // want is the physical value, as the library shows it
	}{
		{typed("integer", dataset.Column{}), "", "INT(64,true)", `-9223372036854775808`, "-9223372036854775808"},
		{typed("integer", dataset.Column{}), "", "INT(64,true)", `"+7"`, "7"},
		{typed("integer", dataset.Column{}), "", "INT(64,true)", `true`, "1"},
		{typed("integer", dataset.Column{Unsigned: true}), "", "INT(64,false)", `18446744073709551615`, "-1"},
		{typed("decimal", dataset.Column{Digits: 9, Scale: 2}), "", "DECIMAL(9,2)", `"-12.5"`, "-1250"},
		{typed("decimal", dataset.Column{Digits: 12, Scale: 2}), "", "DECIMAL(12,2)", `"1234567890.12"`, "123456789012"},
		{typed("decimal", dataset.Column{Digits: 38, Scale: 1}), "", "DECIMAL(38,1)", `"-0.1"`, strings.Repeat("\xff", 16)},
		{typed("decimal", dataset.Column{Digits: 65, Scale: 0}), "", "DECIMAL(38,0)", `"258"`, strings.Repeat("\x00", 14) + "\x01\x02"},
		{typed("decimal", dataset.Column{}), "", "STRING", `"12.50"`, "12.50"},
		{typed("float", dataset.Column{}), "", "DOUBLE", `0.1`, "0.1"},
		{typed("float", dataset.Column{Bits: 32}), "", "FLOAT", `0.1`, "0.1"},
		{typed("date", dataset.Column{}), "", "DATE", `"1969-12-31"`, "-1"},
		{typed("datetime", dataset.Column{}), "", "TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)", `"1970-01-01 00:00:01.5"`, "1500000"},
		{typed("datetime Europe/Berlin", dataset.Column{}), "", "TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)", `"1970-01-01 01:00:01"`, "1000000"},
		{typed("datetime", dataset.Column{}), "Europe/Berlin", "TIMESTAMP(isAdjustedToUTC=false,unit=MICROS)", `"1970-01-01 00:00:01"`, "3601000000"},
		{typed("time", dataset.Column{}), "", "TIME(isAdjustedToUTC=false,unit=MICROS)", `"23:59:59.000001"`, "86399000001"},
		{typed("text", dataset.Column{}), "", "STRING", `"a\u0062"`, "ab"},
		{typed("text", dataset.Column{}), "", "STRING", `7`, "7"},
		{typed("", dataset.Column{}), "", "STRING", `"x"`, "x"},
		{typed("json", dataset.Column{}), "", "JSON", `"{\"a\":1}"`, `{"a":1}`},
		{typed("binary", dataset.Column{}), "", "BYTE_ARRAY", `"AAE="`, "\x00\x01"},
	} {
		file, err := one(t, test.column, test.zone, test.cell, `null`)
		if err != nil {
			t.Errorf("%s %s: %v", test.is, test.cell, err)
			continue
		}
		f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		column := f.Schema().Fields()[0]
		if is := fmt.Sprint(column.Type()); is != test.is || !column.Optional() {
			t.Errorf("%s %s: the type is %s", test.is, test.cell, is)
		}
		if got, err := read(file); err != nil || !cmp.Equal(got[1:], [][]string{{test.want}, {null}}) {
			t.Errorf("%s %s: %q, %v", test.is, test.cell, got, err)
		}
	}
}

// TestRefusedValues: a value that the type cannot hold is an error that names column, type, value, row and remedy.
func TestRefusedValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		column dataset.Column
		cell   string
		want   []string
	}{
		{typed("integer", dataset.Column{}), `9223372036854775808`, []string{"INT64", "9223372036854775807", "CAST"}},
		{typed("integer", dataset.Column{Unsigned: true}), `-1`, []string{"UINT64", "18446744073709551615", "CAST"}},
		{typed("integer", dataset.Column{}), `1.5`, []string{"INT64", "no integer"}},
		{typed("decimal", dataset.Column{Digits: 5, Scale: 2}), `"1000.00"`, []string{"DECIMAL(5,2)", "5 digits", "CAST"}},
		{typed("decimal", dataset.Column{Digits: 5, Scale: 2}), `"0.001"`, []string{"DECIMAL(5,2)", "ROUND"}},
		{typed("decimal", dataset.Column{Digits: 65}), `"` + strings.Repeat("9", 39) + `"`, []string{"DECIMAL(38,0)"}},
		{typed("decimal", dataset.Column{Digits: 5}), `"."`, []string{"no number"}},
		{typed("decimal", dataset.Column{Digits: 5}), `"1e3"`, []string{"no number"}},
		{typed("float", dataset.Column{}), `1e400`, []string{"64 bits"}},
		{typed("float", dataset.Column{Bits: 32}), `1e39`, []string{"32 bits"}},
		{typed("float", dataset.Column{}), `"NaN"`, []string{"no number"}},
		{typed("date", dataset.Column{}), `"0000-00-00"`, []string{"DATE", "NULLIF"}},
		{typed("date", dataset.Column{}), `"2023-02-29"`, []string{"calendar"}},
		{typed("datetime", dataset.Column{}), `"0000-00-00 00:00:00"`, []string{"TIMESTAMP", "NULLIF"}},
		{typed("datetime", dataset.Column{}), `"2024-01-01 00:00:00.1234567"`, []string{"6 decimals"}},
		{typed("time", dataset.Column{}), `"24:00:00"`, []string{"TIME", "23:59:59.999999", "CAST"}},
		{typed("time", dataset.Column{}), `"-01:00:00"`, []string{"time of a day"}},
		{typed("time", dataset.Column{}), `"838:59:59"`, []string{"time of a day"}},
		{typed("json", dataset.Column{}), `"{"`, []string{"JSON", "CAST"}},
		{typed("binary", dataset.Column{}), `"?"`, []string{"base64"}},
	} {
		_, err := one(t, test.column, "", test.cell)
		if !errors.Is(err, ErrValue) {
			t.Errorf("%s %s: %v, want ErrValue", test.column.Kind, test.cell, err)
			continue
		}
		for _, want := range append(test.want, `column "v"`, report.Shorten(test.cell), "(row: v ") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %s", test.column.Kind, test.cell, err, want)
			}
		}
	}
}

// bounded is the format with other limits.
func bounded(l limits) format.Kind {
	k := Kind
	k.New = func(f *report.File, columns []dataset.Column) (format.Encoder, error) {
		e, err := newEncoder(f, columns)
		e.(*encoder).limits = l
		return e, err
	}
	return k
}

// TestRowGroups: a row group ends before the row that exceeds its rows or bytes, wherever the pieces of a file end.
func TestRowGroups(t *testing.T) {
	t.Parallel()
	columns, cell := wide(5)
	f := &report.File{Columns: make([]report.FileColumn, len(columns))}
	for i, c := range columns {
		f.Columns[i].Label = c.Name
	}
	for _, test := range []struct {
		limits
		rows  int
		sizes []int // of the pieces
		want  []int64
	}{
		{limits{rows: 40, bytes: 1 << 20, chunks: 15}, 100, []int{1, 7, 1000}, []int64{40, 40, 20}},
		{limits{rows: 1000, bytes: 10, chunks: 500}, 100, []int{1, 7, 1000}, slices.Repeat([]int64{1}, 100)},
		{limits{rows: 40, bytes: 1 << 20, chunks: 14}, 100, []int{1, 7, 1000}, nil},
		{standard, 60_000, []int{3000, 70_000, 1 << 30}, []int64{60_000}}, // of several pages
	} {
		var first []byte
		for _, size := range test.sizes {
			var out bytes.Buffer
			file, err := bounded(test.limits).Begin(f, columns, format.Title{}, &out)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(file.Abort)
			var all []byte
			for row := range test.rows {
				cells := make([][]byte, len(columns))
				for i := range cells {
					cells[i] = cell(row, i)
				}
				if all, err = file.AppendRow(all, cells); err != nil {
					t.Fatal(err)
				}
			}
			for piece := range slices.Chunk(all, size) {
				if _, err = file.WriteRows(slices.Clone(piece), nil); err != nil {
					break
				}
			}
			if err == nil {
				_, err = file.Close()
			}
			if test.want == nil {
				if !errors.Is(err, format.ErrTooLarge) || !strings.Contains(err.Error(), "5 columns has at most 2 row groups") ||
					!strings.Contains(err.Error(), "split") {
					t.Errorf("%+v: %v, want ErrTooLarge", test.limits, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = out.Bytes()
			}
			if !bytes.Equal(first, out.Bytes()) {
				t.Errorf("%+v: pieces of %d bytes change the file", test.limits, size)
			}
		}
		if test.want == nil {
			continue
		}
		read, err := parquet.OpenFile(bytes.NewReader(first), int64(len(first)))
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, g := range read.RowGroups() {
			got = append(got, g.NumRows())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%+v: %s", test.limits, diff)
		}
	}
}

// TestBounds: the bounds by which readers leave row groups and pages out are not tighter than the values.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		column      dataset.Column
		cells       []string
		least, most string // of the row group, as the library shows them; empty: none
	}{
		{typed("integer", dataset.Column{}), []string{`5`, `-7`, `null`, `3`}, "-7", "5"},
		{typed("integer", dataset.Column{Unsigned: true}), []string{`18446744073709551615`, `7`}, "7", "-1"},
		{typed("decimal", dataset.Column{Digits: 9, Scale: 2}), []string{`"-1.5"`, `"2"`}, "-150", "200"},
		{typed("decimal", dataset.Column{Digits: 38, Scale: 2}), []string{`"-1.5"`, `"2"`}, "", ""},
		{typed("text", dataset.Column{}), []string{`"b"`, `"` + strings.Repeat("a", 100_000) + `"`, `""`}, "", ""},
		{typed("binary", dataset.Column{}), []string{`"/////w=="`, `"AAE="`}, "", ""},
	} {
		file, err := one(t, test.column, "", test.cells...)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		chunk := f.RowGroups()[0].ColumnChunks()[0].(*parquet.FileColumnChunk)
		least, most, ok := chunk.Bounds()
		if ok != (test.least != "") || ok && (least.String() != test.least || most.String() != test.most) {
			t.Errorf("%s %.20q: bounds %s and %s, %v", test.column.Kind, test.cells, least, most, ok)
		}
		index, err := chunk.ColumnIndex()
		if err != nil || index.NumPages() != 1 || index.NullPage(0) {
			t.Fatalf("%s: %v", test.column.Kind, err)
		}
		rows, err := read(file)
		if err != nil || test.least != "" {
			continue
		}
		signed := test.column.Kind == report.KindDecimal // the first byte has the sign
		for _, row := range rows[1:] {
			low, high, v := index.MinValue(0).Bytes(), index.MaxValue(0).Bytes(), []byte(row[0])
			if signed {
				low[0], high[0], v[0] = low[0]^0x80, high[0]^0x80, v[0]^0x80
			}
			if bytes.Compare(low, v) > 0 || bytes.Compare(v, high) > 0 {
				t.Errorf("%s: %.20q is not within %.20q and %.20q", test.column.Kind, v, low, high)
			}
			if signed {
				low[0], high[0] = low[0]^0x80, high[0]^0x80
			}
		}
	}
}

// TestColumnsOfAFile: more columns than the format has are an error, and no panic.
func TestColumnsOfAFile(t *testing.T) {
	t.Parallel()
	columns, _ := wide(parquet.MaxColumnIndex + 1)
	f := &report.File{Columns: make([]report.FileColumn, len(columns))}
	if _, err := Kind.Begin(f, columns, format.Title{}, io.Discard); !errors.Is(err, format.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
}
