package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

// readCell is a cell as a strict reader of RFC 4180 reads it.
type readCell struct {
	text   string
	quoted bool
}

// readCSV reads a file independently of the code that writes it: cells are separated by delimiters,
// and nothing follows the last quote of a quoted cell.
func readCSV(text string, delimiter byte, lineEnd string) ([][]readCell, error) {
	var rows [][]readCell
	var row []readCell
	for text != "" {
		var c readCell
		if text[0] == '"' {
			c.quoted = true
			for text = text[1:]; ; {
				end := strings.IndexByte(text, '"')
				if end < 0 {
					return nil, errors.New("a quote without end")
				}
				c.text, text = c.text+text[:end], text[end+1:]
				if !strings.HasPrefix(text, `"`) {
					break
				}
				c.text, text = c.text+`"`, text[1:]
			}
		} else {
			end := strings.IndexAny(text, string(delimiter)+"\r\n\"")
			if end < 0 {
				return nil, errors.New("no end of the line")
			}
			c.text, text = text[:end], text[end:]
		}
		row = append(row, c)
		switch {
		case strings.HasPrefix(text, lineEnd):
			rows, row, text = append(rows, row), nil, text[len(lineEnd):]
		case text != "" && text[0] == delimiter:
			text = text[1:]
		default:
			return nil, fmt.Errorf("%.20q follows a cell", text)
		}
	}
	return rows, nil
}

// fileOf returns the file of these cells, nil being NULL, in text columns.
func fileOf(t datasettest.TB, o CSVOptions, rows ...[]any) string {
	f := &report.File{Options: &o}
	var columns []dataset.Column
	var numbers []int
	for i := range rows[0] {
		name := fmt.Sprint("c", i)
		columns = append(columns, dataset.Column{Name: name, Kind: report.KindText})
		numbers = append(numbers, i)
		f.Columns = append(f.Columns, report.FileColumn{Label: name, Listener: "a", Column: name})
	}
	var out bytes.Buffer
	file, err := CSV.Begin(f, columns, Title{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Abort()
	chunk, err := datasettest.Of(t, columns, len(rows), rows...).Chunk(0, numbers)
	if err != nil {
		t.Fatal(err)
	}
	cells := make([][]byte, len(columns))
	for row := range rows {
		for i := range cells {
			cells[i] = chunk.Cell(i, row)
		}
		if err := writeRow(file, cells); err != nil {
			t.Fatal(err)
		}
	}
	if made, err := file.Close(); err != nil || made.Rows != int64(len(rows)) {
		t.Fatal(made, err)
	}
	return out.String()
}

// wantRead checks that a strict reader reads these cells from the file.
func wantRead(t *testing.T, file string, o CSVOptions, rows ...[]any) {
	delimiter, lineEnd := o.separator(), "\r\n"
	if o.LF {
		lineEnd = "\n"
	}
	body, marked := strings.CutPrefix(file, "\ufeff")
	if marked != o.marked() {
		t.Fatalf("byte order mark: %v\n%q", marked, file)
	}
	got, err := readCSV(body, delimiter, lineEnd)
	if err != nil || len(got) != len(rows)+1 {
		t.Fatalf("%d lines, %v\n%q", len(got), err, file)
	}
	for i, row := range rows {
		if len(got[i+1]) != len(row) {
			t.Fatalf("%d cells in line %d\n%q", len(got[i+1]), i, file)
		}
		for n, value := range row {
			cell := got[i+1][n]
			text, isText := value.(string)
			if o.Formulas == FormulasEscape {
				if IsFormula([]byte(cell.text), report.KindText) && !strings.HasPrefix(cell.text, "'") {
					t.Fatalf("%q is a formula\n%q", cell.text, file)
				}
				cell.text = unescaped(cell.text)
			}
			switch {
			case isText && cell.text != text:
				t.Fatalf("%q became %q\n%q", text, cell.text, file)
			case o.Null == nil && !isText && cell.text != "":
				t.Fatalf("NULL became %q\n%q", cell.text, file)
			case o.Null != nil && (!cell.quoted && got[i+1][n].text == string(*o.Null)) == isText:
				t.Fatalf("%v became %q, quoted %v, with %q for NULL\n%q", value, cell.text, cell.quoted, *o.Null, file)
			}
		}
	}
}

// cellSeeds are texts that have a special meaning for CSV, spreadsheets or this package.
var cellSeeds = []string{
	"", "a", ",", ";", "\t", "|", `"`, `""`, "'", "\n", "\r", "\r\n", "a\r\nb", "NULL", "null", "\\N", " ", "=1+1", "'=1", "''-", "-", "-1", "-1e5", "+49 30",
	"@x", "\x00", "\x1f=", "\ufeff", "\u2028", "😀", "0000-00-00", "2024-02-29 12:00:00", "\\u0022", "a,\"b\"\r\n",
}

// FuzzCSVFile checks that a strict reader reads the texts of a file with options unchanged.
func FuzzCSVFile(f *testing.F) {
	for i, seed := range cellSeeds {
		f.Add(seed, cellSeeds[(i*7+3)%len(cellSeeds)], "NULL", uint16(i*37))
		f.Add("x", seed, seed, uint16(i*101))
	}
	f.Fuzz(func(t *testing.T, a, b, null string, options uint16) {
		c := CSVOptions{LF: options&2 > 0, Delimiter: Delimiter(Delimiters[options>>2&3])}
		if options&1 > 0 {
			c.BOM = Marked
		}
		if options&16 > 0 {
			c.Formulas = FormulasEscape
		}
		if options&32 > 0 && new(Null).Parse(null) == nil && (c.Formulas == FormulasOff || !IsFormula([]byte(null), report.KindText)) {
			c.Null = new(Null(null))
		}
		if !utf8.ValidString(a + "x" + b) {
			return
		}
		rows := [][]any{{a, b, "1"}, {nil, a, b}, {b, nil, nil}, {nil, nil, nil}}
		wantRead(t, fileOf(t, c, rows...), c, rows...)
		if c.Null == nil || null != "" { // which the configuration refuses for one column
			wantRead(t, fileOf(t, c, []any{a}, []any{nil}), c, []any{a}, []any{nil})
		}
	})
}

// TestPythonReadsIt checks that Python's csv reads what was written, with its defaults except for the
// delimiter.
func TestPythonReadsIt(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here: apt-get install python3")
	}
	// Each file is a line of JSON, in and out.
	c := exec.CommandContext(t.Context(), python, "-c", `
import csv, io, json, sys
for line in sys.stdin:
    file = json.loads(line)
    rows = csv.reader(io.StringIO(file["text"], newline=""), delimiter=file["delimiter"], strict=True)
    print(json.dumps(list(rows)[1:]), flush=True)
`)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	encode, decode := json.NewEncoder(in), json.NewDecoder(out)
	texts := rapid.OneOf(rapid.SampledFrom(cellSeeds), rapid.StringOf(rapid.RuneFrom([]rune("a,;|\t\"'=\r\n é\\"))), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		options := CSVOptions{LF: rapid.Bool().Draw(t, "lf")}
		options.Delimiter = Delimiter(rapid.SampledFrom(append([]string{""}, Delimiters[1:]...)).Draw(t, "delimiter"))
		if null := rapid.SampledFrom([]string{"none", "", "NULL", "1"}).Draw(t, "null"); null != "none" {
			options.Null = new(Null(null))
		}
		var rows [][]any
		want := [][]string{}
		for range rapid.IntRange(1, 20).Draw(t, "rows") {
			a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
			if strings.ContainsRune(a+b, 0) {
				continue // which Python refuses up to 3.10
			}
			rows, want = append(rows, []any{a, b}), append(want, []string{a, b})
		}
		if len(rows) == 0 {
			return
		}
		delimiter := options.Delimiter
		if delimiter == "" {
			delimiter = ","
		}
		if err := encode.Encode(map[string]string{"text": fileOf(t, options, rows...), "delimiter": string(delimiter)}); err != nil {
			t.Fatal(err, stderr.String())
		}
		var got [][]string
		if err := decode.Decode(&got); err != nil {
			t.Fatal(err, stderr.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
	_ = in.Close()
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err, stderr.String())
	}
}
