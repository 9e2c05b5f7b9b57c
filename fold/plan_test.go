package fold

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

func TestNeeded(t *testing.T) {
	t.Parallel()
	single := &report.Report{
		Stages: []report.Stage{{Listeners: []report.Listener{{Name: "a", Columns: []string{"x", "y", "z"}}}}},
		Join:   report.Join{Keys: []string{"z"}, Listeners: []report.Joined{{Listener: "a", Keys: []string{"z"}}}},
		File:   report.File{Format: "csv", Columns: []report.FileColumn{column("y", "a", "y"), column("x", "a", "x"), column("again", "a", "y")}},
	}
	shown := *single
	shown.File.Columns = []report.FileColumn{column("z", "", "z"), column("x", "a", "x")}
	for _, test := range []struct {
		name   string
		report *report.Report
		want   map[string][]string
	}{
		{"three listeners", foldReport(report.Inner, report.Inner), map[string][]string{
			"payments": {"amount", "customer", "text"}, "customers": {"id", "name"}, "refunds": {"cid", "at"}}},
		{"one listener", single, map[string][]string{"a": {"x", "y"}}},
		{"one listener with its key", &shown, map[string][]string{"a": {"x", "z"}}},
	} {
		if diff := cmp.Diff(test.want, Needed(test.report)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestFoldErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection lost")
	for _, test := range []struct {
		name   string
		change func(r *report.Report, d map[string]Dataset)
		want   string
	}{
		{"no dataset", func(_ *report.Report, d map[string]Dataset) { delete(d, "refunds") }, `listener "refunds" has no dataset`},
		{"no key column", func(_ *report.Report, d map[string]Dataset) {
			d["customers"].(*datasettest.Memory).Of = datasettest.Columns("name", "text")
		},
			`the dataset of listener "customers" has no column "id"`},
		{"no CSV column", func(r *report.Report, _ map[string]Dataset) { r.File.Columns[1].Column = "nick" },
			`column "Name, or \"alias\"" of the file: the dataset of listener "customers" has no column "nick"`},
		{"other chunk", func(_ *report.Report, d map[string]Dataset) {
			d["refunds"] = otherColumns{d["refunds"]}
		},
			`dataset of listener "refunds": a chunk has other columns than its dataset`},
		{"no chunk", func(_ *report.Report, d map[string]Dataset) { d["payments"] = noChunk{d["payments"]} },
			`dataset of listener "payments": a chunk has other columns than its dataset`},
		{"first fails", func(_ *report.Report, d map[string]Dataset) { d["payments"].(*datasettest.Memory).Err = broken },
			`dataset of listener "payments": connection lost`},
		{"second fails", func(_ *report.Report, d map[string]Dataset) { d["customers"].(*datasettest.Memory).Err = broken },
			`dataset of listener "customers": connection lost`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, datasets := foldReport(report.Full, report.Full), foldDatasets(t)
			test.change(r, datasets)
			_, err := foldTo(r, datasets, io.Discard, Budget{})
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if strings.Contains(test.want, broken.Error()) && !errors.Is(err, broken) {
				t.Errorf("%v does not wrap its cause", err)
			}
		})
	}
}

// otherColumns is a dataset whose chunks have other columns.
type otherColumns struct{ Dataset }

func (o otherColumns) Chunk(n int64, columns []int) (*dataset.Chunk, error) {
	return o.Dataset.Chunk(n, columns[1:])
}

// noChunk is a dataset without chunks.
type noChunk struct{ Dataset }

func (noChunk) Chunk(int64, []int) (*dataset.Chunk, error) { return nil, nil }
