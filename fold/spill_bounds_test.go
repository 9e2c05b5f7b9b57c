package fold

import (
	"errors"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// generated is a Dataset of rows that are made when they are asked for: a key and a text.
type generated struct {
	keys []int
	text []byte
}

var generatedColumns = datasettest.Columns("k", "integer", "v", "text")

func (g *generated) Columns() []dataset.Column { return generatedColumns }

func (g *generated) Next() (*dataset.Chunk, error) {
	if len(g.keys) == 0 {
		return nil, io.EOF
	}
	b := dataset.NewBuilder(generatedColumns)
	for len(g.keys) > 0 && !b.Full() {
		b.Int(0, int64(g.keys[0]))
		b.Text(1, g.text)
		if err := b.EndRow(); err != nil {
			return nil, err
		}
		g.keys = g.keys[1:]
	}
	return dataset.DecodeChunk(generatedColumns, b.Fields())
}

// TestSpillIsBounded: two parts of nearly the whole room each are neither held whole
// nor at the same time, and only a few long rows are. It is not parallel, so that the
// heap is its own.
func TestSpillIsBounded(t *testing.T) {
	var twoParts, several []int
	for part := range uint64(ways) {
		if part < 2 {
			twoParts = append(twoParts, keysIn(part, 44_000)...)
		}
		several = append(several, keysIn(part, 2)...)
	}
	foldBounded(t, twoParts, 1000, 48<<20, 72<<20)
	foldBounded(t, several, 2<<20, 16<<20, 60<<20)
}

// foldBounded joins rows of about so many bytes with short ones, and looks that no more
// than the most bytes are held, chunks and buffers too.
func foldBounded(t *testing.T, keys []int, length int, room int64, most uint64) {
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
	look := func() {
		mutex.Lock()
		defer mutex.Unlock()
		peak = max(peak, live())
	}
	files := &scratchFiles{t: t, dir: t.TempDir(),
		read:    func([]byte) error { look(); return nil },
		written: func([]byte) { look() },
	}
	made, err := Fold(r, map[string]Dataset{
		"a": &generated{keys: keys, text: []byte("a")},
		"b": &generated{keys: keys, text: []byte(strings.Repeat("b", length))},
	}, io.Discard, Room{Bytes: room, Scratch: files.make})
	if err != nil || made.Rows != int64(len(keys)) || peak > before+most {
		t.Errorf("%d rows, error %v; %d MB were held, with room for %d", made.Rows, err, (peak-before)>>20, room>>20)
	}
	files.closed(2)
}

// TestPartsAtOnce: no more parts are at work than there is room for.
func TestPartsAtOnce(t *testing.T) {
	t.Parallel()
	var keys []int
	for part := range uint64(ways) {
		keys = append(keys, keysIn(part, 10)...)
	}
	r, sets := wide(t, report.Inner, keys, keys, 100)
	var now, peak atomic.Int64
	files := &scratchFiles{t: t, dir: t.TempDir(), read: func([]byte) error {
		n := now.Add(1)
		for before := peak.Load(); n > before && !peak.CompareAndSwap(before, n); before = peak.Load() {
		}
		for range 1000 {
			runtime.Gosched() // all others that are begun come here, too
		}
		now.Add(-1)
		return nil
	}}
	_, err := Fold(r, sets(), io.Discard, Room{Bytes: 10_000, Scratch: files.make})
	if err != nil || peak.Load() > 2 {
		t.Errorf("%d at once, error %v", peak.Load(), err)
	}
}

// TestSpillBegins where all sides together are more than there is room for, with their
// tables.
func TestSpillBegins(t *testing.T) {
	t.Parallel()
	const rows = 10_000
	const record = recordHead + 8 // the key is in the head, and the text is short
	r := &report.Report{Join: report.Join{Keys: []string{"k"}}, CSV: report.CSV{Columns: []report.CSVColumn{column("k", "", "k"), column("v", "c", "v")}}}
	for _, name := range []string{"a", "b", "c"} {
		r.Join.Listeners = append(r.Join.Listeners, report.Joined{Listener: name, Type: report.Left, Keys: []string{"k"}})
	}
	keys := make([]int, rows)
	for i := range keys {
		keys[i] = i
	}
	for name, test := range map[string]struct {
		room int64
		made int
	}{
		"all":                {2*(rows*record+tableBytes(rows)) + 2*blockBytes, 0},
		"all but the tables": {2*rows*record + tableBytes(rows) + tableBytes(rows)/2, 2},
		"one":                {rows*record + tableBytes(rows) + 2*blockBytes, 2},
	} {
		files := &scratchFiles{t: t, dir: t.TempDir()}
		sets := map[string]Dataset{}
		for _, l := range r.Join.Listeners {
			sets[l.Listener] = &generated{keys: keys, text: []byte("x")}
		}
		if made, err := Fold(r, sets, io.Discard, Room{Bytes: test.room, Scratch: files.make}); err != nil || made.Rows != rows {
			t.Errorf("%s: %d rows, error %v", name, made.Rows, err)
		}
		files.closed(test.made)
	}
}

// TestSidesOfAPart: what a part needs in memory decides what is done with it.
func TestSidesOfAPart(t *testing.T) {
	t.Parallel()
	const rows = 1000
	bytes := int64(24_000)
	table, numbers := tableBytes(rows), int64(4*rows)
	for name, test := range map[string]struct {
		kind          report.JoinType
		several       bool
		room          int64
		held, spilled bool
	}{
		"all":                     {report.Left, true, bytes + table, true, false},
		"without the table":       {report.Left, true, bytes + table - 1, false, false},
		"full":                    {report.Full, true, bytes + table + numbers, true, false},
		"full, without numbers":   {report.Full, true, bytes + table + numbers - 1, false, false},
		"of one key":              {report.Left, false, 2 * (bytes + table), true, false},
		"of one key, and larger":  {report.Left, false, 2*(bytes+table) - 2, true, true},
		"of one key, and no room": {report.Full, false, 1, true, true},
	} {
		s := &spill{bytes: test.room, inputs: []*input{{}, {Source: format.Source{Kind: test.kind}}}}
		r := &run{bytes: bytes, rows: rows, several: test.several}
		sides, ok := s.sides(part{{}, r})
		if ok != test.held || (sides[1].run != nil) != test.spilled {
			t.Errorf("%s: %t, from the file %t", name, ok, sides[1].run != nil)
		}
	}
}

// TestMostRows: what cannot be counted, or has no place, is an error that names the
// listener.
func TestMostRows(t *testing.T) {
	t.Parallel()
	r, sets := wide(t, report.Full, []int{1, 2}, []int{1, 2}, 1)
	inputs, err := newInputs(r, sets())
	if err != nil {
		t.Fatal(err)
	}
	layout, err := format.NewLayout(r, sources(inputs))
	if err != nil {
		t.Fatal(err)
	}
	files := &scratchFiles{t: t, dir: t.TempDir()}
	file, err := files.make()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	to := &scratch{Scratch: file}
	s := &spill{ctx: t.Context(), layout: layout, inputs: inputs, bytes: 1, parts: to, lines: to}
	expect := func(err, want error, listener string) {
		t.Helper()
		if !errors.Is(err, want) || !strings.Contains(err.Error(), listener) {
			t.Errorf("%v, want %v of %s", err, want, listener)
		}
	}
	d := s.divide(0)
	d.rows[1] = math.MaxUint32 - 1 // one more can be numbered
	m := &maker{layout: layout, keyer: newKeyer(comparisons(inputs, report.FoldNone))}
	expect(d.read(1, m, inputs[1], nil), errNumbers, `"b"`)
	if d.rows[1] != math.MaxUint32 {
		t.Errorf("%d rows", d.rows[1])
	}

	full := &held{blocks: make([][]byte, noPlace/blockPlaces)}
	if err := full.add(make(record, recordHead)); !errors.Is(err, errHeld) {
		t.Errorf("no place: %v", err)
	}
	if err := (&held{blocks: full.blocks[1:]}).add(make(record, recordHead)); err != nil {
		t.Errorf("the last place: %v", err)
	}
	// 8 GB is the maximum of limits.fold_bytes.
	for _, size := range []int{blockBytes / 2, blockBytes, 2 * blockBytes} {
		size += placeBytes // so that a block has room for one less
		if places := (8 << 30) / size * blocksOf(size); places > len(full.blocks)/2 {
			t.Errorf("rows of %d bytes take %d blocks", size, places)
		}
	}
	_, err = (&run{scratch: to, blocks: make([]extent, len(full.blocks)+1)}).load(inputs[1])
	expect(err, errHeld, `"b"`)
	if _, err := endRecord(make(record, sizeMask+1)); !errors.Is(err, errLargeRow) { // nothing is in it, so that it takes no memory
		t.Errorf("a row: %v", err)
	}
	if _, err := s.joinDivided(part{{}, {}}, deepest+1); err == nil || !strings.Contains(err.Error(), "limits.fold_bytes") {
		t.Errorf("what cannot be divided: %v", err)
	}
}
