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

// jobPage is the content of the page of a job.
type jobPage struct {
	inspect.Job
	Why   inspect.Verdict
	Lanes map[string]lane // by listener, while the job runs
}

func (d *Dashboard) job(ctx context.Context, r *http.Request, _ *sample) (string, any, error) {
	id := r.PathValue("id")
	if !report.ValidID(id) {
		return "", nil, fmt.Errorf("%w: an id is 1 to 64 of 0-9, A-Z, a-z, _ and -", errNotFound)
	}
	v, err := d.verdicts.of(id, func() (jobPage, error) {
		// Other browsers wait for the same answer, so it must not end with the first one's request.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTimeout)
		defer cancel()
		v, err := d.o.Inspect.Job(ctx, id)
		if err == nil {
			err = d.o.Inspect.Times(ctx, &v)
		}
		why, failed := d.o.Inspect.Why(ctx, id)
		if failed == nil && why.Kind != inspect.KindNoRecord {
			err = nil // the verdict says that a server does not answer or the record is not committed yet
		}
		return jobPage{v, why, lanes(v, time.Now())}, cmp.Or(err, failed)
	})
	return "Job " + id, v, err
}

// verdicts caches the contents of pages of jobs. It is safe for concurrent use.
type verdicts struct {
	group singleflight.Group
	mu    sync.Mutex
	known map[string]verdict
}

type verdict struct {
	at time.Time
	jobPage
}

// forget empties the cache.
func (v *verdicts) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.known)
}

// of returns the cached content of a job's page, or calls ask if it is older than maxVerdictAge.
func (v *verdicts) of(id string, ask func() (jobPage, error)) (jobPage, error) {
	v.mu.Lock()
	maps.DeleteFunc(v.known, func(_ string, one verdict) bool { return time.Since(one.at) > maxVerdictAge })
	one, ok := v.known[id]
	v.mu.Unlock()
	if ok {
		return one.jobPage, nil
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
	return found.(jobPage), err
}
