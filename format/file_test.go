package format

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

var twoColumns = []report.FileColumn{{Label: "at", Listener: "a", Column: "at"}, {Label: "v", Listener: "b", Column: "v"}}

// writeRow writes a row alone.
func writeRow(f *File, cells [][]byte) error {
	line, err := f.AppendRow(nil, cells)
	if err == nil {
		_, err = f.WriteRows(line, []int{len(line)})
	}
	return err
}

// TestColumns checks that a cell is written as its column says.
func TestColumns(t *testing.T) {
	t.Parallel()
	second := datasettest.Columns("at", "datetime", "v", "integer")
	second[1].Zerofill = 3
	for _, test := range []struct {
		columns    []dataset.Column
		cell, want string
	}{
		{datasettest.Columns("at", "datetime Europe/Berlin", "v", "text"), `"7"`, "at,v\r\n2024-01-01 09:00:00,7\r\n,\r\n"},
		{second, `7`, "at,v\r\n2024-01-01 10:00:00,007\r\n,\r\n"},
	} {
		var out strings.Builder
		f, err := CSV.Begin(&report.File{Columns: twoColumns, TimeZone: "UTC"}, test.columns, Title{}, &out)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Abort()
		for _, cells := range [][][]byte{{[]byte(`"2024-01-01 10:00:00"`), []byte(test.cell)}, {nil, nil}} {
			if err := writeRow(f, cells); err != nil {
				t.Fatal(err)
			}
		}
		if made, err := f.Close(); err != nil || made.Rows != 2 || out.String() != test.want {
			t.Errorf("%+v, %v: %q, want %q", made, err, out.String(), test.want)
		}
	}
}

func TestBeginFails(t *testing.T) {
	t.Parallel()
	for want, columns := range map[string][]dataset.Column{
		"1 columns in a file of 2": datasettest.Columns("at", "text"),
		"zone of a column":         datasettest.Columns("at", "datetime Nowhere/Atall", "v", "text"),
	} {
		c := &report.File{Columns: twoColumns, TimeZone: "UTC"}
		if _, err := CSV.Begin(c, columns, Title{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// brokenPipe fails after some writes.
type brokenPipe struct{ writes int }

var errPipe = errors.New("broken pipe")

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.writes--; b.writes < 0 {
		return 0, errPipe
	}
	return len(p), nil
}

// TestAbort checks that nothing is written after Abort returns, with and without an error.
func TestAbort(t *testing.T) {
	t.Parallel()
	cells := [][]byte{[]byte(`"` + strings.Repeat("x", pieceBytes) + `"`), nil}
	for _, packed := range []report.Compression{report.Uncompressed, report.Gzip, report.Zip} {
		for _, writes := range []int{0, 2, 1 << 30} {
			pipe := &brokenPipe{writes: writes}
			f, err := CSV.Begin(&report.File{Columns: twoColumns, Compress: packed}, datasettest.Columns("at", "text", "v", "text"), Title{}, pipe)
			if err != nil {
				t.Fatal(err)
			}
			for range 50 {
				if err = writeRow(f, cells); err != nil {
					break
				}
			}
			if err != nil && !errors.Is(err, errPipe) || err == nil && writes == 0 && packed == report.Uncompressed {
				t.Errorf("%q, %d writes: %v", packed, writes, err)
			}
			f.Abort()
			left := pipe.writes
			f.Abort()
			if pipe.writes != left {
				t.Error("written after Abort")
			}
		}
	}
}

// TestMaxRowsOfTheFormat: the limit of a format holds whatever the report allows.
func TestMaxRowsOfTheFormat(t *testing.T) {
	t.Parallel()
	k := CSV
	k.MaxRows = 2
	for _, allowed := range []int64{0, 3} {
		file, err := k.Begin(&report.File{MaxRows: allowed}, nil, Title{}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteRows(nil, []int{0, 0}); err != nil {
			t.Error(err)
		}
		if _, err := file.WriteRows(nil, []int{0}); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "maximum of the format csv") {
			t.Errorf("three rows: %v", err)
		}
		file.Abort()
	}
}

// TestFilesOfAnArchive: an archive has a maximum number of files.
func TestFilesOfAnArchive(t *testing.T) {
	t.Parallel()
	split := report.File{Compress: report.Zip, Split: report.Split{Rows: 1}}
	file, err := CSV.Begin(&split, nil, Title{Name: "orders"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Abort()
	if _, err := file.WriteRows(nil, make([]int, maxFiles)); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteRows(nil, []int{0}); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "raise file.split.rows") {
		t.Errorf("one more: %v", err)
	}
}
