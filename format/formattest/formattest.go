// Package formattest holds what every file format must do, as tests to be run over each kind.
package formattest

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// Reader reads a file of a kind back.
type Reader struct {
	// Read returns the texts of the cells, the labels of the columns first. A file without rows may have no labels, as
	// that of a format that repeats them in every row.
	Read func(file []byte) ([][]string, error)
	Null string // what it returns for NULL
	// Longest is the maximum number of characters of a text. A longer one is an error that names the column and the
	// limit; 0: any.
	Longest int
}

// Title is that of every file.
var Title = format.Title{Report: "orders", Name: "orders-2024"}

// texts are cells that have a special meaning in some format.
var texts = []string{
	"", " ", "a", ",", ";", "\t", "|", `"`, `""`, "'", "\n", "a\nb", "\\", "\\n", "null", "NULL",
	"=1+1", "-1", "{}", "<&>", "😀", "\u2028", "é",
	strings.Repeat("long ", 20_000),
}

// Run runs the suite over a kind. Tests run in parallel.
func Run(t *testing.T, kind format.Kind, reader Reader) {
	t.Helper()
	for name, run := range map[string]func(suite, *testing.T){
		"names": suite.names, "read back": suite.readBack, "no rows": suite.noRows, "same bytes": suite.sameBytes,
		"in parallel": suite.inParallel, "limits": suite.limits, "failing writer": suite.failing,
		"parts": suite.parts, "archive": suite.archive, "longest": suite.longest,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(suite{kind, reader}, t)
		})
	}
}

type suite struct {
	format.Kind
	Reader
}

// rows are JSON cells of every text and of NULL, in pairs, and their texts.
func (s suite) rows(t *testing.T) (cells [][][]byte, want [][]string) {
	t.Helper()
	columns := datasettest.Columns("a", "text", "b", "text")
	var values [][]any
	want = [][]string{{"a", "b"}}
	texts := texts
	if s.Longest > 0 {
		texts = append(slices.Clone(texts[:len(texts)-1]), strings.Repeat("é", s.Longest))
	}
	for i, text := range texts {
		other := texts[(i*7+3)%len(texts)]
		values = append(values, []any{text, other}, []any{nil, text})
		want = append(want, []string{text, other}, []string{s.Null, text})
	}
	chunk, err := datasettest.Of(t, columns, len(values), values...).Chunk(0, []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	for row := range values {
		cells = append(cells, [][]byte{chunk.Cell(0, row), chunk.Cell(1, row)})
	}
	return cells, want
}

// begin begins a file of two text columns.
func (s suite) begin(t *testing.T, f report.File, w io.Writer) *format.File {
	t.Helper()
	f.Format = s.Name
	f.Columns = []report.FileColumn{{Label: "a", Listener: "l", Column: "a"}, {Label: "b", Listener: "l", Column: "b"}}
	if s.Fields != nil {
		f.Options = s.Fields()
	}
	file, err := s.Begin(&f, datasettest.Columns("a", "text", "b", "text"), Title, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(file.Abort)
	return file
}

// write writes a whole file, one row at a time.
func (s suite) write(t *testing.T, f report.File, cells [][][]byte, w io.Writer) error {
	t.Helper()
	file := s.begin(t, f, w)
	for _, row := range cells {
		line, err := file.AppendRow(nil, row)
		if err == nil {
			_, err = file.WriteRows(line, []int{len(line)})
		}
		if err != nil {
			return err
		}
	}
	made, err := file.Close()
	if err == nil && made.Rows != int64(len(cells)) {
		t.Errorf("%d rows are described as %d", len(cells), made.Rows)
	}
	return err
}

// file returns the bytes of a whole file.
func (s suite) file(t *testing.T, f report.File, cells [][][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.write(t, f, cells, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (s suite) names(t *testing.T) {
	if !regexp.MustCompile(`^[a-z0-9_-]+$`).MatchString(s.Name) ||
		!regexp.MustCompile(`^(\.[a-z0-9]+)+$`).MatchString(s.Extension) || s.ContentType == "" {
		t.Errorf("name %q, extension %q, content type %q", s.Name, s.Extension, s.ContentType)
	}
}

func (s suite) readBack(t *testing.T) {
	cells, want := s.rows(t)
	got, err := s.Read(s.file(t, report.File{}, cells))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// longest checks that a text that is too long is an error, and never cut.
func (s suite) longest(t *testing.T) {
	if s.Longest == 0 {
		return
	}
	cell := []byte(`"` + strings.Repeat("a", s.Longest+1) + `"`)
	_, err := s.begin(t, report.File{}, io.Discard).AppendRow(nil, [][]byte{[]byte(`"x1"`), cell})
	if err == nil || !strings.Contains(err.Error(), `"b"`) || !strings.Contains(err.Error(), fmt.Sprint(s.Longest)) {
		t.Errorf("%v, want an error with the column and the limit", err)
	}
}

func (s suite) noRows(t *testing.T) {
	if got, err := s.Read(s.file(t, report.File{}, nil)); err != nil || len(got) > 1 {
		t.Errorf("%q, %v", got, err)
	}
}

// sameBytes checks that a file that is written again has the same bytes, compressed or not.
func (s suite) sameBytes(t *testing.T) {
	cells, _ := s.rows(t)
	plain := s.file(t, report.File{}, cells)
	if s.Packed != "" {
		if !bytes.Equal(s.file(t, report.File{}, cells), plain) {
			t.Error("other bytes the second time")
		}
		return
	}
	packed := s.file(t, report.File{Compress: report.Gzip}, cells)
	if !bytes.Equal(s.file(t, report.File{}, cells), plain) ||
		!bytes.Equal(s.file(t, report.File{Compress: report.Gzip}, cells), packed) {
		t.Error("other bytes the second time")
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || !bytes.Equal(text, plain) {
		t.Errorf("the compressed file has other contents: %v", err)
	}
}

// inParallel checks that rows can be encoded by several goroutines.
func (s suite) inParallel(t *testing.T) {
	cells, _ := s.rows(t)
	want := s.file(t, report.File{}, cells)
	var out bytes.Buffer
	file := s.begin(t, report.File{}, &out)
	lines := make([][]byte, len(cells))
	var group sync.WaitGroup
	for i, row := range cells {
		group.Go(func() { lines[i], _ = file.AppendRow(nil, row) })
	}
	group.Wait()
	var rows []byte
	var ends []int
	for _, line := range lines {
		rows = append(rows, line...)
		ends = append(ends, len(rows))
	}
	if _, err := file.WriteRows(rows, ends); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Close(); err != nil || !bytes.Equal(out.Bytes(), want) {
		t.Errorf("other bytes than by one goroutine: %v", err)
	}
}

func (s suite) limits(t *testing.T) {
	cells, _ := s.rows(t)
	rows, size := int64(len(cells)), int64(len(s.file(t, report.File{}, cells)))
	s.file(t, report.File{MaxRows: rows, MaxBytes: size}, cells)
	for _, f := range []report.File{{MaxRows: rows - 1}, {MaxBytes: size - 1}} {
		if err := s.write(t, f, cells, io.Discard); !errors.Is(err, format.ErrTooLarge) {
			t.Errorf("%+v: %v, want ErrTooLarge", f, err)
		}
	}
}

// parts checks that a part ends before the row that does not fit, and that the rows of every part are read back.
func (s suite) parts(t *testing.T) {
	if s.PartRows == 0 {
		return
	}
	cells, want := s.rows(t)
	s.PartRows = 3
	var pieces [2]bytes.Buffer
	for i, size := range []int{1, 7} {
		file := s.begin(t, report.File{}, &pieces[i])
		s.inPieces(t, file, cells, size)
	}
	if !bytes.Equal(pieces[0].Bytes(), pieces[1].Bytes()) {
		t.Error("the size of the pieces changes the bytes")
	}
	if got, err := s.Read(pieces[0].Bytes()); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

// inPieces writes rows in pieces of that many, and closes the file.
func (s suite) inPieces(t *testing.T, file *format.File, cells [][][]byte, size int) {
	t.Helper()
	for piece := range slices.Chunk(cells, size) {
		var rows []byte
		var ends []int
		var err error
		for _, row := range piece {
			if rows, err = file.AppendRow(rows, row); err != nil {
				t.Fatal(err)
			}
			ends = append(ends, len(rows))
		}
		if _, err := file.WriteRows(rows, ends); err != nil {
			t.Fatal(err)
		}
	}
	if made, err := file.Close(); err != nil || made.Rows != int64(len(cells)) {
		t.Fatalf("%d rows, %v; want %d", made.Rows, err, len(cells))
	}
}

// archive checks that file.split divides the rows over whole files of an archive, whatever the size of the pieces.
func (s suite) archive(t *testing.T) {
	cells, want := s.rows(t)
	const rows = 4
	split := report.File{Compress: report.Zip, Split: report.Split{Rows: rows}}
	var first []byte
	for _, size := range []int{1, 3, len(cells)} {
		var out bytes.Buffer
		s.inPieces(t, s.begin(t, split, &out), cells, size)
		if first == nil {
			first = out.Bytes()
		}
		if !bytes.Equal(first, out.Bytes()) {
			t.Errorf("pieces of %d rows change the bytes", size)
		}
	}
	archive, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	if n := (len(cells) + rows - 1) / rows; len(archive.File) != n {
		t.Errorf("%d files in the archive, want %d", len(archive.File), n)
	}
	got := want[:1:1]
	for i, f := range archive.File {
		if name := fmt.Sprintf("%s-%d%s", Title.Name, i+1, s.Extension); f.Name != name {
			t.Errorf("file %q, want %q", f.Name, name)
		}
		if f.Modified.Year() != 1980 {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		read, err := s.Read(text)
		if err != nil || len(read) == 0 || len(read) > rows+1 || !cmp.Equal(want[0], read[0]) {
			t.Fatalf("file %d: %q, %v", i, read, err)
		}
		got = append(got, read[1:]...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	one := s.file(t, report.File{Compress: report.Zip}, cells)
	if archive, err = zip.NewReader(bytes.NewReader(one), int64(len(one))); err != nil || len(archive.File) != 1 ||
		archive.File[0].Name != Title.Name+s.Extension {
		t.Errorf("without split: %v", err)
	}
}

var errFull = errors.New("disk full")

// full fails after some bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// failing checks that an error of the writer is returned, and that nothing is written after Abort.
func (s suite) failing(t *testing.T) {
	cells, _ := s.rows(t)
	size := len(s.file(t, report.File{}, cells))
	for _, left := range []int{0, size / 2, size - 1} {
		if err := s.write(t, report.File{}, cells, &full{left}); !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: %v, want %v", left, err, errFull)
		}
	}
	var out bytes.Buffer
	file := s.begin(t, report.File{}, &out)
	line, err := file.AppendRow(nil, cells[0])
	if err == nil {
		_, err = file.WriteRows(line, []int{len(line)})
	}
	file.Abort()
	before := out.Len()
	if file.Abort(); err != nil || out.Len() != before {
		t.Errorf("%v; %d bytes were written after Abort", err, out.Len()-before)
	}
}
