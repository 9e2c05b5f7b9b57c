package waiting

import (
	"fmt"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts/past"
)

// Left is the estimated time left.
type Left struct {
	Early, Late time.Time // range of the end of the job; zero: unknown
	Why         string    // why Late is later than before or unknown; empty: neither
}

// Says returns the range in words, or nothing.
func (l Left) Says(now time.Time) string {
	if !l.Late.After(now) {
		return ""
	}
	in := func(at time.Time) string { return words.Short(at.Sub(now).Round(time.Second)) }
	switch early, late := in(l.Early), in(l.Late); {
	case l.Early.Sub(now) < time.Second:
		return "up to " + late
	case early == late:
		return "about " + late
	default:
		return early + " to " + late
	}
}

// run is a running job.
type run struct {
	attempt int64
	started time.Time
	took    past.Durations // of earlier runs
	retryAt time.Time      // when the last failed step is retried; zero: none failed
	paused  bool           // the job waits for the end of a pause
}

// estimate is the last estimate for a job.
type estimate struct {
	Left
	attempt int64
	took    past.Durations // at the first estimate: runs that end later do not change it
	paused  bool
}

// tolerance is how much later an end may become without a reason. The page does not show such a difference.
const tolerance = time.Second

// next returns the estimate that follows before (nil: the first one). A later end always has a reason.
//
// The first estimate is the range from the 25th to the 90th percentile of the earlier runs. It stays the same
// while time passes. It changes for a retry, after a pause and for a new attempt. If the job exceeds it, the
// end is that of the longest earlier run; if it exceeds that too, the end is unknown.
func next(before *estimate, r run, now time.Time) *estimate {
	p := estimate{attempt: r.attempt, took: r.took, paused: r.paused}
	switch {
	case before != nil && before.attempt == r.attempt:
		p = *before
	case before != nil:
		p.Why = "It was started again."
	}
	if p.paused = r.paused; r.paused {
		p.Left = Left{Why: "The time left is not known while it is paused."}
		return &p
	}
	took := p.took
	if !took.Known() {
		p.Left = Left{Why: p.Why}
		return &p
	}
	if p.Late.IsZero() && (before == nil || before.attempt != r.attempt) {
		p.Early, p.Late = r.started.Add(took.At(0.25)), r.started.Add(took.At(0.9))
	}
	usual := took.At(0.5)
	switch {
	case before != nil && before.attempt == r.attempt && before.paused:
		p.Early, p.Late, p.Why = now.Add(took.At(0.25)), now.Add(took.At(0.9)), "It was paused for a while."
	case r.retryAt.After(now) && r.retryAt.Add(usual).After(p.Late.Add(tolerance)):
		p.Early, p.Late, p.Why = r.retryAt, r.retryAt.Add(usual), "A data source did not answer and is retried."
	}
	if !p.Late.After(now) { // also if the end is unknown already
		longest := r.started.Add(took.At(1))
		p.Early, p.Late = now, longest
		p.Why = fmt.Sprintf("It takes longer than most of the last %d runs.", len(took))
		if !longest.After(now) {
			p.Left = Left{Why: fmt.Sprintf("It takes longer than all of the last %d runs.", len(took))}
		}
	}
	return &p
}

// estimates remembers the estimates of running jobs. It is safe for concurrent use.
type estimates struct {
	mu    sync.Mutex
	known map[string]*estimate // by id
}

// maxEstimates is the maximum number of remembered jobs. A new one replaces any other.
const maxEstimates = 10_000

// of returns the time left of a job, and remembers the estimate.
func (p *estimates) of(id string, r run, now time.Time) Left {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]*estimate{}
	}
	e := next(p.known[id], r, now)
	if len(p.known) >= maxEstimates {
		for other := range p.known { // any of them
			delete(p.known, other)
			break
		}
	}
	p.known[id] = e
	return e.Left
}

// forget forgets a job that has ended.
func (p *estimates) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, id)
}
