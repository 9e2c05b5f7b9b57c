package tally

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Histogram counts durations. Bucket i has those up to 2^(i/2) ms, of which the last one, that ends after 12 days,
// also has all longer ones.
type Histogram map[int]int64

// lastBucket is the number of the last bucket.
const lastBucket = 60

func bucketOf(d time.Duration) int {
	ms := float64(d) / float64(time.Millisecond)
	return min(int(math.Ceil(2*math.Log2(max(ms, 1)))), lastBucket)
}

// Count returns how many durations the histogram has.
func (h Histogram) Count() (n int64) {
	for _, one := range h {
		n += one
	}
	return n
}

// Add adds the counts of another histogram.
func (h Histogram) Add(other Histogram) {
	for i, n := range other {
		h[i] += n
	}
}

// Quantile returns the duration that a share of the durations did not exceed: the geometric middle of its bucket,
// which is at most 19 % too high or too low. It returns 0 if the histogram is empty.
func (h Histogram) Quantile(share float64) time.Duration {
	left := int64(math.Ceil(share * float64(h.Count())))
	for _, i := range slices.Sorted(maps.Keys(h)) {
		if left -= h[i]; left <= 0 {
			return time.Duration(math.Exp2(max(float64(i)-0.5, 0)/2) * float64(time.Millisecond))
		}
	}
	return 0
}
