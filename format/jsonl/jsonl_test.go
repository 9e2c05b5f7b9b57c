package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/format/formattest"
	"github.com/fanfold/fanfold/report"
)

const null = "\x00" // no text of the suite

// read returns the cells of a file, the keys of its first object first.
func read(file []byte) (rows [][]string, err error) {
	for line := range bytes.Lines(file) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		var keys, row []string
		for at := 0; ; at++ {
			token, err := d.Token()
			if err == io.EOF {
				break
			} else if err != nil {
				return nil, err
			}
			switch token := token.(type) {
			case json.Delim:
				at = -1
			case nil:
				row = append(row, null)
			default:
				if text := fmt.Sprint(token); at%2 == 0 {
					keys = append(keys, text)
				} else {
					row = append(row, text)
				}
			}
		}
		if rows == nil {
			rows = append(rows, keys)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// TestFormat is what every format does.
func TestFormat(t *testing.T) {
	t.Parallel()
	formattest.Run(t, Kind, formattest.Reader{Read: read, Null: null})
}

// line returns the row of a file with one column, of the type datasettest gives the name.
func line(t *testing.T, f report.File, column dataset.Column, cells ...string) string {
	t.Helper()
	var columns []dataset.Column
	row := make([][]byte, len(cells))
	for i, cell := range cells {
		f.Columns = append(f.Columns, report.FileColumn{Label: string(rune('a' + i))})
		columns, row[i] = append(columns, column), []byte(cell)
	}
	var out strings.Builder
	file, err := Kind.Begin(&f, columns, format.Title{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Abort()
	text, err := file.AppendRow(nil, row)
	if err == nil {
		_, err = file.WriteRows(text, []int{len(text)})
	}
	if err == nil {
		_, err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ column, cell, want string }{
		{"integer", `7`, `7`},
		{"integer", `-9007199254740992`, `-9007199254740992`},
		{"integer", `9007199254740993`, `"9007199254740993"`},
		{"integer", `10000000000000000`, `"10000000000000000"`},
		{"integer", `18446744073709551615`, `"18446744073709551615"`},
		{"integer", `"42"`, `42`},
		{"integer", `"+42"`, `"+42"`},
		{"integer", `true`, `true`},
		{"decimal", `"12.50"`, `12.50`},
		{"decimal", `"-0.000"`, `-0.000`},
		{"decimal", `"007"`, `"007"`},
		{"decimal", `"0.1234567890123456"`, `0.1234567890123456`},
		{"decimal", `"0.12345678901234568"`, `0.12345678901234568`}, // the shortest of its double
		{"decimal", `"0.12345678901234567"`, `"0.12345678901234567"`},
		{"decimal", `"1234567890.1234567890"`, `"1234567890.1234567890"`},
		{"decimal", `"123456789012345678.00"`, `"123456789012345678.00"`},
		{"float", `0.30000000000000004`, `0.30000000000000004`},
		{"float", `1e20`, `1e20`},
		{"decimal", `"100.000000000000000000"`, `100.000000000000000000`},
		{"decimal", `"0.000000000000000000001"`, `0.000000000000000000001`},
		{"float", `100000000000000000000`, `100000000000000000000`},
		{"float", `1e400`, `"1e400"`},
		{"float", `4e-324`, `"4e-324"`},
		{"float", `0.30000000000000003`, `"0.30000000000000003"`},
		{"float", `1234.500`, `1234.500`},
		{"text", `"7"`, `"7"`},
		{"text", `7`, `7`},
		{"text", `12345678901234567890`, `"12345678901234567890"`},
		{"text", `false`, `false`},
		{"text", `"a\u0062\/\n\u00e9\u0001"`, `"ab/\né\u0001"`},
		{"text", `"\ud800"`, `"` + "\ufffd" + `"`},
		{"date", `"2024-01-31"`, `"2024-01-31"`},
		{"date", `"0000-00-00"`, `"0000-00-00"`},
		{"time", `"-838:59:59.5"`, `"-838:59:59.5"`},
		{"datetime", `"2024-01-31 10:00:00"`, `"2024-01-31T10:00:00Z"`},
		{"datetime", `"2024-01-31 10:00:00.120"`, `"2024-01-31T10:00:00.120Z"`},
		{"datetime Europe/Berlin", `"2024-07-31 10:00:00"`, `"2024-07-31T10:00:00+02:00"`},
		{"datetime Europe/Berlin", `"1890-01-01 00:53:28"`, `"1890-01-01T00:00:00Z"`}, // 53 minutes 28 seconds
		{"datetime", `"0000-00-00 00:00:00"`, `"0000-00-00 00:00:00"`},
		{"json", `"{\"b\": 1.50, \"a\": [1, 2]}"`, `{"b": 1.50, "a": [1, 2]}`},
		{"json", `"{\n\"a\": 1}"`, `{"a":1}`},
		{"json", `"not JSON"`, `"not JSON"`},
		{"json", `"null"`, `null`},
		{"json", `7`, `7`},
		{"binary", `"AAE="`, `"AAE="`},
		{"integer", `null`, `null`},
	} {
		column := datasettest.Columns("v", test.column)[0]
		if got, want := line(t, report.File{}, column, test.cell), `{"a":`+test.want+"}\n"; got != want {
			t.Errorf("%s %s: %s, want %s", test.column, test.cell, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	text, datetime := datasettest.Columns("v", "text")[0], datasettest.Columns("v", "datetime")[0]
	omit := report.File{Options: &Options{OmitNulls: true}}
	for want, got := range map[string]string{
		`{"b":"x"}` + "\n":          line(t, omit, text, `null`, `"x"`, `null`),
		"{}\n":                      line(t, omit, text, `null`),
		`{"a":null,"b":"x"}` + "\n": line(t, report.File{}, text, `null`, `"x"`),
		`{"a":"2024-01-31T11:00:00+01:00"}` + "\n": line(t, report.File{TimeZone: "Europe/Berlin"}, datetime, `"2024-01-31 10:00:00"`),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// FuzzNumbers: a number keeps its digits in a reader with doubles, and a text is what the source wrote.
func FuzzNumbers(f *testing.F) {
	for _, seed := range []string{"0", "-0", "1.50", "9007199254740993", "0.30000000000000004", "1e21", "1.5e-7", "00", ".5", "1.", "1e", "1e400", "5e-324"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []report.Kind{report.KindInteger, report.KindDecimal, report.KindFloat} {
			if !isExact([]byte(text), kind) {
				continue
			}
			var n json.Number
			if err := json.Unmarshal([]byte(text), &n); err != nil || n.String() != text {
				t.Fatalf("%q is no JSON number: %v", text, err)
			}
			v, err := n.Float64()
			if err != nil || math.IsInf(v, 0) {
				t.Fatalf("%q: %v", text, err)
			}
			want, _ := parseNumber([]byte(text))
			got, _ := parseNumber(strconv.AppendFloat(nil, v, 'e', -1, 64))
			a, b := want.appendDigits(nil), got.appendDigits(nil)
			if diff := cmp.Diff(string(a), string(b)); diff != "" {
				t.Errorf("%q loses digits: %s", text, diff)
			}
		}
	})
}

func BenchmarkRow(b *testing.B) {
	columns := datasettest.Columns("a", "integer", "b", "text", "c", "decimal", "d", "datetime", "e", "float")
	f := &report.File{Columns: make([]report.FileColumn, len(columns))}
	e, err := newEncoder(f, columns)
	if err != nil {
		b.Fatal(err)
	}
	cells := [][]byte{[]byte(`1234567`), []byte(`"a short note"`), []byte(`"12345.60"`), []byte(`"2024-01-31 10:00:00"`), []byte(`0.125`)}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		if dst, err = e.AppendRow(dst[:0], cells); err != nil {
			b.Fatal(err)
		}
	}
}
