package report

import (
	"math/rand/v2"
	"time"
)

// Retry says how often and when a step that failed is tried again. Permanent
// errors are not tried again, and an outage of a server uses no try.
type Retry struct {
	Retries     int           // after the first try
	Delay       time.Duration // before a retry
	Exponential bool          // the delay doubles with each retry, up to MaxDelay, with jitter
	MaxDelay    time.Duration // default 1h; of no meaning for a fixed delay
}

// DefaultRetry is what a report has that gives nothing else.
var DefaultRetry = Retry{Retries: 6, Delay: time.Minute, MaxDelay: time.Hour}

// Longest returns the longest delay before a retry, counted from 1.
func (r Retry) Longest(retry int) time.Duration {
	d := r.Delay
	for i := 1; r.Exponential && i < retry && d < r.MaxDelay; i++ {
		d *= 2
	}
	if r.Exponential {
		d = min(d, r.MaxDelay)
	}
	return d
}

// Before returns the delay before a retry, counted from 1: for an exponential
// one anything from half of the longest to the longest, so that what failed
// together does not come back together.
func (r Retry) Before(retry int) time.Duration {
	d := r.Longest(retry)
	if r.Exponential && d > 1 {
		d = d/2 + rand.N(d/2+1)
	}
	return d
}

// Outage returns the pause before a step comes again that a server was away for.
// It uses no try, and servers are often back soon.
func (r Retry) Outage() time.Duration { return min(r.Delay, 5*time.Second) }

// Total returns the longest time that all retries wait together.
func (r Retry) Total() time.Duration {
	var total time.Duration
	for i := range r.Retries {
		total += r.Longest(i + 1)
	}
	return total
}
