package past

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

const (
	// kept is how many runs of a report are remembered.
	kept = 50
	// first is how many events of a partition are read the first time, and maxRead later.
	first, maxRead = 5000, 1000
	// Every is the minimum time between two reads.
	Every = 5 * time.Second
	// readTime bounds the wait for a partition.
	readTime = 3 * time.Second
	// enough is the minimum number of runs for an estimate.
	enough = 3
)

// Runs remembers how long the newest runs of every report took. It is safe for concurrent use.
type Runs struct {
	parts scripts.Partitions

	mu      sync.Mutex
	reading bool      // a caller is reading
	read    time.Time // when the events were last read
	last    []string  // the newest event that was read, by partition
	took    map[string][]time.Duration
}

// New returns Runs that reads the events of partitions. It does no I/O.
func New(parts ...*scripts.Scripts) *Runs {
	return &Runs{parts: parts, last: make([]string, len(parts)), took: map[string][]time.Duration{}}
}

// Of returns how long the newest runs of a report took. It first reads the events since the last
// call, at most once per Every and by one caller at a time; other callers get what is known. If a
// partition cannot be read, the caller that read gets the error beside the durations of the others.
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

// refresh reads the newest events of all partitions at once. Of more than maxRead new events it skips
// the oldest. It unlocks r while it waits for Redis.
func (r *Runs) refresh(ctx context.Context) error {
	last := slices.Clone(r.last)
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	found, failed := make([][]scripts.Entry, len(r.parts)), make([]error, len(r.parts))
	var reads sync.WaitGroup
	for i, s := range r.parts {
		reads.Go(func() {
			count := int64(first)
			if last[i] != "" {
				count = maxRead
			}
			found[i], failed[i] = s.Entries.Newest(ctx, s.Keys.Events, last[i], "", count)
		})
	}
	reads.Wait()
	r.mu.Lock()
	for i, entries := range found {
		for _, e := range slices.Backward(entries) {
			r.last[i] = e.ID
			r.add(e.Fields)
		}
	}
	return errors.Join(failed...)
}

func (r *Runs) add(event map[string]string) {
	ms, err := strconv.ParseInt(event["ms"], 10, 64)
	if name := event["report"]; err == nil && event["event"] == "finished" && report.Status(event["status"]).HasFile() {
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
