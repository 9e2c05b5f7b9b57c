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

// TestSpillBegins checks that a join spills if all sides with their hash tables exceed the budget.
func TestSpillBegins(t *testing.T) {
	t.Parallel()
	const rows = 10_000
	const record = recordHead + 8 // the key is in the head, and the text is short
	r := &report.Report{Join: report.Join{Keys: []string{"k"}}, File: report.File{Format: "csv", Columns: []report.FileColumn{column("k", "", "k"), column("v", "c", "v")}}}
	for _, name := range []string{"a", "b", "c"} {
		r.Join.Listeners = append(r.Join.Listeners, report.Joined{Listener: name, Type: report.Left, Keys: []string{"k"}})
	}
	keys := make([]int, rows)
	for i := range keys {
		keys[i] = i * 7919 % rows
	}
	sets := map[string]Dataset{}
	for _, l := range r.Join.Listeners {
		sets[l.Listener] = &generated{keys: keys, text: []byte("x")}
	}
	p, err := NewPlan(r, sets)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		budget  int64
		spilled int
	}{
		"all":                {2*(rows*record+tableBytes(rows)) + 2*blockBytes, 0},
		"all but the tables": {2*rows*record + tableBytes(rows) + tableBytes(rows)/2, 1},
		"one":                {rows*record + tableBytes(rows) + 2*blockBytes, 1},
		"none":               {1000, 2},
	} {
		f := &folder{plan: p, left: test.budget, sides: make([]*side, 3), keyer: newKeyer(p.comparisons)}
		err, spilled := f.readSides(), 0
		for _, s := range f.sides[1:] {
			if s.spilled {
				spilled++
			}
		}
		if err != nil || spilled != test.spilled {
			t.Errorf("%s: %d are spilled, error %v", name, spilled, err)
		}
	}
}

// TestPartsThatFit checks that a part is loaded if it needs at most half of the memory.
func TestPartsThatFit(t *testing.T) {
	t.Parallel()
	const bytes, numbers = 24_000, 10
	for name, test := range map[string]struct {
		left, minBytes int64
		fits           bool
	}{
		"all":                   {2 * (bytes + 4*numbers), 0, true},
		"without the refs":      {2*(bytes+4*numbers) - 1, 0, false},
		"what others have left": {0, 2 * (bytes + 4*numbers), true},
	} {
		p := &partition{j: &join{folder: &folder{left: test.left, minBytes: test.minBytes}}}
		if fits := p.fits(storedPart{from: 5, to: 5 + numbers, runs: []*run{nil, {bytes: bytes}}}); fits != test.fits {
			t.Errorf("%s: %t", name, fits)
		}
	}
}

// largestFold is the maximum of limits.fold_memory.
const largestFold = 8 << 30

// TestMostRows checks that a row that is too long or cannot be addressed is an error that names the
// listener.
func TestMostRows(t *testing.T) {
	t.Parallel()
	full := &arena{blocks: make([][]byte, noRef/blockRefs)}
	if err := full.add(make(record, recordHead)); !errors.Is(err, errArena) {
		t.Errorf("no ref: %v", err)
	}
	if err := (&arena{blocks: full.blocks[1:]}).add(make(record, recordHead)); err != nil {
		t.Errorf("the last ref: %v", err)
	}
	for _, size := range []int{blockBytes / 2, blockBytes, 2 * blockBytes} {
		size += refBytes // so that a block holds one row less
		if refs := largestFold / size * blocksOf(size); refs > len(full.blocks)/2 {
			t.Errorf("rows of %d bytes take %d blocks", size, refs)
		}
	}
	files := &scratchFiles{t: t, dir: t.TempDir()}
	to := &scratch{create: files.make}
	defer to.Close()
	if _, err := to.write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_, err := (&run{scratch: to, blocks: make([]extent, len(full.blocks)+1)}).load(&input{listener: "b"})
	if !errors.Is(err, errArena) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("a run: %v", err)
	}
	if _, err := endRecord(make(record, sizeMask+1)); !errors.Is(err, errLargeRow) { // nothing is in it, so that it takes no memory
		t.Errorf("a row: %v", err)
	}
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
