package report

import (
	"math"
	"time"
)

// foldTime is the time for the fold in the default timeout of a report.
const foldTime = 10 * time.Minute

// Forever is the maximum of sums of durations.
const Forever = time.Duration(math.MaxInt64)

// DefaultTimeout returns the timeout of a report that sets none: StagesTime, ten minutes for
// the fold, and the delays of its retries. It is Forever if the sum is too large for a
// time.Duration.
func (r *Report) DefaultTimeout() time.Duration {
	return plus(r.StagesTime(), plus(foldTime, r.Retry.Total()))
}

// StagesTime returns the maximum time of all stages, with all retries.
func (r *Report) StagesTime() time.Duration {
	var total time.Duration
	for _, l := range r.LongestListeners() {
		total = plus(total, l.Total())
	}
	return total
}

// LongestListeners returns the listener with the longest Total of every stage.
func (r *Report) LongestListeners() []*Listener {
	var longest []*Listener
	for s := range r.Stages {
		var most *Listener
		for i := range r.Stages[s].Listeners {
			if l := &r.Stages[s].Listeners[i]; most == nil || l.Total() > most.Total() {
				most = l
			}
		}
		if most != nil {
			longest = append(longest, most)
		}
	}
	return longest
}

// Total returns the maximum time of all tries of a listener with the delays between them. For
// a job of an API it is the listener's total.
func (l *Listener) Total() time.Duration {
	if l.Overall > 0 {
		return l.Overall
	}
	sum := l.Retry.Total()
	for range l.Retry.Retries + 1 {
		sum = plus(sum, l.Try())
	}
	return sum
}

// Try returns the maximum time of one try, with the silence of an external worker at its end.
func (l *Listener) Try() time.Duration { return plus(l.Timeout, l.Silence) }

// plus adds durations that are not negative.
func plus(a, b time.Duration) time.Duration {
	if a > Forever-b {
		return Forever
	}
	return a + b
}
