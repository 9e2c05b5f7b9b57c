package past

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

const (
	// kept is how many runs of a report are remembered.
	kept = 50
	// first is how many events of a stream are read the first time, and maxRead later.
	first, maxRead = 5000, 1000
	// Every is the minimum time between two reads.
	Every = 5 * time.Second
	// readTime bounds the wait for a stream.
	readTime = 3 * time.Second
	// enough is the minimum number of runs for an estimate.
	enough = 3
)

// Runs remembers how long the newest runs of every report took. It is safe for concurrent use.
type Runs struct {
	redis   redis.UniversalClient
	streams []string // the streams of events

	mu      sync.Mutex
	reading bool              // a caller is reading
	read    time.Time         // when the streams were last read
	last    map[string]string // stream → newest entry that was read
	took    map[string][]time.Duration
}

// New returns Runs that reads streams of events. It does no I/O.
func New(client redis.UniversalClient, streams ...string) *Runs {
	return &Runs{redis: client, streams: streams, last: map[string]string{}, took: map[string][]time.Duration{}}
}

// Of returns how long the newest runs of a report took. It first reads the events since the last
// call, at most once per Every and by one caller at a time; other callers get what is known. If a
// stream cannot be read, the caller that read gets the error beside the durations of the other
// streams.
func (r *Runs) Of(ctx context.Context, report string) (Durations, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if !r.reading && time.Since(r.read) >= Every {
		r.reading = true
		err = r.refresh(ctx)
		r.reading, r.read = false, time.Now()
	}
	all := slices.Clone(r.took[report])
	slices.Sort(all)
	return all, err
}

// refresh reads the newest events of all streams at once. Of more than maxRead new events it skips
// the oldest. It unlocks r while it waits for Redis.
func (r *Runs) refresh(ctx context.Context) error {
	last := maps.Clone(r.last)
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	found, failed := make([][]redis.XMessage, len(r.streams)), make([]error, len(r.streams))
	var reads sync.WaitGroup
	for i, stream := range r.streams {
		reads.Go(func() {
			from, count := "-", int64(first)
			if last[stream] != "" {
				from, count = "("+last[stream], maxRead
			}
			if found[i], failed[i] = r.redis.XRevRangeN(ctx, stream, "+", from, count).Result(); failed[i] != nil {
				failed[i] = fmt.Errorf("events %s: %w", stream, failed[i])
			}
		})
	}
	reads.Wait()
	r.mu.Lock()
	for i, entries := range found {
		for _, e := range slices.Backward(entries) {
			r.last[r.streams[i]] = e.ID
			r.add(e.Values)
		}
	}
	return errors.Join(failed...)
}

func (r *Runs) add(event map[string]any) {
	text := func(name string) string {
		value, _ := event[name].(string)
		return value
	}
	ms, err := strconv.ParseInt(text("ms"), 10, 64)
	if name := text("report"); err == nil && text("event") == "finished" && report.Status(text("status")).HasFile() {
		all := append(r.took[name], time.Duration(ms)*time.Millisecond)
		r.took[name] = all[max(0, len(all)-kept):]
	}
}

// Durations are the durations of earlier runs, the shortest first.
type Durations []time.Duration

// Known tells whether there are enough durations for an estimate.
func (d Durations) Known() bool { return len(d) >= enough }

// At returns the duration that a fraction of the runs did not exceed: the median with 0.5.
func (d Durations) At(part float64) time.Duration {
	return d[min(len(d)-1, int(part*float64(len(d))))]
}

// Left estimates how much longer a run takes after elapsed, by the median. It is negative if the
// run has exceeded the median, and 0 if nothing is known.
func (d Durations) Left(elapsed time.Duration) time.Duration {
	if !d.Known() {
		return 0
	}
	if left := d.At(0.5) - elapsed; left != 0 {
		return left
	}
	return -1
}
