package waiting

import (
	"sync"
	"time"

	"github.com/fanfold/fanfold/scripts/past"
	"github.com/fanfold/fanfold/web/languages"
)

// Left is the estimated time left.
type Left struct {
	Early, Late time.Time // range of the end of the job; zero: unknown
	Why         reason    // why Late is later than before or unknown; zero: neither
}

// reason is the key of a text, and the number of earlier runs that it names.
type reason struct {
	key  string
	runs int64 // 0: none
}

// says returns the reason in words, or nothing.
func (r reason) says(in *languages.Language) string {
	switch {
	case r.key == "":
		return ""
	case r.runs > 0:
		return in.Count(r.key, r.runs)
	default:
		return in.Say(r.key)
	}
}

// says returns the range in words, or nothing.
func (l Left) says(in *languages.Language, now time.Time) string {
	if !l.Late.After(now) {
		return ""
	}
	switch early, late := span(in, l.Early.Sub(now)), span(in, l.Late.Sub(now)); {
	case l.Early.Sub(now) < time.Second:
		return in.Say("left.up-to", "late", late)
	case early == late:
		return in.Say("left.about", "late", late)
	default:
		return in.Say("left.range", "early", early, "late", late)
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
		p.Why = reason{key: "left.again"}
	}
	if p.paused = r.paused; r.paused {
		p.Left = Left{Why: reason{key: "left.paused"}}
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
		p.Early, p.Late, p.Why = now.Add(took.At(0.25)), now.Add(took.At(0.9)), reason{key: "left.was-paused"}
	case r.retryAt.After(now) && r.retryAt.Add(usual).After(p.Late.Add(tolerance)):
		p.Early, p.Late, p.Why = r.retryAt, r.retryAt.Add(usual), reason{key: "left.retried"}
	}
	if !p.Late.After(now) { // also if the end is unknown already
		longest := r.started.Add(took.At(1))
		p.Early, p.Late = now, longest
		p.Why = reason{"left.most", int64(len(took))}
		if !longest.After(now) {
			p.Left = Left{Why: reason{"left.all", int64(len(took))}}
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
