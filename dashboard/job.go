package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"golang.org/x/sync/singleflight"
)

// oneJob is the content of the page of a job.
type oneJob struct {
	inspect.Job
	Why   inspect.Verdict
	Lanes map[string]lane // by listener, while the job runs
}

func (d *Dashboard) job(ctx context.Context, r *http.Request, _ *sample) (string, any, error) {
	id := r.PathValue("id")
	if !report.ValidID(id) {
		return "", nil, fmt.Errorf("%w: an id is 1 to 64 of 0-9, A-Z, a-z, _ and -", errNotFound)
	}
	v, err := d.asked.of(id, func() (oneJob, error) {
		// Others wait for the same answer: it must not end with the browser that asked first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTime)
		defer cancel()
		v, err := d.o.Inspect.Job(ctx, id)
		if err == nil {
			err = d.o.Inspect.Times(ctx, &v)
		}
		why, failed := d.o.Inspect.Why(ctx, id)
		if failed == nil && why.Kind != inspect.KindNoRecord {
			err = nil // that a server is away, or the record not committed yet, is an answer
		}
		return oneJob{v, why, lanes(v, time.Now())}, cmp.Or(err, failed)
	})
	return "Job " + id, v, err
}

// verdicts are what pages have just said of jobs.
type verdicts struct {
	group singleflight.Group
	mu    sync.Mutex
	known map[string]verdict
}

type verdict struct {
	at time.Time
	oneJob
}

// forget has the next page ask again.
func (v *verdicts) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.known)
}

// of returns what is known of a job, and asks if that is older than verdictAge.
func (v *verdicts) of(id string, ask func() (oneJob, error)) (oneJob, error) {
	v.mu.Lock()
	maps.DeleteFunc(v.known, func(_ string, one verdict) bool { return time.Since(one.at) > verdictAge })
	one, ok := v.known[id]
	v.mu.Unlock()
	if ok {
		return one.oneJob, nil
	}
	found, err, _ := v.group.Do(id, func() (any, error) {
		j, err := ask()
		if err == nil {
			v.mu.Lock()
			defer v.mu.Unlock()
			if v.known == nil {
				v.known = map[string]verdict{}
			}
			v.known[id] = verdict{time.Now(), j}
		}
		return j, err
	})
	return found.(oneJob), err
}
