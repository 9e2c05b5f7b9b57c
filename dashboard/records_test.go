package dashboard

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold/inspect"
)

// TestQueriesThatWait: a page that waits for a slot of queries ends in time, with 503, and neither caches that nor
// outlasts the deadline of its request.
func TestQueriesThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := New(Options{Inspect: &inspect.Inspector{}})
		d.sampler.now.Store(&sample{At: time.Now().Add(time.Hour), Full: true})
		asked, ask := 0, d.jobs.matches.Ask
		d.jobs.matches.Ask = func(ctx context.Context, p parameter) (match, error) {
			asked++
			return ask(ctx, p)
		}
		for range maxQueries {
			d.jobs.queries <- struct{}{}
		}
		for _, path := range []string{"/records", "/records?id=17", "/jobs?q=customer=17", "/jobs?q=customer=17"} {
			began := time.Now()
			if code, _ := asOperator(t, d, path); code != http.StatusServiceUnavailable || time.Since(began) != queryWait {
				t.Errorf("%s: %d after %s", path, code, time.Since(began))
			}
		}
		if asked != 2 {
			t.Error("an answer is cached that no database gave")
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := d.jobs.matches.Get(ctx, parameter{"customer", "17"}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		time.Sleep(queryWait) // the query for other browsers ends
	})
}

// TestDetached: work for several browsers goes on when one disconnects, but ends at the deadline of its request.
func TestDetached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, limits := range []struct{ request, max, want time.Duration }{
			{2 * time.Second, recordsTimeout, 2 * time.Second}, {time.Minute, recordsTimeout, recordsTimeout}, {0, recordsTimeout, recordsTimeout},
		} {
			request, disconnect := context.WithCancel(t.Context())
			if limits.request > 0 {
				var stop context.CancelFunc
				request, stop = context.WithTimeout(request, limits.request)
				defer stop()
			}
			began := time.Now()
			ctx, cancel := detached(request, limits.max)
			disconnect()
			<-ctx.Done()
			cancel()
			if time.Since(began) != limits.want {
				t.Errorf("%v: it ends after %s", limits, time.Since(began))
			}
		}
	})
}
