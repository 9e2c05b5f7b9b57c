package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/scripts/tally"
)

// Tally reads the counters of what happened to jobs, which schedulers keep in Redis.
type Tally struct{ o *Options }

// maxTimes is the maximum number of times that Read reads.
const maxTimes = 3000

// Read returns what happened between two times, in buckets of a step, the oldest first. The first one has from. A
// step is a multiple of a minute, an hour or a day; the finer it is, the shorter the counters are kept: what has
// expired has empty buckets.
func (t Tally) Read(ctx context.Context, from, to time.Time, step time.Duration) ([]tally.Bucket, error) {
	level, err := tally.LevelFor(step)
	if err != nil {
		return nil, err
	}
	each := int64(step / level.Of) // times of a bucket
	first := level.Number(from) / each
	n := level.Number(to.Add(-time.Millisecond))/each - first + 1
	if n < 0 || n*each > maxTimes {
		return nil, fmt.Errorf("counters of %d times at once: at most %d", n*each, maxTimes)
	}
	buckets := make([]tally.Bucket, n)
	for i := range buckets {
		buckets[i] = tally.NewBucket(level.Start((first + int64(i)) * each))
	}
	for p, s := range t.o.Scripts {
		times, err := s.Tally.Read(ctx, level, first*each, n*each)
		if err != nil {
			return nil, err
		}
		for i, counters := range times {
			b := &buckets[int64(i)/each]
			versions := b.Versions
			if b.Fill(counters); p > 0 {
				b.Versions = versions // every partition notes new ones, a moment later
			}
		}
	}
	return buckets, nil
}
