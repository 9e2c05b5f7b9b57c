package fold

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// TestPlansServeOtherDatasets: a plan that is used again reads the datasets of the next job, also at the same time as
// others, after an error, and not if they have other columns.
func TestPlansServeOtherDatasets(t *testing.T) {
	t.Parallel()
	r := benchmarkReport(report.Full)
	r.Join.Listeners[1].Type = report.Left
	plans := &Plans{}
	chunksOf := func(rows int) [][][]byte {
		chunks, _ := datasettest.SampleChunks(t, rows)
		return chunks
	}
	made := func(rows, side int) []byte {
		chunks, other := chunksOf(rows), chunksOf(side)
		var out bytes.Buffer
		sets := map[string]Dataset{"a": datasettest.Sample(chunks, rows), "b": datasettest.Sample(other, side)}
		if _, err := foldWith(plans, r, sets, &out, Budget{}); err != nil {
			t.Error(err)
		}
		var want bytes.Buffer
		if _, err := foldTo(r, sets, &want, Budget{}); err != nil || !bytes.Equal(out.Bytes(), want.Bytes()) {
			t.Errorf("%d and %d rows: other bytes than those of a new plan (%v)", rows, side, err)
		}
		return out.Bytes()
	}
	first := made(10, 5)
	if again := made(20, 20); bytes.Equal(first, again) {
		t.Error("the second fold has the rows of the first one")
	}
	if again := made(10, 5); !bytes.Equal(first, again) {
		t.Error("the third fold has other rows than the first one")
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() { made(3_000+i, 2_000) })
	}
	group.Wait()

	chunks := chunksOf(10)
	sets := map[string]Dataset{"a": datasettest.Sample(chunks, 10), "b": Typed(nil)}
	if _, err := foldWith(plans, r, sets, io.Discard, Budget{}); fmt.Sprint(err) !=
		`the dataset of listener "b" has no column "id"` {
		t.Error(err)
	}
}

// TestPlansHaveNoParametersOfOthers: a plan whose SELECT has parameters serves one job.
func TestPlansHaveNoParametersOfOthers(t *testing.T) {
	t.Parallel()
	r := &report.Report{
		Fold:       "SELECT id FROM a WHERE id >= :least",
		Parameters: []report.Parameter{{Name: "least", Type: report.ParamInteger}},
		File:       report.File{Format: "csv", Options: &format.CSVOptions{}, Columns: []report.FileColumn{{Label: "id", Column: "id"}}},
	}
	chunks, _ := datasettest.SampleChunks(t, 10)
	plans := &Plans{}
	for _, least := range []int64{3, 8, 3} {
		sets := map[string]Dataset{"a": datasettest.Sample(chunks, 10)}
		plan, err := plans.Get(r, sets, map[string]any{"least": least})
		if err != nil {
			t.Fatal(err)
		}
		f, err := format.CSV.Begin(&r.File, plan.Columns(), format.Title{}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Fold(t.Context(), f, Budget{}); err != nil {
			t.Fatal(err)
		}
		if made, err := f.Close(); err != nil || made.Rows != 10-least {
			t.Errorf("from %d on: %d rows, %v", least, made.Rows, err)
		}
		plans.Put(plan)
	}
}
