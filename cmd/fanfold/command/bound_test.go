package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

// TestParallelAndRate: parallel and rate limit the queries of all processes together, for every
// kind of source. Waiting for a slot does not use a try.
func TestParallelAndRate(t *testing.T) {
	t.Parallel()
	const jobs, tasks, distance = 12, 2, 25 * time.Millisecond
	var now, most, asked atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		for n := now.Add(1); ; {
			if before := most.Load(); n <= before || most.CompareAndSwap(before, n) {
				break
			}
		}
		select {
		case <-r.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
		now.Add(-1)
		fmt.Fprint(w, `[{"n": 1}]`)
	}))
	t.Cleanup(api.Close)
	s := newStack(t, `
  bound:
    retry: 0
    listeners:
      a: {kind: http, api: vendor, columns: {n: {path: $.n, type: integer}}, result: {path: /}}
      b: {database: bound, query: "SELECT 1 AS n, SLEEP(0.05) AS b"}
    join: {key: n}
`, fmt.Sprintf(`databases: {db: {dsn: "{dsn}"}, bound: {dsn: "{dsn}", parallel: 1, rate: 100/s}}
apis: {vendor: {url: "%s", parallel: %d, rate: %d/s}}`, api.URL, tasks, time.Second/distance))
	for range 2 {
		s.process("-c", s.File, "serve")
	}
	var ids []string
	for range jobs {
		ids = append(ids, s.Records.Insert("bound", ""))
	}
	began := time.Now()
	s.Jobs.Push(ids...)
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success {
			t.Errorf("%s is %s: %s", v.ID, v.Status, v.Error)
		}
	}
	if n := most.Load(); n > tasks || asked.Load() != jobs {
		t.Errorf("%d requests, %d of them at once: parallel is %d", asked.Load(), n, tasks)
	}
	if took, least := time.Since(began), (jobs-1)*distance; took < least {
		t.Errorf("%d requests in %v: the last one is not due before %v", jobs, took, least)
	}
	if least := jobs * 50 * time.Millisecond; time.Since(began) < least {
		t.Errorf("%d queries that take 50 ms and come one by one took %v", jobs, time.Since(began))
	}
}
