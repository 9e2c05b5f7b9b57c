package dashboard

import (
	"time"

	"github.com/fanfold/fanfold/inspect"
)

// hour is the time that the charts cover.
const hour = time.Hour

// history has the figures of the last hour, one point per sample. Unlike what is counted, figures are stored nowhere.
type history []point

type point struct {
	at                    time.Time
	running, waiting, lag float64
	oldest, late          float64 // seconds
}

// add returns the history with one more point.
func (h history) add(at time.Time, f inspect.Sums) history {
	p := point{at: at, running: f.Of("jobs_running", ""), waiting: f.Of("jobs_waiting", "")}
	for key, value := range f {
		switch key[0] {
		case "tasks_lag":
			p.lag += value
		case "tasks_oldest_seconds":
			p.oldest = max(p.oldest, value)
		case "delayed_overdue_seconds", "timers_overdue_seconds", "timeout_overdue_seconds":
			p.late = max(p.late, value)
		}
	}
	for len(h) > 0 && at.Sub(h[0].at) > hour {
		h = h[1:]
	}
	return append(h, p)
}

// points returns a copy of the points of the charts.
func (s *sampler) points() history {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(history(nil), s.history...)
}
