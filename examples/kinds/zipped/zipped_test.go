package zipped

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/format/formattest"
	"github.com/fanfold/fanfold/report"
)

func read(file []byte, name string) ([]byte, error) {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	f, err := archive.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// TestFormat is what every format does.
func TestFormat(t *testing.T) {
	t.Parallel()
	formattest.Run(t, Kind, formattest.Reader{Read: func(file []byte) ([][]string, error) {
		text, err := read(file, "rows.csv")
		if err != nil {
			return nil, err
		}
		return csv.NewReader(bytes.NewReader(text)).ReadAll()
	}})
}

// TestTypes: the archive says the types of its columns.
func TestTypes(t *testing.T) {
	t.Parallel()
	f := &report.File{Format: "zip", Columns: []report.FileColumn{{Label: "n"}, {Label: "when"}}}
	var out bytes.Buffer
	file, err := Kind.Begin(f, []dataset.Column{{Kind: report.KindInteger}, {Kind: report.KindDatetime}}, format.Title{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Close(); err != nil {
		t.Fatal(err)
	}
	var got []Column
	text, err := read(out.Bytes(), "columns.json")
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	want := []Column{{"n", report.KindInteger}, {"when", report.KindDatetime}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
