package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// Sums are the figures of all partitions together, by their name and their listener or report,
// which may be empty.
type Sums map[[2]string]float64

// Of returns the figure of a listener or a report, or of neither. It is 0 if the figure is unknown.
func (s Sums) Of(name, of string) float64 { return s[[2]string{name, of}] }

// Known reports whether the figure was read.
func (s Sums) Known(name, of string) bool {
	_, ok := s[[2]string{name, of}]
	return ok
}

// Renew returns the figures that were read now, and of those that were not read, the last ones.
func Renew(last, now []Figure) []Figure {
	type key struct{ name, of, part string }
	read := map[key]bool{}
	for _, f := range now {
		read[key{f.Name, f.Of, f.Part}] = true
	}
	all := slices.Clone(now)
	for _, f := range last {
		if !read[key{f.Name, f.Of, f.Part}] {
			all = append(all, f)
		}
	}
	return all
}

// Sum adds the figures of all partitions. Of ages and delays it takes the maximum. Of workers it
// takes the minimum: a process works for every partition, and a partition without workers stands still.
func Sum(found []Figure) Sums {
	all := Sums{}
	for _, f := range found {
		key := [2]string{f.Name, f.Of}
		was, known := all[key]
		switch {
		case f.Name == "tasks_workers" && known:
			all[key] = min(was, f.Value)
		case f.TakesMax():
			all[key] = max(was, f.Value)
		default:
			all[key] = was + f.Value
		}
	}
	return all
}

// Load is what waits for a listener, and who works on it.
type Load struct {
	Name    string        `json:"name"`
	Workers float64       `json:"workers"` // processes
	Waiting float64       `json:"waiting"` // open tasks
	Pending float64       `json:"pending"` // of these, how many a worker has
	Running float64       `json:"running"` // of these, how many query the source: the others wait for a slot of it
	Lag     float64       `json:"lag"`     // and how many no worker has read
	Oldest  time.Duration `json:"oldest"`  // age of the oldest one, in nanoseconds
	Paused  bool          `json:"paused"`
}

// Holders returns the tasks that have a slot of a source, by source.
func (in *Inspector) Holders(ctx context.Context) (map[string][]scripts.Holder, error) {
	return in.o.Scripts.Home().Limits.Holders(ctx, in.parallel())
}

// HavingSlots counts the tasks that have a slot, by listener. It leaves out listeners whose source has
// no limit.
func (in *Inspector) HavingSlots(held map[string][]scripts.Holder) map[string]int {
	counts := map[string]int{}
	for _, r := range in.o.Config.Reports {
		for _, l := range r.Listeners() {
			if in.o.Config.Bounds[l.Source].Parallel > 0 {
				counts[l.Name] = 0
			}
		}
	}
	for _, holders := range held {
		for _, h := range holders {
			if _, ok := counts[h.Listener]; ok {
				counts[h.Listener]++
			}
		}
	}
	return counts
}

// Loads returns the loads of listeners, from the figures, the pauses and the result of HavingSlots.
func Loads(listeners []string, f Sums, pauses []Pause, slots map[string]int) []Load {
	all := []Load{}
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
			Paused: slices.ContainsFunc(pauses, func(p Pause) bool { return p.What == scripts.PausedListener(name) }),
		})
	}
	return all
}

// Top has what runs now, and how much waits.
type Top struct {
	At          time.Time `json:"at"`
	Running     float64   `json:"running"`     // jobs
	Waiting     float64   `json:"waiting"`     // pushed ids
	Delayed     float64   `json:"delayed"`     // ids and retries that are due later
	Dead        float64   `json:"dead"`        // jobs
	Quarantined float64   `json:"quarantined"` // entries
	Memory      float64   `json:"memory"`      // used share of Redis's maxmemory, from 0 to 1; 0: no limit
	Late        float64   `json:"late"`        // seconds by which the oldest deadline, delayed id or timer is overdue
	Paused      []string  `json:"paused"`      // report/<name>, listener/<name>
	Listeners   []Load    `json:"listeners"`
	Jobs        []Running `json:"jobs"` // the next deadline first
}

// Top reads the figures, and the running jobs up to a maximum.
func (in *Inspector) Top(ctx context.Context, listeners []string, jobs int) (Top, error) {
	found, err := in.Figures(ctx)
	if err != nil {
		return Top{}, err
	}
	pauses, err := in.Pauses(ctx)
	if err != nil {
		return Top{}, err
	}
	held, err := in.Holders(ctx)
	if err != nil {
		return Top{}, err
	}
	f := Sum(found)
	t := Top{
		At: time.Now(), Running: f.Of("jobs_running", ""), Waiting: f.Of("jobs_waiting", ""), Delayed: f.Of("jobs_delayed", ""),
		Dead: f.Of("jobs_dead", ""), Quarantined: f.Of("quarantined", ""), Memory: f.Of("redis_memory_used_ratio", ""),
		Listeners: Loads(listeners, f, pauses, in.HavingSlots(held)), Paused: []string{},
	}
	for _, name := range []string{"timeout", "delayed", "timers"} {
		t.Late = max(t.Late, f.Of(name+"_overdue_seconds", ""))
	}
	for _, p := range pauses {
		t.Paused = append(t.Paused, p.What)
	}
	t.Jobs, err = in.Running(ctx, jobs)
	return t, err
}
