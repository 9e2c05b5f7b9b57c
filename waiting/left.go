package waiting

import (
	"fmt"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/past"
	"github.com/fanfold/fanfold/scripts/job"
)

// Left is what a page says of the time that is left.
type Left struct {
	Early, Late time.Time // when the job is probably done; zero: not known
	Why         string    // why Late is later than was said before, or why nothing is said; empty: neither
}

// Says is the range in words, or empty.
func (l Left) Says(now time.Time) string {
	if !l.Late.After(now) {
		return ""
	}
	switch early, late := job.Span(l.Early.Sub(now)), job.Span(l.Late.Sub(now)); {
	case l.Early.Sub(now) < time.Second:
		return "up to " + late
	case early == late:
		return "about " + late
	default:
		return early + " to " + late
	}
}

// run is what is known of a job that runs.
type run struct {
	attempt int64
	started time.Time
	took    past.Durations // of earlier runs
	again   time.Time      // when what has failed is tried again; zero: nothing has
	paused  bool           // it waits for what is paused
}

// promise is what was said of a job before.
type promise struct {
	Left
	attempt int64
	took    past.Durations // of the first time: others that end meanwhile do not change it
	paused  bool
}

// slack is how much later an end may be without a word: less than that shows nowhere.
const slack = time.Second

// next makes the next promise of the one before; nil: there is none. A later end has a reason.
//
// At first it is the middle of the earlier runs: from the end that a quarter of them did not exceed
// to that of nine of ten. It stays so while time passes. It moves where a try is waited for, after a
// pause, or for a new attempt; after it has passed, to the end of the longest run, and then nothing
// is promised.
func next(before *promise, r run, now time.Time) *promise {
	p := promise{attempt: r.attempt, took: r.took, paused: r.paused}
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
	case r.again.After(now) && r.again.Add(usual).After(p.Late.Add(slack)):
		p.Early, p.Late, p.Why = r.again, r.again.Add(usual), "A data source did not answer and is retried."
	}
	if !p.Late.After(now) { // also where nothing is promised any more
		longest := r.started.Add(took.At(1))
		p.Early, p.Late = now, longest
		p.Why = fmt.Sprintf("It takes longer than most of the last %d runs.", len(took))
		if !longest.After(now) {
			p.Left = Left{Why: fmt.Sprintf("It takes longer than all of the last %d runs.", len(took))}
		}
	}
	return &p
}

// promises are those of the jobs that people wait for. It is safe for concurrent use.
type promises struct {
	mu    sync.Mutex
	known map[string]*promise // by id
}

// maxPromises bounds how many jobs are remembered: of more, any one is forgotten.
const maxPromises = 10_000

// of returns what to say of a job, and remembers it.
func (p *promises) of(id string, r run, now time.Time) Left {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]*promise{}
	}
	said := next(p.known[id], r, now)
	if len(p.known) >= maxPromises {
		for other := range p.known { // any of them
			delete(p.known, other)
			break
		}
	}
	p.known[id] = said
	return said.Left
}

// forget forgets a job that has ended.
func (p *promises) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, id)
}
