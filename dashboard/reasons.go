package dashboard

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/fanfold/fanfold/inspect"
)

const (
	// reasonRest is how many times as long as the reasons took to find they are not asked for again: beside the
	// sampler this costs Redis little.
	reasonRest = 3 * rest
	// reasonWait is how long a page waits for the reasons of jobs that it shows for the first time.
	reasonWait = 500 * time.Millisecond
	// reasonAge is how old a reason may be that is shown.
	reasonAge = time.Minute
)

// reasons has why the jobs on pages are not done. It asks in the background, for one page at a time.
type reasons struct {
	mu     sync.Mutex
	known  map[string]reason // by id
	next   time.Time         // when they may be asked for again
	asked  chan struct{}     // closed when they were; nil: nobody asks
	asking sync.WaitGroup
}

type reason struct {
	at time.Time
	inspect.Verdict
}

// of returns what is known of jobs, by id, and asks if that is old. It waits a moment for those of
// which nothing is known.
func (r *reasons) of(ids []string, ask func(context.Context, []string) ([]inspect.Verdict, error)) map[string]inspect.Verdict {
	found, asked := r.look(ids, ask)
	if len(found) == len(ids) || asked == nil {
		return found
	}
	timer := time.NewTimer(reasonWait)
	defer timer.Stop()
	select {
	case <-asked:
	case <-timer.C:
	}
	found, _ = r.look(ids, nil)
	return found
}

// look returns what is known, and has ask called if that is old; asked: closed when that is done, nil: nobody asks.
func (r *reasons) look(ids []string, ask func(context.Context, []string) ([]inspect.Verdict, error)) (found map[string]inspect.Verdict, asked chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(_ string, one reason) bool { return time.Since(one.at) > reasonAge })
	found, old := map[string]inspect.Verdict{}, false
	for _, id := range ids {
		one, ok := r.known[id]
		if ok {
			found[id] = one.Verdict
		}
		old = old || !ok || time.Since(one.at) > liveEvery
	}
	if ask != nil && old && r.asked == nil && time.Now().After(r.next) {
		done := make(chan struct{})
		r.asked = done
		r.asking.Go(func() {
			defer close(done)
			r.take(ids, ask)
		})
	}
	return found, r.asked
}

// take asks, and keeps the answers.
func (r *reasons) take(ids []string, ask func(context.Context, []string) ([]inspect.Verdict, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), pageTime)
	defer cancel()
	began := time.Now()
	verdicts, err := ask(ctx, ids)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.next = nil, time.Now().Add(min(reasonRest*time.Since(began), reasonAge/2))
	if err != nil {
		return // the page says what does not answer
	}
	if r.known == nil {
		r.known = map[string]reason{}
	}
	for _, v := range verdicts {
		r.known[v.ID] = reason{began, v}
	}
}
