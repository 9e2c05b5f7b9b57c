package dashboard

import (
	"math"
	"time"

	"github.com/fanfold/fanfold/inspect"
)

// hour is the time that the history covers.
const hour = time.Hour

// history has the last hour: one point per sample for the charts, and the tries of every minute.
type history struct {
	points  []point
	minutes []tries
	last    time.Time // of the last sample
}

type point struct {
	at                    time.Time
	running, waiting, lag float64
	succeeded, failed     float64 // since the previous point
	oldest, late          float64 // seconds
}

// tries counts the tries of listeners since a time: of one minute of the history, or of all of it.
type tries struct {
	since  time.Time
	failed map[string]int        // by step
	took   map[string]*durations // of queries that succeeded, by listener
}

func (h *history) add(at time.Time, f inspect.Sums, counts inspect.Counts) {
	p := point{at: at, running: f.Of("jobs_running", ""), waiting: f.Of("jobs_waiting", "")}
	for key, value := range f {
		switch key[0] {
		case "tasks_lag":
			p.lag += value
		case "tasks_oldest_seconds":
			p.oldest = max(p.oldest, value)
		case "delayed_overdue_seconds", "timers_overdue_seconds", "timeout_overdue_seconds":
			p.late = max(p.late, value)
		}
	}
	for status, n := range counts.Ended {
		if status.HasFile() {
			p.succeeded += float64(n)
		} else {
			p.failed += float64(n)
		}
	}
	for len(h.points) > 0 && at.Sub(h.points[0].at) > hour {
		h.points = h.points[1:]
	}
	h.points = append(h.points, p)
	for len(h.minutes) > 0 && at.Sub(h.minutes[0].since) > hour {
		h.minutes = h.minutes[1:]
	}
	if n := len(h.minutes); n == 0 || at.Sub(h.minutes[n-1].since) > time.Minute {
		since := at
		if !h.last.IsZero() {
			since = h.last // the counts are those since then
		}
		h.minutes = append(h.minutes, tries{since, map[string]int{}, map[string]*durations{}})
	}
	h.minutes[len(h.minutes)-1].add(counts)
	h.last = at
}

func (t *tries) add(counts inspect.Counts) {
	for step, n := range counts.Failed {
		t.failed[step] += n
	}
	for listener, all := range counts.Took {
		d := t.took[listener]
		if d == nil {
			d = &durations{}
			t.took[listener] = d
		}
		for _, took := range all {
			d[bucket(took)]++
		}
	}
}

// points returns a copy of the points of the charts.
func (s *sampler) points() []point {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]point(nil), s.history.points...)
}

// tries returns the tries of the last hour.
func (s *sampler) tries() tries {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := tries{failed: map[string]int{}, took: map[string]*durations{}}
	for i, minute := range s.history.minutes {
		if i == 0 {
			sum.since = minute.since
		}
		for step, n := range minute.failed {
			sum.failed[step] += n
		}
		for listener, d := range minute.took {
			if sum.took[listener] == nil {
				sum.took[listener] = &durations{}
			}
			sum.took[listener].add(d)
		}
	}
	return sum
}

// durations is a histogram. Bucket i counts durations up to 2^(i/4) ms; the last one ends at 18 hours.
type durations [105]int

func bucket(d time.Duration) int {
	ms := float64(d) / float64(time.Millisecond)
	return min(max(int(math.Ceil(4*math.Log2(max(ms, 1)))), 0), len(durations{})-1)
}

func (d *durations) add(more *durations) {
	for i, n := range more {
		d[i] += n
	}
}

func (d *durations) count() (n int) {
	for _, one := range d {
		n += one
	}
	return n
}

// quantile returns the upper bound of the bucket with the quantile, which is at most 19 % too high; 0 if the
// histogram is empty.
func (d *durations) quantile(share float64) time.Duration {
	left := int(math.Ceil(share * float64(d.count())))
	for i, n := range d {
		if left -= n; n > 0 && left <= 0 {
			return time.Duration(math.Exp2(float64(i)/4) * float64(time.Millisecond))
		}
	}
	return 0
}
