package fold

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

// TestPlansServeOtherDatasets: a plan that is used again reads the datasets of the next job, also at the same time as
// others, after an error, and not if they have other columns.
func TestPlansServeOtherDatasets(t *testing.T) {
	t.Parallel()
	r := benchmarkReport(report.Full)
	r.Join.Listeners[1].Type = report.Left
	plans := &Plans{}
	var generating sync.Mutex
	chunksOf := func(rows int) [][][]byte {
		generating.Lock()
		defer generating.Unlock()
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
