package report

import (
	"math"
	"time"
)

// foldTime is the part of a report's default timeout for the fold.
const foldTime = 10 * time.Minute

// Forever is where sums of durations stop growing.
const Forever = time.Duration(math.MaxInt64)

// DefaultTimeout returns the timeout of a report that gives none: for each stage
// what the longest of its listeners can take with all its retries, and for the end ten
// minutes and the delays of the fold's own retries; Forever if a time.Duration cannot hold
// the sum.
func (r *Report) DefaultTimeout() time.Duration {
	return plus(r.StagesTime(), plus(foldTime, r.Retry.Total()))
}

// StagesTime returns what the stages can take.
func (r *Report) StagesTime() time.Duration {
	var total time.Duration
	for _, l := range r.LongestListeners() {
		total = plus(total, l.Total())
	}
	return total
}

// LongestListeners returns for each stage the listener that can take the longest.
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

// Total returns what all tries of a listener can take, and the delays between them;
// where it waits for a job of an API, all of that together.
func (l *Listener) Total() time.Duration {
	if l.HTTP != nil && l.HTTP.Submit != nil {
		return l.HTTP.Total
	}
	sum := l.Retry.Total()
	for range l.Retry.Retries + 1 {
		sum = plus(sum, l.Try())
	}
	return sum
}

// Try returns what one try can take: an external worker may also be silent at its end.
func (l *Listener) Try() time.Duration { return plus(l.Timeout, l.Silence) }

// plus adds durations that are not negative.
func plus(a, b time.Duration) time.Duration {
	if a > Forever-b {
		return Forever
	}
	return a + b
}
