package op

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/dataset/datasettest"
)

func textKey(text string) Key { return TextKey([]byte(text)) }

func addRow(t datasettest.TB, a *arena, k Key, row string) {
	t.Helper()
	r, err := endRecord(append(beginRecord(nil, k, true), row...))
	if err == nil {
		err = a.add(r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestHashtable(t *testing.T) {
	t.Parallel()
	var keys []Key
	for _, text := range []string{"", "a", "b", "ab", "abc"} {
		keys = append(keys, textKey(text))
	}
	for _, n := range []int64{0, 1, -1, 1 << 40} {
		keys = append(keys, Key{word: uint64(n)})
	}
	same := textKey("a")
	// Other keys with the same hash.
	keys = append(keys, Key{word: textKey("").word}, Key{word: same.word}, Key{same.word, []byte("c")})
	rapid.Check(t, func(t *rapid.T) {
		h, want := &arena{}, make([][]string, len(keys))
		for range rapid.IntRange(0, 60).Draw(t, "rows") {
			i := rapid.IntRange(0, len(keys)-2).Draw(t, "key")
			row := strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 7, 8, 100, blockBytes / 2, blockBytes, 3 * blockBytes}).Draw(t, "length"))
			addRow(t, h, keys[i], row)
			want[i] = append(want[i], row)
		}
		table := newHashtable(h)
		for i, k := range keys {
			var got []string
			if last := table.find(k); last != noRef {
				for ref := h.at(last).link(); ; ref = h.at(ref).link() {
					got = append(got, string(h.at(ref).row()))
					if ref == last {
						break
					}
				}
			}
			if !slices.Equal(got, want[i]) {
				t.Fatalf("key %v has %d rows, want %d", k, len(got), len(want[i]))
			}
		}
	})
}

// TestArena checks that records are found at their refs, also after adopted blocks.
func TestArena(t *testing.T) {
	t.Parallel()
	h, adopted := &arena{}, &arena{}
	addRow(t, adopted, Key{word: 100}, strings.Repeat("a", blockBytes-100))
	var words []uint64
	for i, length := range []int{10, 2 * blockBytes, 10, 10} {
		words = append(words, uint64(i), 100)
		addRow(t, h, Key{word: uint64(i)}, strings.Repeat("x", length))
		if err := h.adopt(slices.Clip(adopted.blocks[0])); err != nil {
			t.Fatal(err)
		}
	}
	var got []uint64
	for ref, r := range h.all {
		if got = append(got, r.word()); h.at(ref).word() != r.word() {
			t.Errorf("ref %d has %d, not %d", ref, h.at(ref).word(), r.word())
		}
	}
	if !slices.Equal(got, words) {
		t.Errorf("%v, want %v", got, words)
	}
}

func BenchmarkHashtable(b *testing.B) {
	const rows = 1_000_000
	h := &arena{}
	for i := range rows {
		addRow(b, h, Key{word: uint64(i) * 7919 % rows}, strings.Repeat("x", 60))
	}
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			newHashtable(h)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	})
	b.Run("find", func(b *testing.B) {
		t := newHashtable(h)
		for b.Loop() {
			if t.find(Key{word: rand.Uint64N(rows)}) == noRef {
				b.Fatal("not there")
			}
		}
	})
}
