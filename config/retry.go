package config

import (
	"time"

	"github.com/fanfold/fanfold/report"
)

// mostRetries is how many can be given.
const mostRetries = 100

// timeout decodes a listener's.
func (d *draft) timeout(at setting) time.Duration {
	before := len(d.problems)
	t := at.duration(5 * time.Minute)
	d.guessed = d.guessed || len(d.problems) > before
	return t
}

// retry decodes how a step is tried again; what is left out is as in otherwise.
func (d *draft) retry(at setting, otherwise report.Retry) report.Retry {
	before := len(d.problems)
	r := at.retry(otherwise)
	d.guessed = d.guessed || len(d.problems) > before
	return r
}

func (p setting) retry(r report.Retry) report.Retry {
	if p.isText() {
		r.Retries = p.integer(r.Retries, 0, mostRetries)
		return r
	}
	f := p.fields("retries", "delay", "backoff", "max_delay")
	if f.broken {
		return r
	}
	before := len(p.problems)
	r.Retries = f.get("retries").integer(r.Retries, 0, mostRetries)
	r.Delay = f.get("delay").duration(r.Delay)
	r.Exponential = f.get("backoff").exponential(r.Exponential)
	most := f.get("max_delay")
	r.MaxDelay = most.duration(r.MaxDelay)
	switch {
	case len(p.problems) > before: // the others may be right
	case most.given() && !r.Exponential:
		most.problem("a max_delay, where the delay is fixed", "Add backoff: exponential, or remove max_delay")
	case r.Exponential && r.MaxDelay < r.Delay:
		f.given("max_delay", "delay", "backoff").problem(
			"max_delay "+report.ShortDuration(r.MaxDelay)+" is shorter than delay "+report.ShortDuration(r.Delay),
			"Give a max_delay of at least "+report.ShortDuration(r.Delay)+", a shorter delay, or backoff: fixed")
		r.MaxDelay = r.Delay // so that what inherits it does not say so again
	}
	return r
}

// exponential decodes the kind of backoff.
func (p setting) exponential(otherwise bool) bool {
	if !p.given() {
		return otherwise
	}
	kinds := []string{"fixed", "exponential"}
	switch text, ok := p.text(); {
	case !ok:
	case text == kinds[0] || text == kinds[1]:
		return text == kinds[1]
	default:
		p.problem("no such backoff", didYouMean(text, kinds))
	}
	return otherwise
}

// given returns the first of these fields that the file has, or the gap of the
// last one.
func (f fields) given(names ...string) (found setting) {
	for _, name := range names {
		if found = f.get(name); found.given() {
			break
		}
	}
	return found
}
