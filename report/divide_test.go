package report

import (
	"math"
	"slices"
	"testing"
)

// TestBounds: ranges are about equal, and none is smaller than it may be.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		least, greatest int64
		want            []int64
	}{
		{0, 39_999, []int64{10_000, 20_000, 30_000}},
		{1, 40_000, []int64{10_001, 20_001, 30_001}},
		{0, 39_998, []int64{13_333, 26_666}},
		{-20_000, -1, []int64{-10_000}},
		{0, 19_998, nil}, {0, 19_999, []int64{10_000}}, {7, 7, nil}, {7, 6, nil},
		{math.MinInt64, math.MaxInt64, []int64{-1 << 62, 0, 1 << 62}},
		{math.MaxInt64 - 20_000, math.MaxInt64, []int64{math.MaxInt64 - 9999}},
	} {
		if got := (Divide{Parts: 4}).Bounds(c.least, c.greatest, 10_000); !slices.Equal(got, c.want) {
			t.Errorf("%d to %d: %d, not %d", c.least, c.greatest, got, c.want)
		}
	}
	bounds := []int64{5, 9}
	for i, want := range []struct{ from, to int64 }{{0, 5}, {5, 9}, {9, 0}} {
		r := RangeOf(bounds, i)
		if (r.From == nil) != (want.from == 0) || (r.To == nil) != (want.to == 0) || r.From != nil && *r.From != want.from ||
			r.To != nil && *r.To != want.to {
			t.Errorf("range %d: %v", i, r)
		}
	}
}
