package inspect

import (
	"context"
	"time"
)

// Top has what runs now, and how much waits.
type Top struct {
	At          time.Time `json:"at"`
	Running     float64   `json:"running"`     // jobs
	Waiting     float64   `json:"waiting"`     // pushed ids, also of paused and limited reports, and of lanes
	Delayed     float64   `json:"delayed"`     // ids and retries that are due later, no polls of these jobs
	Dead        float64   `json:"dead"`        // jobs
	Quarantined float64   `json:"quarantined"` // entries
	Memory      float64   `json:"memory"`      // used share of Redis's maxmemory, from 0 to 1; 0: no limit
	Late        float64   `json:"late"`        // seconds by which the oldest deadline, delayed id or timer is overdue
	Paused      []string  `json:"paused"`      // report/<name>, listener/<name>
	Listeners   []Load    `json:"listeners"`
	Lanes       []Lane    `json:"lanes,omitempty"` // those with the most jobs
	Jobs        []Running `json:"jobs"`            // the next deadline first
}

// topLanes is the maximum number of lanes.
const topLanes = 10

// Top reads the figures, and the running jobs up to a maximum.
func (in *Inspector) Top(ctx context.Context, listeners []string, jobs int) (Top, error) {
	found, err := in.Figures.Read(ctx)
	if err != nil {
		return Top{}, err
	}
	pauses, err := in.Pauses.List(ctx)
	if err != nil {
		return Top{}, err
	}
	held, err := in.Slots.Holders(ctx)
	if err != nil {
		return Top{}, err
	}
	f := Sum(found)
	t := Top{
		At: time.Now(), Running: f.Of("jobs_running", ""), Waiting: f.Of("jobs_waiting", ""),
		Delayed: f.Of("jobs_delayed", ""),
		Dead:    f.Of("jobs_dead", ""), Quarantined: f.Of("quarantined", ""),
		Memory:    f.Of("redis_memory_used_ratio", ""),
		Listeners: in.Loads(listeners, f, pauses, in.Slots.Count(held)), Paused: []string{},
	}
	for name := range in.Options.Config.Reports {
		t.Waiting += f.Of("jobs_parked", name)
	}
	if of := in.Options.Config.Limits.Lanes; of != nil {
		for _, c := range of.All() {
			t.Waiting += f.Of("lanes_waiting", c.Name)
		}
		if t.Lanes, err = in.Lanes.List(ctx, topLanes); err != nil {
			return t, err
		}
	}
	for _, name := range []string{"timeout", "delayed", "timers"} {
		t.Late = max(t.Late, f.Of(name+"_overdue_seconds", ""))
	}
	for _, p := range pauses {
		t.Paused = append(t.Paused, p.What)
	}
	if t.Jobs, err = in.Jobs.Running(ctx, jobs); err != nil {
		return t, err
	}
	polls, err := in.Jobs.addLater(ctx, t.Jobs)
	t.Delayed = max(0, t.Delayed-float64(polls))
	return t, err
}
