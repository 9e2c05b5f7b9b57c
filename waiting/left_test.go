package waiting

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/scripts/past"
)

// seconds are durations of runs.
func seconds(all ...int) (d past.Durations) {
	for _, s := range all {
		d = append(d, time.Duration(s)*time.Second)
	}
	return d
}

// TestLeft follows the estimates for one job: the end is never later without a reason.
func TestLeft(t *testing.T) {
	t.Parallel()
	took := seconds(10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
	var before *estimate
	at := func(s int) time.Time { return now.Add(time.Duration(s) * time.Second) }
	step := func(second int, change func(*run), says, why string) {
		t.Helper()
		r := run{attempt: 1, started: now, took: took}
		if change != nil {
			change(&r)
		}
		last := before
		before = next(before, r, at(second))
		if got := before.says(english, at(second)); got != says {
			t.Errorf("after %d s: %q, not %q", second, got, says)
		}
		if says := before.Why.says(english); !strings.Contains(says, why) || why == "" && says != "" {
			t.Errorf("after %d s: because %q, not %q", second, before.Why.says(english), why)
		}
		if last != nil && before.Late.After(last.Late.Add(tolerance)) && before.Why == (reason{}) {
			t.Errorf("after %d s: %s is later than %s, and nothing says why", second, before.Late, last.Late)
		}
	}
	step(0, nil, "30 s to 2 min", "")
	step(10, nil, "20 s to 2 min", "")
	step(40, nil, "up to 60 s", "")
	step(50, func(r *run) { r.took = seconds(500, 600, 700) }, "up to 50 s", "") // others have ended
	step(60, func(r *run) { r.retryAt = at(120) }, "60 s to 2 min", "and is retried")
	step(90, func(r *run) { r.retryAt = at(120) }, "30 s to 2 min", "and is retried")
	step(130, nil, "up to 50 s", "and is retried")
	step(140, func(r *run) { r.paused = true }, "", "paused")
	step(200, nil, "30 s to 2 min", "It was paused")
	step(301, nil, "", "longer than all of the last 10 runs")
	step(302, nil, "", "longer than all of the last 10 runs")
	step(310, func(r *run) { r.attempt, r.started = 2, at(310) }, "30 s to 2 min", "It was started again.")
	before = nil
	step(0, nil, "30 s to 2 min", "")
	step(100, nil, "", "longer than all")
	before = nil
	took = seconds(10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 60)
	step(0, nil, "about 10 s", "")
	step(11, nil, "up to 49 s", "longer than most of the last 12 runs")
	before = nil
	took = seconds(1, 2)
	step(0, nil, "", "")
}
