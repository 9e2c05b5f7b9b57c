package dashboard

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/fanfold/fanfold/inspect/why"
)

const (
	// reasonRestFactor times the duration of a query is the pause after it, so that the queries cost Redis
	// little beside the sampler.
	reasonRestFactor = 3 * restFactor
	// reasonWait is how long a page waits for the reasons of jobs that it shows for the first time.
	reasonWait = 500 * time.Millisecond
	// maxReasonAge is the maximum age of a reason that a page shows.
	maxReasonAge = time.Minute
)

// reasons caches why the jobs on pages are not done. It queries them in the background, for one page at a time.
type reasons struct {
	mu      sync.Mutex
	known   map[string]reason // by id
	next    time.Time         // of the next query, at the earliest
	pending chan struct{}     // closed at the end of the running query; nil: none is running
	running sync.WaitGroup
}

// askWhy returns the verdicts on ids.
type askWhy func(ctx context.Context, ids []string) ([]why.Verdict, error)

type reason struct {
	at time.Time
	why.Verdict
}

// of returns the cached reasons of jobs, by id, and queries them if they are old. It waits up to
// reasonWait for jobs without a cached reason.
func (r *reasons) of(ids []string, ask askWhy) map[string]reason {
	found, pending := r.lookup(ids, ask)
	if len(found) == len(ids) || pending == nil {
		return found
	}
	timer := time.NewTimer(reasonWait)
	defer timer.Stop()
	select {
	case <-pending:
	case <-timer.C:
	}
	found, _ = r.lookup(ids, nil)
	return found
}

// lookup returns the cached reasons, and calls ask in the background if they are old. pending is closed
// when the running query ends; nil: none is running.
func (r *reasons) lookup(ids []string, ask askWhy) (found map[string]reason, pending chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(_ string, one reason) bool { return time.Since(one.at) > maxReasonAge })
	found, old := map[string]reason{}, false
	for _, id := range ids {
		one, ok := r.known[id]
		if ok {
			found[id] = one
		}
		old = old || !ok || time.Since(one.at) > liveEvery
	}
	if ask != nil && old && r.pending == nil && time.Now().After(r.next) {
		done := make(chan struct{})
		r.pending = done
		r.running.Go(func() {
			defer close(done)
			r.fetch(ids, ask)
		})
	}
	return found, r.pending
}

// fetch calls ask and caches the answers.
func (r *reasons) fetch(ids []string, ask askWhy) {
	ctx, cancel := context.WithTimeout(context.Background(), pageTimeout)
	defer cancel()
	began := time.Now()
	verdicts, err := ask(ctx, ids)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending, r.next = nil, time.Now().Add(min(reasonRestFactor*time.Since(began), maxReasonAge/2))
	if err != nil {
		return // the page shows which server does not answer
	}
	if r.known == nil {
		r.known = map[string]reason{}
	}
	for _, v := range verdicts {
		r.known[v.ID] = reason{began, v}
	}
}
