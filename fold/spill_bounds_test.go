package fold

import (
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

// generated is a Dataset that generates its rows, a key and a text, on demand.
type generated struct {
	keys []int
	text []byte
}

var generatedColumns = datasettest.Columns("k", "integer", "v", "text")

func (g *generated) Columns() []dataset.Column { return generatedColumns }
func (g *generated) Rows() int64               { return int64(len(g.keys)) }
func (g *generated) Chunks() int64             { return int64((len(g.keys) + g.perChunk() - 1) / g.perChunk()) }

// perChunk returns the number of rows in a full chunk.
func (g *generated) perChunk() int { return max(1, dataset.MaxChunkBytes/(len(g.text)+20)) }

func (g *generated) Chunk(n int64, columns []int) (*dataset.Chunk, error) {
	b := dataset.NewBuilder(generatedColumns)
	from := int(n) * g.perChunk()
	for _, key := range g.keys[from:min(from+g.perChunk(), len(g.keys))] {
		b.Int(0, int64(key))
		b.Text(1, g.text)
		if err := b.EndRow(); err != nil {
			return nil, err
		}
	}
	var of []dataset.Column
	var fields [][]byte
	for _, c := range columns {
		of, fields = append(of, generatedColumns[c]), append(fields, b.Fields()[c])
	}
	return dataset.DecodeChunk(of, fields)
}

// TestSpillIsBounded checks that rows in memory stay within the budget, whatever they match; only a
// few long rows may exceed it. It is not parallel, because it measures the heap.
func TestSpillIsBounded(t *testing.T) {
	var keys, few, long []int
	for i := range 88_000 {
		keys, few = append(keys, i*7919%88_000), append(few, i*7919%88_000/22_000)
	}
	for i := range 128 {
		long = append(long, i*7%128)
	}
	foldBounded(t, keys, keys, 1000, 16<<20, 44<<20)
	foldBounded(t, []int{0, 1, 2, 3}, few, 1000, 16<<20, 44<<20) // 22 MB match every row
	foldBounded(t, long, long, 2<<20, 16<<20, 60<<20)
}

// foldBounded joins rows of about this length with short ones, and checks that at most limit bytes
// are in use, including chunks and buffers.
func foldBounded(t *testing.T, left, right []int, length int, budget int64, limit uint64) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	r, _ := wide(t, report.Left, nil, nil, 0)
	live := func() uint64 { // at the last collection
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before := live() // of other tests
	var mutex sync.Mutex
	var peak uint64
	sample := func() {
		mutex.Lock()
		defer mutex.Unlock()
		peak = max(peak, live())
	}
	files := &scratchFiles{t: t, dir: t.TempDir(),
		read:    func([]byte) error { sample(); return nil },
		written: func([]byte) { sample() },
	}
	made, err := foldTo(r, map[string]Dataset{
		"a": &generated{keys: left, text: []byte("a")},
		"b": &generated{keys: right, text: []byte(strings.Repeat("b", length))},
	}, io.Discard, Budget{Bytes: budget, Scratch: files.make})
	if err != nil || made.Rows != int64(len(right)) || peak > before+limit {
		t.Errorf("%d rows, error %v; %d MB were held, with a budget of %d", made.Rows, err, (peak-before)>>20, budget>>20)
	}
	files.closed(1)
}

// TestSpillReadFails checks that every failing read is an error.
func TestSpillReadFails(t *testing.T) {
	t.Parallel()
	keys := make([]int, 3000)
	for i := range keys {
		keys[i] = max(0, i-1000) // the rows of one key exceed the budget
	}
	r, sets := wide(t, report.Full, keys[990:1200], keys, 500)
	var now, fails atomic.Int64
	files := &scratchFiles{t: t, dir: t.TempDir(), read: func([]byte) error {
		if now.Add(1) == fails.Load() {
			return errDisk
		}
		return nil
	}}
	budget := Budget{Bytes: 400_000, Scratch: files.make}
	if _, err := foldTo(r, sets(), io.Discard, budget); err != nil {
		t.Fatal(err)
	}
	for n, all := int64(1), now.Load(); n <= all; n += max(1, all/50) {
		now.Store(0)
		fails.Store(n)
		if _, err := foldTo(r, sets(), io.Discard, budget); !errors.Is(err, errDisk) {
			t.Errorf("read %d of %d: %v", n, all, err)
		}
	}
	files.closed(files.made)
}
