package fold

import (
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

func benchmarkReport(kind report.JoinType) *report.Report {
	r := &report.Report{Join: report.Join{Keys: []string{"id"}, Listeners: []report.Joined{
		{Listener: "a", Keys: []string{"id"}}, {Listener: "b", Type: kind, Keys: []string{"id"}},
	}}}
	r.File.Columns = []report.FileColumn{{Label: "id", Column: "id"}}
	for _, listener := range []string{"a", "b"} {
		for _, c := range datasettest.SampleColumns[1:] {
			r.File.Columns = append(r.File.Columns, column(listener+"."+c.Name, listener, c.Name))
		}
	}
	return r
}

// BenchmarkFold joins 100,000 rows with as many. The larger cases exceed the budget: the side is merged if it is sorted,
// and else goes to the scratch file.
func BenchmarkFold(b *testing.B) {
	chunks, size := datasettest.SampleChunks(b, 100_000)
	backwards := slices.Clone(chunks)
	slices.Reverse(backwards)
	for _, test := range []struct {
		name   string
		kind   report.JoinType
		budget int64
		side   [][][]byte
	}{
		{"inner", report.Inner, 0, chunks},
		{"full", report.Full, 0, chunks},
		{"merged", report.Inner, 1 << 20, chunks},
		{"spilled", report.Inner, 1 << 20, backwards},
	} {
		b.Run(test.name, func(b *testing.B) {
			r := benchmarkReport(test.kind)
			files := &scratchFiles{t: b, dir: b.TempDir()}
			b.SetBytes(2 * size)
			b.ReportAllocs()
			for b.Loop() {
				sets := map[string]Dataset{
					"a": datasettest.Sample(chunks, 100_000), "b": datasettest.Sample(test.side, 100_000),
				}
				made, err := foldTo(r, sets, io.Discard, Budget{Bytes: test.budget, Scratch: files.make})
				if err != nil || made.Rows != 100_000 {
					b.Fatal(made.Rows, err)
				}
			}
		})
	}
}

// BenchmarkFoldSmall folds a typical job: every dataset has one chunk.
func BenchmarkFoldSmall(b *testing.B) {
	chunks, _ := datasettest.SampleChunks(b, 100)
	r, plans := benchmarkReport(report.Inner), &Plans{}
	b.ReportAllocs()
	for b.Loop() {
		made, err := foldWith(plans, r, map[string]Dataset{"a": datasettest.Sample(chunks, 100), "b": datasettest.Sample(chunks, 100)}, io.Discard, Budget{})
		if err != nil || made.Rows != 100 {
			b.Fatal(made.Rows, err)
		}
	}
}

// BenchmarkFoldMillion also reports the peak memory beyond that of the stored chunks, and the JSON
// bytes of one side.
func BenchmarkFoldMillion(b *testing.B) {
	chunks, size := datasettest.SampleChunks(b, 1_000_000)
	r := benchmarkReport(report.Inner)
	runtime.GC()
	before := heapInUse()
	var peak atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				peak.Store(max(peak.Load(), heapInUse()))
			}
		}
	}()
	b.SetBytes(2 * size)
	b.ReportAllocs()
	for b.Loop() {
		made, err := foldTo(r, map[string]Dataset{"a": datasettest.Sample(chunks, 1_000_000), "b": datasettest.Sample(chunks, 1_000_000)}, io.Discard, Budget{})
		if err != nil || made.Rows != 1_000_000 {
			b.Fatal(made.Rows, err)
		}
	}
	close(stop)
	<-stopped
	b.ReportMetric(float64(peak.Load()-before)/1e6, "peak-MB")
	b.ReportMetric(float64(size)/1e6, "side-MB")
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
