package fold

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
	"github.com/fanfold/fanfold/report"
)

// blockBytes is the size of the blocks of rows in memory and in the scratch file.
const blockBytes = 128 << 10

// TestSpilledIsPlain checks that with too little memory the file is the same, byte for byte.
func TestSpilledIsPlain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	values := map[report.Kind]*rapid.Generator[any]{
		report.KindInteger: rapid.OneOf(rapid.SampledFrom([]any{nil, 0, 1, -1, 1 << 60, -1 << 60}), rapid.Map(rapid.IntRange(0, 40), func(n int) any { return n })),
		report.KindDecimal: rapid.SampledFrom([]any{nil, "0.00", "1.0", "2", "10.0", "-0", "1e3"}),
		report.KindText:    rapid.SampledFrom([]any{nil, "1", "01", "a", "A", "", "b\"\n", "2.0", "é", "É"}),
	}
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "keys")
		r := &report.Report{}
		collation := rapid.SampledFrom([]string{"", "utf8mb4_bin", "utf8mb4_general_ci"}).Draw(t, "collation")
		for k := range keys {
			r.Join.Keys = append(r.Join.Keys, fmt.Sprint("k", k))
		}
		kinds := rapid.SampledFrom([][]report.Kind{{report.KindInteger}, {report.KindText}, {report.KindInteger, report.KindDecimal, report.KindText}}).Draw(t, "kinds")
		constant := rapid.IntRange(0, 3).Draw(t, "one key only") == 0
		columns, tables := map[string][]dataset.Column{}, map[string][][]any{}
		for n := range rapid.IntRange(2, 4).Draw(t, "listeners") {
			name := fmt.Sprint("l", n)
			joined := report.Joined{Listener: name, Keys: r.Join.Keys}
			if n > 0 {
				joined.Type = rapid.SampledFrom([]report.JoinType{report.Inner, report.Left, report.Left, report.Full, report.Full}).Draw(t, "type")
			}
			r.Join.Listeners = append(r.Join.Listeners, joined)
			for _, key := range r.Join.Keys {
				columns[name] = append(columns[name], dataset.Column{Name: key, Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Collation: collation})
			}
			columns[name] = append(columns[name], dataset.Column{Name: "v", Kind: report.KindText}, dataset.Column{Name: "w", Kind: report.KindInteger})
			for i := range rapid.IntRange(0, 30).Draw(t, "rows") {
				var row []any
				for _, c := range columns[name][:keys] {
					value := values[c.Kind].Draw(t, "key")
					if constant && (n > 0 || value != nil) {
						value = map[report.Kind]any{report.KindInteger: 1, report.KindDecimal: "1.0", report.KindText: "1"}[c.Kind]
					}
					row = append(row, value)
				}
				tables[name] = append(tables[name], append(row, rapid.SampledFrom([]any{fmt.Sprint(name, ",", i), fmt.Sprint("=", name, i)}).Draw(t, "v"), i))
				if constant && i == 5 {
					break // or the product is too large
				}
			}
		}
		// The columns of all listeners, in any order.
		var shown []report.FileColumn
		for _, key := range r.Join.Keys {
			shown = append(shown, column(key, "", key))
		}
		for name := range tables {
			shown = append(shown, column(name+"v", name, "v"), column(name+"w", name, "w"), column(name+"k", name, "k0"))
		}
		r.File.Columns = rapid.Permutation(shown).Draw(t, "columns")[:rapid.IntRange(1, len(shown)).Draw(t, "shown")]
		drawOptions(t, &r.File)
		perChunk := rapid.IntRange(1, 8).Draw(t, "per chunk")
		fold := func(budget Budget) (folded, string) {
			sets := map[string]Dataset{}
			for name := range columns {
				sets[name] = datasettest.Of(t, columns[name], perChunk, tables[name]...)
			}
			var out bytes.Buffer
			made, err := foldTo(r, sets, &out, budget)
			if err != nil {
				t.Fatal(err)
			}
			return made, out.String()
		}
		want, plain := fold(Budget{})
		files := &scratchFiles{t: t, dir: dir}
		got, spilled := fold(Budget{Bytes: rapid.SampledFrom([]int64{1, 100, 500, blockBytes + 1000, 2*blockBytes + 1000}).Draw(t, "budget"), Scratch: files.make})
		if !cmp.Equal(got, want) || spilled != plain {
			t.Fatalf("%+v\n%s\nwant %+v\n%s", got, spilled, want, plain)
		}
		files.closed(files.made)
	})
}

// wide returns a report of two datasets with a text of this length.
func wide(t datasettest.TB, kind report.JoinType, left, right []int, length int) (*report.Report, func() map[string]Dataset) {
	r := &report.Report{
		Join: report.Join{Keys: []string{"k"}, Listeners: []report.Joined{{Listener: "a", Keys: []string{"k"}}, {Listener: "b", Type: kind, Keys: []string{"k"}}}},
		File: report.File{Format: "csv", Columns: []report.FileColumn{column("k", "", "k"), column("a", "a", "v"), column("b", "b", "v")}},
	}
	text := strings.Repeat("x", length)
	return r, func() map[string]Dataset {
		sets := map[string]Dataset{}
		for name, keys := range map[string][]int{"a": left, "b": right} {
			var rows [][]any
			for i, key := range keys {
				rows = append(rows, []any{key, fmt.Sprint(i, text)})
			}
			sets[name] = datasettest.Of(t, datasettest.Columns("k", "integer", "v", "text"), 100, rows...)
		}
		return sets
	}
}

// TestSpillOfOneKey joins rows of one key, which cannot be partitioned and are read repeatedly.
func TestSpillOfOneKey(t *testing.T) {
	t.Parallel()
	some, same := make([]int, 40), make([]int, 3000)
	for i := range some {
		some[i] = i % 20
	}
	for i := range same {
		same[i] = 7
		if i%100 == 0 {
			same[i] = i / 100
		}
	}
	for _, kind := range []report.JoinType{report.Inner, report.Left, report.Full} {
		r, sets := wide(t, kind, some, same, 1000)
		var plain, spilled bytes.Buffer
		want, err := foldTo(r, sets(), &plain, Budget{})
		if err != nil {
			t.Fatal(err)
		}
		files := &scratchFiles{t: t, dir: t.TempDir()}
		got, err := foldTo(r, sets(), &spilled, Budget{Bytes: 1 << 20, Scratch: files.make})
		if err != nil || got.Rows != want.Rows || !bytes.Equal(plain.Bytes(), spilled.Bytes()) {
			t.Errorf("%s: %d rows, want %d, error %v", kind, got.Rows, want.Rows, err)
		}
		files.closed(1)
	}
}

// TestSpillOfLongRows joins rows that are longer than a block.
func TestSpillOfLongRows(t *testing.T) {
	t.Parallel()
	var keys []int
	for i := range 30 {
		keys = append(keys, i*7%30)
	}
	r, sets := wide(t, report.Full, keys, keys[5:], 2*blockBytes+100)
	var plain, spilled bytes.Buffer
	want, err := foldTo(r, sets(), &plain, Budget{})
	if err != nil {
		t.Fatal(err)
	}
	files := &scratchFiles{t: t, dir: t.TempDir()}
	got, err := foldTo(r, sets(), &spilled, Budget{Bytes: 1 << 20, Scratch: files.make})
	if err != nil || got.Rows != want.Rows || !bytes.Equal(plain.Bytes(), spilled.Bytes()) {
		t.Errorf("%d rows, want %d, error %v", got.Rows, want.Rows, err)
	}
	files.closed(1)
}

// TestSpillFails checks that every error ends the fold, and that the files are closed.
func TestSpillFails(t *testing.T) {
	t.Parallel()
	var keys []int
	for i := range 2000 {
		keys = append(keys, i%1000)
	}
	r, sets := wide(t, report.Inner, keys, keys, 10_000)
	for _, free := range []int64{1, 4 << 20} { // the file would get 12 MB
		files := &scratchFiles{t: t, dir: t.TempDir(), free: free}
		_, err := foldTo(r, sets(), io.Discard, Budget{Bytes: 1 << 20, Scratch: files.make})
		if !errors.Is(err, errDisk) {
			t.Errorf("with %d bytes: %v", free, err)
		}
		files.closed(1)
	}
	files := &scratchFiles{t: t, dir: t.TempDir()}
	if _, err := foldTo(r, sets(), &fullDisk{}, Budget{Bytes: 1 << 20, Scratch: files.make}); !errors.Is(err, errDisk) {
		t.Errorf("no output: %v", err)
	}
	files.closed(1)
	broken := sets()
	broken["a"].(*datasettest.Memory).Err = errDisk
	if _, err := foldTo(r, broken, io.Discard, Budget{Bytes: 1 << 20, Scratch: files.make}); !errors.Is(err, errDisk) {
		t.Errorf("no dataset: %v", err)
	}
	files.closed(1)
	missing := func() (Scratch, error) { return nil, errDisk }
	if _, err := foldTo(r, sets(), io.Discard, Budget{Bytes: 1 << 20, Scratch: missing}); !errors.Is(err, errDisk) {
		t.Errorf("no file: %v", err)
	}
}

func BenchmarkSpill(b *testing.B) {
	chunks, size := datasettest.SampleChunks(b, 1_000_000)
	r := benchmarkReport(report.Inner)
	files := &scratchFiles{t: b, dir: b.TempDir()}
	b.SetBytes(2 * size)
	b.ReportAllocs()
	for b.Loop() {
		made, err := foldTo(r, map[string]Dataset{"a": datasettest.Sample(chunks, 1_000_000), "b": datasettest.Sample(chunks, 1_000_000)}, io.Discard, Budget{Bytes: 16 << 20, Scratch: files.make})
		if err != nil || made.Rows != 1_000_000 {
			b.Fatal(made.Rows, err)
		}
	}
}
