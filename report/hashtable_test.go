package report

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestHashtable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "ab", "abc", "c", "d", "e", "f", "g"}), 0, 60).Draw(t, "keys")
		table, err := newHashtable(len(keys))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]int32{}
		for row := len(keys) - 1; row >= 0; row-- {
			if err := table.prepend(int32(row), []byte(keys[row])); err != nil {
				t.Fatal(err)
			}
			want[keys[row]] = append([]int32{int32(row)}, want[keys[row]]...)
		}
		for _, key := range []string{"", "a", "b", "ab", "abc", "c", "d", "e", "f", "g", "not there"} {
			var got []int32
			for row := table.first([]byte(key)); row != noRow; row = table.next(row) {
				got = append(got, row)
			}
			if !slices.Equal(got, want[key]) {
				t.Fatalf("key %q has rows %v, want %v", key, got, want[key])
			}
		}
	})
}
