package report

import (
	"math"
	"time"
)

// foldTime is what a report's default timeout leaves for the fold.
const foldTime = 10 * time.Minute

// forever is where sums of durations stop growing.
const forever = time.Duration(math.MaxInt64)

// DefaultTimeout returns the timeout of a report that gives none: for each stage
// what the longest of its listeners can take with all its retries, and for the
// end ten minutes and the delays of the fold's own retries. A sum that no
// time.Duration can hold is the longest one.
func (r *Report) DefaultTimeout() time.Duration {
	return plus(r.stagesTime(), plus(foldTime, r.Retry.Total()))
}

// stagesTime returns what the stages can take.
func (r *Report) stagesTime() time.Duration {
	var total time.Duration
	for _, l := range r.longestListeners() {
		total = plus(total, l.total())
	}
	return total
}

// longestListeners returns for each stage the listener that can take the longest.
func (r *Report) longestListeners() []*Listener {
	var longest []*Listener
	for s := range r.Stages {
		var most *Listener
		for i := range r.Stages[s].Listeners {
			if l := &r.Stages[s].Listeners[i]; most == nil || l.total() > most.total() {
				most = l
			}
		}
		if most != nil {
			longest = append(longest, most)
		}
	}
	return longest
}

// total returns what all tries of a listener can take, and the delays between them;
// where it waits for a job of an API, all of that together.
func (l *Listener) total() time.Duration {
	if l.HTTP != nil && l.HTTP.Submit != nil {
		return l.HTTP.Total
	}
	sum := l.Retry.Total()
	for range l.Retry.Retries + 1 {
		sum = plus(sum, l.try())
	}
	return sum
}

// try returns what one try can take: an external worker may also be silent at its end.
func (l *Listener) try() time.Duration { return plus(l.Timeout, l.Silence) }

// plus adds durations that are not negative.
func plus(a, b time.Duration) time.Duration {
	if a > forever-b {
		return forever
	}
	return a + b
}
