package recovery

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// BenchmarkSnapshot measures a snapshot of 100,000 ids of which one has changed.
func BenchmarkSnapshot(b *testing.B) {
	x := newBench(b)
	s := newSnapshotter(x.recovery())
	defer s.release(b.Context())
	const size, page = 100_000, 10_000
	for from := 0; from < size; from += page {
		var members []redis.Z
		for i := from; i < from+page; i++ {
			members = append(members, redis.Z{Member: strconv.Itoa(1_000_000 + i), Score: float64(1_770_000_000_000 + i*7919%(30*24*3600*1000))})
		}
		if err := x.client.ZAdd(b.Context(), x.scripts.Keys.Delayed, members...).Err(); err != nil {
			b.Fatal(err)
		}
	}
	x.snapshot(s)
	stored := 0
	for _, p := range x.tables.parts {
		stored += len(p.Data)
	}
	b.ReportAllocs()
	n := 0.0
	for b.Loop() {
		n++
		x.add(x.scripts.Keys.Delayed, "1000000", n)
		s.next = time.Time{}
		x.snapshot(s)
	}
	b.ReportMetric(float64(stored)/size, "bytes/member")
}
