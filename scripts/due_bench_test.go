package scripts

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// fill adds what is due in an hour.
func fill(b *testing.B, client *redis.Client, add func(p redis.Pipeliner, name string, due time.Time)) {
	b.Helper()
	due := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	if _, err := client.Pipelined(b.Context(), func(p redis.Pipeliner) error {
		for i := range 1000 {
			add(p, strconv.Itoa(i), due)
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkDue measures a look at 1,000 ids none of which is due.
func BenchmarkDue(b *testing.B) {
	s, client := newScripts(b)
	fill(b, client, func(p redis.Pipeliner, name string, due time.Time) {
		p.ZAdd(b.Context(), s.Keys.Delayed, redis.Z{Score: float64(due.UnixMilli()), Member: name})
	})
	for b.Loop() {
		if due, err := s.Clock.Due(b.Context(), 100, 0); err != nil || len(due.Members) > 0 {
			b.Fatal(due, err)
		}
	}
}

// BenchmarkDueTimers measures the same of timers.
func BenchmarkDueTimers(b *testing.B) {
	s, client := newScripts(b)
	fill(b, client, func(p redis.Pipeliner, name string, due time.Time) {
		p.ZAdd(b.Context(), s.Keys.Timers, redis.Z{Score: float64(due.UnixMilli()), Member: name})
	})
	for b.Loop() {
		if due, _, _, err := s.Timers.Due(b.Context(), 100, 0); err != nil || len(due) > 0 {
			b.Fatal(due, err)
		}
	}
}

// BenchmarkScanTimers measures a scan over the keys of 1,000 timers that are all
// known, and what else is in the db.
func BenchmarkScanTimers(b *testing.B) {
	s, client := newScripts(b)
	fill(b, client, func(p redis.Pipeliner, name string, due time.Time) {
		p.Set(b.Context(), s.Keys.Timer(name), "", 0)
		p.PExpireAt(b.Context(), s.Keys.Timer(name), due)
		p.ZAdd(b.Context(), s.Keys.Timers, redis.Z{Score: float64(due.UnixMilli()), Member: name})
	})
	for b.Loop() {
		for cursor := uint64(0); ; {
			names, next, err := s.Timers.Scan(b.Context(), cursor, 1000)
			if err != nil || len(names) > 0 {
				b.Fatal(names, err)
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
}
