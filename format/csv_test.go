package format

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

func TestCSVLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		cells []string
		want  string
	}{
		{"plain", []string{`1`, `"a"`, `true`, `-1e-7`}, "1,a,true,-1e-7\r\n"},
		{"comma", []string{`"a,b"`, `1`}, "\"a,b\",1\r\n"},
		{"quote", []string{`"a\"b"`, `1`}, "\"a\"\"b\",1\r\n"},
		{"quotes only", []string{`"\"\""`, `1`}, "\"\"\"\"\"\",1\r\n"},
		{"line breaks are kept", []string{`"a\nb"`, `"a\r\nb"`, `"a\rb"`}, "\"a\nb\",\"a\r\nb\",\"a\rb\"\r\n"},
		{"no quotes without need", []string{`" a"`, `"\\."`, `"a\tb"`, `"=1+1"`, `"'"`}, " a,\\.,a\tb,=1+1,'\r\n"},
		{"unicode", []string{`"é\u20ac\ud83d\ude00"`, `1`}, "é€😀,1\r\n"},
		{"escaped comma", []string{`"a\u002cb"`, `1`}, "\"a,b\",1\r\n"},
		{"empty cells", []string{`null`, `""`}, ",\r\n"},
		{"single null", []string{`null`}, "\"\"\r\n"},
		{"single empty text", []string{`""`}, "\"\"\r\n"},
		{"single cell", []string{`0`}, "0\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := string(csvLineOf([]byte("before\r\n"), test.cells...)); got != "before\r\n"+test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// csvLineOf appends a line of these cells, each the JSON of a value.
func csvLineOf(dst []byte, cells ...string) []byte {
	start, s := len(dst), newStyle(&CSVOptions{})
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst, _ = s.appendCell(dst, []byte(cell), new(s.column(report.KindText, 0, nil)))
	}
	return s.endLine(dst, start)
}

func BenchmarkCSVCell(b *testing.B) {
	for name, cell := range map[string]string{"number": `1234567`, "text": `"2024-02-29 12:34:56"`, "quotes": `"a \"note\", short"`} {
		b.Run(name, func(b *testing.B) {
			dst, c, s := make([]byte, 0, 64), []byte(cell), newStyle(&CSVOptions{})
			of := s.column(report.KindText, 0, nil)
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = s.appendCell(dst[:0], c, &of)
			}
		})
	}
}

// FuzzCSVCell takes a text through Builder, DecodeChunk and the CSV to a reader.
func FuzzCSVCell(f *testing.F) {
	for _, seed := range []string{"", "a", ",", `"`, `""`, "\n", "\r", "\r\n", "\r\r\n", "a\nb", " ", "\\.", "\u2028", "😀", "\x00", "\xff", "\ufeff"} {
		f.Add([]byte(seed), []byte("x"))
		f.Add([]byte("x"), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		columns := datasettest.Columns("a", "text", "b", "text")
		builder := dataset.NewBuilder(columns)
		builder.Text(0, a)
		builder.Text(1, b)
		err := builder.EndRow()
		if valid := utf8.Valid(a) && utf8.Valid(b); (err == nil) != valid {
			t.Fatalf("error %v for %q, %q", err, a, b)
		}
		if err != nil {
			return
		}
		c := datasettest.Decode(t, columns, builder.Fields())
		texts := [][]byte{a, b}
		for _, columns := range [][]int{{0, 1}, {0}, {1}} {
			var cells []string
			var want [][]byte
			for _, column := range columns {
				cells = append(cells, string(c.Cell(column, 0)))
				want = append(want, texts[column])
			}
			line := csvLineOf(nil, cells...)
			r := csv.NewReader(bytes.NewReader(line))
			rows, err := r.ReadAll()
			if err != nil || len(rows) != 1 || len(rows[0]) != len(want) {
				t.Fatalf("%q is read as %q, error %v", line, rows, err)
			}
			for i, cell := range want {
				// encoding/csv makes \r\n inside of quotes \n.
				if w := strings.ReplaceAll(string(cell), "\r\n", "\n"); rows[0][i] != w {
					t.Fatalf("%q became %q", cell, rows[0][i])
				}
			}
			if !bytes.HasSuffix(line, []byte("\r\n")) {
				t.Fatalf("%q does not end a line", line)
			}
		}
	})
}
