package scripts

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestScanTimers: a scan finds the keys of which the sets say something else, and
// those alone.
func TestScanTimers(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	due := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	other := due.Add(time.Minute)
	for _, c := range []struct {
		name   string
		key    time.Time // zero: it has no end
		set    string    // empty: in none
		score  time.Time
		recent bool // Fanfold has made an end of the key before
		found  bool
	}{
		{name: "known", key: due, set: s.Keys.Timers, score: due},
		{name: "unknown", key: due, found: true},
		{name: "extended", key: other, set: s.Keys.Timers, score: due, found: true},
		{name: "set-again", key: due, set: s.Keys.Timers, score: due, recent: true, found: true},
		{name: "paused", key: due, set: s.Keys.PausedTimers, score: due},
		{name: "paused-extended", key: other, set: s.Keys.PausedTimers, score: due, found: true},
		{name: "persists", set: s.Keys.Timers, score: due, found: true},
		{name: "persists-paused", set: s.Keys.PausedTimers, score: due},
		{name: "never-ends"},
	} {
		if err := client.Set(t.Context(), s.Keys.Timer(c.name), "", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if !c.key.IsZero() {
			client.PExpireAt(t.Context(), s.Keys.Timer(c.name), c.key)
		}
		if c.set != "" {
			client.ZAdd(t.Context(), c.set, redis.Z{Score: float64(c.score.UnixMilli()), Member: c.name})
		}
		if c.recent {
			client.ZAdd(t.Context(), s.Keys.RecentTimers, redis.Z{Score: float64(time.Now().UnixMilli()), Member: c.name})
		}
		if found := slices.Contains(scanAll(t, s), c.name); found != c.found {
			t.Errorf("%s: found %v, want %v", c.name, found, c.found)
		}
	}
}

func scanAll(t *testing.T, s *Scripts) (names []string) {
	t.Helper()
	for cursor := uint64(0); ; {
		some, next, err := s.Timers.Scan(t.Context(), cursor, 1000)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, some...)
		if cursor = next; cursor == 0 {
			return names
		}
	}
}
