package inspect

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// Running is a running job, from the one line of its state.
type Running struct {
	ID       string    `json:"id"`
	Report   string    `json:"report"`
	Attempt  int64     `json:"attempt"`
	Status   string    `json:"status"` // such as job.StatusRun; empty: Redis has no state
	Stage    int64     `json:"stage"`
	Done     int64     `json:"done"`              // done listeners of all stages so far
	Target   int64     `json:"target"`            // listeners of all stages so far
	Bytes    int64     `json:"bytes"`             // of its data in Redis
	Spooled  int64     `json:"spooled,omitempty"` // of its data in the spool
	Open     []string  `json:"open"`              // open listeners of its stage
	Later    string    `json:"later,omitempty"`   // Retries or Waits: a step is due later; only Top sets it
	Started  time.Time `json:"started"`
	Deadline time.Time `json:"deadline"`
}

const (
	// Retries means that a step has failed and has not yet been retried.
	Retries = "RETRY"
	// Waits means that a step waits, such as for a slot of its source, and none has failed.
	Waits = "WAIT"
)

// State is its status for people: LOST if Redis has no state, or what its steps wait for.
func (r Running) State() string {
	if r.Status == "" {
		return "LOST"
	}
	return cmp.Or(r.Later, r.Status)
}

// addLater says of jobs whether steps are due later, or queries wait. It returns how many of those steps did not fail.
func (j Jobs) addLater(ctx context.Context, list []Running) (polls int, err error) {
	ours, open := map[string]int{}, map[*scripts.Scripts][]job.Later{}
	for i, r := range list {
		ours[r.ID] = i
		s := j.o.Scripts.Of(r.ID)
		for _, listener := range r.Open {
			open[s] = append(open[s], job.Later{ID: r.ID, Step: listener})
		}
	}
	for s, tasks := range open {
		paused, err := s.Hashes.Paused(ctx, tasks)
		if err != nil {
			return 0, err
		}
		for i, t := range tasks {
			if paused[i] {
				list[ours[t.ID]].Later = Waits
			}
		}
	}
	delayed := DelayedSet{j.o}
	found, err := delayed.List(ctx, func(d Delayed) bool {
		_, ok := ours[d.ID]
		return ok && d.Retry()
	}, maxLater)
	if err != nil {
		return 0, err
	}
	failed, err := delayed.Failed(ctx, found)
	for _, d := range found {
		r := &list[ours[d.ID]]
		if failed[d.Member] {
			r.Later = Retries
			continue
		}
		polls++
		r.Later = cmp.Or(r.Later, Waits)
	}
	return polls, err
}

// maxLater is the maximum number of steps that addLater reads.
const maxLater = 20_000

// Where says how much data lies where; empty: there is none.
func (r Running) Where() string { return Job{Bytes: r.Bytes, Spooled: r.Spooled}.Where() }

// Running lists the running jobs, the next deadline first, up to a limit (0: all). It reads two
// fields per job, so that a thousand jobs cost Redis about as much as one report.
func (j Jobs) Running(ctx context.Context, limit int) ([]Running, error) {
	order := func(a, b Running) int { return a.Deadline.Compare(b.Deadline) }
	return everywhere(j.o, limit, order, func(s *scripts.Scripts) ([]Running, error) {
		var list []Running
		for page, err := range s.Sets.Pages(ctx, s.Keys.Deadlines) {
			if err != nil {
				return nil, err
			}
			found, err := j.running(ctx, s, page)
			if err != nil {
				return nil, err
			}
			if list = append(list, found...); limit > 0 && len(list) >= limit {
				return list[:limit], nil
			}
		}
		return list, nil
	})
}

// running reads the states of jobs that have a deadline.
func (j Jobs) running(ctx context.Context, s *scripts.Scripts, page []scripts.Member) ([]Running, error) {
	ids := make([]string, len(page))
	for i, m := range page {
		ids[i] = m.Name
	}
	lines, spooled, err := s.Hashes.Lines(ctx, ids)
	if err != nil {
		return nil, err
	}
	list := make([]Running, len(page))
	var divided []job.Later // open listeners that are read in parts
	var of []int            // the places of their jobs
	for i, id := range ids {
		deadline, _ := DueTime(page[i].Score)
		list[i] = Running{ID: id, Deadline: deadline}
		state, err := job.ParseLine(lines[i])
		if err != nil {
			continue // its state is lost, or it has just ended: only the deadline is known
		}
		list[i] = Running{
			ID: id, Report: state.Report, Attempt: state.Attempt, Status: state.Status, Stage: state.Stage,
			Done: state.Done, Target: state.Target, Bytes: state.Bytes, Spooled: spooled[i],
			Open: job.OpenListeners(lines[i]), Started: state.Started, Deadline: deadline,
		}
		r := j.o.Config.Reports[state.Report]
		if r == nil {
			continue
		}
		for _, l := range r.Listeners() {
			if l.Divide != nil && slices.Contains(list[i].Open, l.Name) {
				divided, of = append(divided, job.Later{ID: id, Step: l.Name}), append(of, i)
			}
		}
	}
	sizes, err := s.Hashes.InParts(ctx, divided)
	if err != nil {
		return nil, err
	}
	for i, size := range sizes {
		list[of[i]].Spooled += size
	}
	return list, nil
}
