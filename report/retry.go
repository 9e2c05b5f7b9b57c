package report

import (
	"math/rand/v2"
	"time"
)

// Retry defines how often and when a failed step is retried. Permanent errors are not
// retried, and an outage of a server does not count as a try.
type Retry struct {
	// Maximum number of retries after the first try; 0 means none
	Retries int `yaml:"retries" short:"" min:"0" max:"100"`
	// Pause before a retry
	Delay time.Duration `yaml:"delay"`
	// `exponential` doubles the delay with every retry, and shortens each by a random part, up to half of it
	Exponential bool `yaml:"backoff" enum:"fixed,exponential"`
	// Maximum of an exponential delay
	MaxDelay time.Duration `yaml:"max_delay" with:"backoff=exponential"`
}

// SetDefaults sets it to DefaultRetry.
func (r *Retry) SetDefaults() { *r = DefaultRetry }

// DefaultRetry is the retry policy of a report that sets none.
var DefaultRetry = Retry{Retries: 6, Delay: time.Minute, MaxDelay: time.Hour}

// Longest returns the longest delay before a retry. Retries count from 1.
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

// Before returns the delay before a retry. Retries count from 1. An exponential delay is
// random, from half of Longest to Longest, so that steps that failed together are not
// retried together.
func (r Retry) Before(retry int) time.Duration {
	d := r.Longest(retry)
	if r.Exponential && d > 1 {
		d = d/2 + rand.N(d/2+1)
	}
	return d
}

// Outage returns the delay before a step is retried after an outage of a server. It is at
// most 5 seconds, because outages are often short.
func (r Retry) Outage() time.Duration { return min(r.Delay, 5*time.Second) }

// Total returns the maximum sum of the delays of all retries.
func (r Retry) Total() time.Duration {
	var total time.Duration
	for i := range r.Retries {
		total += r.Longest(i + 1)
	}
	return total
}
