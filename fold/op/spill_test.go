package op

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
)

// texts are terms whose keys are integers in the first column of a table.
type texts struct {
	Ordered
	at []int // first cells
}

func (x *texts) key(cell []byte) (Key, bool, error) {
	n, err := strconv.ParseInt(string(cell), 10, 64)
	return IntKey(n), err == nil, nil
}

func (x *texts) Left(origin, _ int, row Row) (Key, bool, error) { return x.key(row[x.at[origin]]) }
func (x *texts) Right(_ int, row Row) (Key, bool, error)        { return x.key(row[0]) }
func (x *texts) Keep(int, Row) (bool, error)                    { return true, nil }
func (x *texts) Matches(int, Row) (bool, error)                 { return true, nil }

// TestSpillBegins checks that a join spills if all sides with their hash tables exceed the budget.
func TestSpillBegins(t *testing.T) {
	t.Parallel()
	const rows = 10_000
	const record = recordHead + 8 // the key is in the head, and the text is short
	b := dataset.NewBuilder(datasettest.Columns("k", "integer", "v", "text"))
	of := &datasettest.Memory{Of: datasettest.Columns("k", "integer", "v", "text")}
	for i := range rows {
		b.Int(0, int64(i*7919%rows))
		b.Text(1, []byte("x"))
		if err := b.EndRow(); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 999 {
			of.Fields = append(of.Fields, [][]byte{[]byte(string(b.Fields()[0])), []byte(string(b.Fields()[1]))})
			b.Reset()
		}
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
		f := &joining{Join: &Join{}, m: NewMemory(t.Context(), test.budget, nil)}
		for n := range 3 {
			table := &Table{
				Name: fmt.Sprint(n), Set: of, Cells: 2, Columns: []int{0, 1}, Kept: []int{1}, KeyColumns: []int{0},
				Kind: JoinKind{Left: true},
			}
			f.Tables = append(f.Tables, table)
			f.sides = append(f.sides, &side{Table: table, from: table})
		}
		err, spilled := f.readSides(&texts{}), 0
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

// TestPartComparesKeys checks that a part compares keys: an index stores only a part of their hash,
// so it can link rows of other keys to the number of a row. Rows of frequent keys stay in the scratch file.
func TestPartComparesKeys(t *testing.T) {
	t.Parallel()
	m := NewMemory(t.Context(), 0, func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") })
	defer m.Close()
	all := []Key{{word: 1}, {word: 2}, textKey("a"), textKey("b"), {word: 3}, textKey("c")}
	from := m.newRun()
	for range frequentBytes / 64 {
		for i, k := range all[:4] {
			size := 1
			if i%2 == 0 {
				size = 100
			}
			r, err := endRecord(append(beginRecord(nil, k, true), make([]byte, size)...))
			r.row()[0] = byte(i)
			if err := errors.Join(err, from.add(r)); err != nil {
				t.Fatal(err)
			}
		}
	}
	others, frequent, err := m.divideKeys(from)
	if err != nil || len(frequent) != 2 {
		t.Fatal(len(frequent), err)
	}
	p := &part{frequent: frequent}
	if p.arena, err = others.load(&Table{}); err != nil {
		t.Fatal(err)
	}
	p.table = newHashtable(p.arena)
	for i, k := range all {
		last, found := [batchRows]uint32{}, map[int]int{}
		p.findAll(&keys{all: []Key{k}, is: []keyIs{hasKey}}, &last)
		if last[0] != noRef {
			if err := p.each(last[0], k, func(r record) error { found[int(r.row()[0])]++; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if i < 4 && (len(found) != 1 || found[i] != frequentBytes/64) || i >= 4 && len(found) > 0 {
			t.Errorf("key %d finds %v", i, found)
		}
		if inside := last[0] == inFile; inside != (i == 0 || i == 2) {
			t.Errorf("key %d is in the scratch file: %v", i, inside)
		}
	}
}

// TestPartsThatFit checks that a part is loaded if it needs at most half of the memory.
func TestPartsThatFit(t *testing.T) {
	t.Parallel()
	const bytes, numbers, rows = 24_000, 10, 300
	table := tableBytes(rows)
	for name, test := range map[string]struct {
		left, minBytes int64
		fits           bool
	}{
		"all":                   {2 * (bytes + table), 0, true},
		"without the table":     {2*(bytes+table) - 1, 0, false},
		"what others have left": {0, 2 * (bytes + table), true},
	} {
		m := NewMemory(t.Context(), test.minBytes+1, nil)
		m.budget = test.minBytes
		m.left.Store(test.left)
		p := &partition{joining: &joining{m: m}}
		if fits := p.fits(storedPart{from: 5, to: 5 + numbers, runs: []*run{nil, {bytes: bytes, rows: rows}}}); fits != test.fits {
			t.Errorf("%s: %t", name, fits)
		}
	}
}

// largestFold is the maximum of limits.fold_bytes.
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
	to := &scratch{create: func() (Scratch, error) { return os.CreateTemp(t.TempDir(), "") }}
	defer to.Close()
	if _, err := to.write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_, err := (&run{scratch: to, blocks: make([]extent, len(full.blocks)+1)}).load(&Table{Name: "b"})
	if !errors.Is(err, errArena) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("a run: %v", err)
	}
	if _, err := endRecord(make(record, sizeMask+1)); !errors.Is(err, errLargeRow) { // nothing is in it, so that it takes no memory
		t.Errorf("a row: %v", err)
	}
}
