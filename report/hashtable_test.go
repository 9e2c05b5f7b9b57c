package report

import (
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// textKey is the key of a text that is no number.
func textKey(text string) joinKey {
	return joinKey{maphash.String(hashSeed, text), append([]byte{}, text...)}
}

func hold(t fataler, h *held, k joinKey, row string) {
	t.Helper()
	r, err := endRecord(append(beginRecord(nil, k, true), row...))
	if err == nil {
		err = h.add(r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestHashtable(t *testing.T) {
	t.Parallel()
	var keys []joinKey
	for _, text := range []string{"", "a", "b", "ab", "abc"} {
		keys = append(keys, textKey(text))
	}
	for _, n := range []int64{0, 1, -1, 1 << 40} {
		keys = append(keys, joinKey{word: uint64(n)})
	}
	same := textKey("a")
	keys = append(keys, joinKey{word: same.word}, joinKey{same.word, []byte("c")}) // other keys with its hash
	rapid.Check(t, func(t *rapid.T) {
		h, want := &held{}, make([][]string, len(keys))
		for range rapid.IntRange(0, 60).Draw(t, "rows") {
			i := rapid.IntRange(0, len(keys)-2).Draw(t, "key")
			row := strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 7, 8, 100, blockBytes / 2, blockBytes, 3 * blockBytes}).Draw(t, "length"))
			hold(t, h, keys[i], row)
			want[i] = append(want[i], row)
		}
		table := newHashtable(h)
		for i, k := range keys {
			var got []string
			if last := table.find(k); last != noPlace {
				for place := h.at(last).link(); ; place = h.at(place).link() {
					got = append(got, string(h.at(place).row()))
					if place == last {
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

func BenchmarkHashtable(b *testing.B) {
	const rows = 1_000_000
	h := &held{}
	for i := range rows {
		hold(b, h, joinKey{word: uint64(i) * 7919 % rows}, strings.Repeat("x", 60))
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
			if t.find(joinKey{word: rand.Uint64N(rows)}) == noPlace {
				b.Fatal("not there")
			}
		}
	})
}
