package listeners

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// callers are the tasks of processes that call the same API.
func callers(t *testing.T, n int) (all []*Backoff, metrics *prometheus.Registry) {
	t.Helper()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	for range n {
		metrics = prometheus.NewRegistry()
		r, err := New(Options{
			Redis: client, Scripts: scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}}),
			Consumer: "c", Metrics: metrics,
		})
		if err != nil {
			t.Fatal(err)
		}
		of := &task{Runner: r, Task: Task{Listener: &report.Listener{Source: "vendor"}}, clock: ask.NewPatience(t.Context(), 200*time.Millisecond, errLate)}
		t.Cleanup(of.clock.Stop)
		all = append(all, &Backoff{task: of})
	}
	return all, metrics
}

// TestAnAPIThatRefuses: a task of another process waits until the time that the API has named, in place if that is soon,
// and without using its time limit.
func TestAnAPIThatRefuses(t *testing.T) {
	t.Parallel()
	all, metrics := callers(t, 2)
	ctx, one, other := t.Context(), all[0], all[1]
	wants := func(b *Backoff, patience time.Duration) error { return b.Wait(ctx, patience, time.Minute) }
	if err := wants(one, 0); err != nil {
		t.Fatal(err)
	}
	one.Refused(ctx, time.Hour, "429 Too Many Requests")
	var waits wait
	if err := wants(other, PatienceLater); !errors.As(err, &waits) || waits.blame != job.BlameBusy ||
		waits.what != "the API vendor is busy: its last answer is 429 Too Many Requests" || waits.time < 59*time.Minute || waits.time > time.Hour+slotPatience {
		t.Errorf("%+v %v", waits, err)
	}
	if err := testutil.GatherAndCompare(metrics, strings.NewReader(`
# HELP fanfold_source_busy_total Tasks that waited here and pauses between parts because a source was busy, by source and reason: threads_running, replica_lag, statement_p95, unanswered or refused.
# TYPE fanfold_source_busy_total counter
fanfold_source_busy_total{reason="refused",source="vendor"} 1
`), "fanfold_source_busy_total"); err != nil {
		t.Error(err)
	}

	other.task.o.Redis.Del(ctx, other.task.o.Scripts.Keys.Pause("vendor"))
	one.Refused(ctx, 300*time.Millisecond, "503 Service Unavailable")
	began := time.Now()
	if err := wants(other, PatienceLater); err != nil || time.Since(began) < 290*time.Millisecond {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if other.task.clock.Over() {
		t.Error("the task is late, which has only waited")
	}
}

// TestOneCallAtATime is tried after a pause. One that fails without a refusal lets the next one be tried at once, and
// after one that succeeds all may call.
func TestOneCallAtATime(t *testing.T) {
	t.Parallel()
	all, _ := callers(t, 3)
	ctx := t.Context()
	may := func(what string, caller int, want bool) {
		t.Helper()
		if err := all[caller].Wait(ctx, 0, time.Hour); (err == nil) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
	all[0].Refused(ctx, time.Millisecond, "429")
	<-time.After(5 * time.Millisecond)
	may("the first call", 0, true)
	may("another one meanwhile", 1, false)
	all[1].Failed(ctx, "500") // it began before the pause
	may("still", 2, false)
	all[0].Failed(ctx, "500")
	may("after one that failed", 1, true)
	may("another one meanwhile", 2, false)
	all[1].Succeeded(ctx)
	for caller := range all {
		may("after one that succeeded", caller, true)
	}
}
