package inspect

import (
	"time"

	"github.com/fanfold/fanfold/report"
)

// Load is what waits for a listener, and who works on it.
type Load struct {
	Name    string        `json:"name"`
	Workers float64       `json:"workers"` // processes
	Waiting float64       `json:"waiting"` // open tasks
	Pending float64       `json:"pending"` // of these, how many a worker has
	Running float64       `json:"running"` // of these, how many query the source: the others wait for a slot of it
	Lag     float64       `json:"lag"`     // and how many no worker has read
	Oldest  time.Duration `json:"oldest"`  // age of the oldest one, in nanoseconds
	Paused  string        `json:"paused"`  // what keeps its tasks from starting: listener/<name> or source/<name>
}

// Loads returns the loads of listeners, from the figures, the pauses and the result of Slots.Count.
func (in *Inspector) Loads(listeners []string, f Sums, pauses []Pause, slots map[string]int) []Load {
	all, paused, sources := []Load{}, Stops(pauses), report.SourcesOf(in.Options.Config.Reports)
	for _, name := range listeners {
		running := f.Of("tasks_pending", name)
		if n, ok := slots[name]; ok {
			running = min(running, float64(n))
		}
		all = append(all, Load{
			Running: running,
			Name:    name, Workers: f.Of("tasks_workers", name), Waiting: f.Of("tasks_waiting", name),
			Pending: f.Of("tasks_pending", name), Lag: f.Of("tasks_lag", name),
			Oldest: time.Duration(f.Of("tasks_oldest_seconds", name) * float64(time.Second)),
			Paused: paused.Stops(name, sources[name]...),
		})
	}
	return all
}
