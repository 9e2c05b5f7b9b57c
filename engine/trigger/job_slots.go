package trigger

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// admission says how many jobs may still be started.
type admission struct {
	*engine.Engine
	full   atomic.Bool  // Redis is nearly full
	made   time.Time    // when the admission was created
	polled atomic.Int64 // last poll of Redis's memory, as time since made; 0: never
}

// free returns how many jobs may still be started. It is none while Redis is nearly full, because
// running jobs need the rest to end. Several processes may see the same number: the limit can be
// exceeded by one batch per process. With lanes every id is read, and Admit of package scripts keeps the limit.
func (a *admission) free(ctx context.Context) (int, error) {
	if err := a.pollMemory(ctx); err != nil || a.full.Load() {
		return 0, err
	}
	if a.Scripts.Lanes.On() {
		return laneSlots, nil
	}
	running, err := a.Scripts.Jobs.Running(ctx)
	return a.Limits.RunningJobs - int(running), err
}

// memoryEvery is the time between two polls of Redis's memory.
const memoryEvery = time.Second

// pollMemory stores whether Redis is nearly full.
func (a *admission) pollMemory(ctx context.Context) error {
	now := int64(time.Since(a.made)) // monotonic
	if last := a.polled.Load(); last != 0 && now-last < int64(memoryEvery) {
		return nil
	}
	usage, err := a.Scripts.Memory.Usage(ctx)
	if err != nil {
		return err
	}
	a.polled.Store(now)
	if usage.Percent() > a.Limits.RedisMemoryPercent {
		kept, err := a.Scripts.Kept.Free(ctx)
		if err != nil {
			return err
		}
		left, err := a.Scripts.Fallbacks.Free(ctx)
		if err != nil {
			return err
		}
		if n := kept + left; n > 0 {
			a.Log.Warn("deleted datasets that were kept for other jobs and retries: Redis is nearly full", "jobs", n)
		}
	}
	if full := usage.Percent() > a.Limits.RedisMemoryPercent; full != a.full.Swap(full) {
		a.Log.Warn("memory of Redis crossed limits.redis_memory_percent",
			"percent", usage.Percent(), "limit", a.Limits.RedisMemoryPercent, "starting jobs", !full)
	}
	return nil
}

// slots keeps the ids of reports that have as many running jobs as they may have, or are paused.
type slots struct{ *engine.Engine }

// slotLease is how long a job has its slot if nobody renews it or gives it back.
func slotLease(r *report.Report) time.Duration { return r.Timeout + scripts.Margin }

// take returns the pushes that may start. Those of reports that have as many running jobs as they may
// have wait until one of these ends, behind those of this partition that wait already; also if the partition with the
// slots does not answer, so that other reports do not wait for it.
func (s slots) take(ctx context.Context, pushes []*push) []*push {
	limited := map[*report.Report][]*push{}
	var free []*push
	for _, p := range pushes {
		if s.Running(ctx, p.report) > 0 {
			limited[p.report] = append(limited[p.report], p)
		} else {
			free = append(free, p)
		}
	}
	for r, pushes := range limited {
		ids := make([]string, len(pushes))
		for i, p := range pushes {
			ids[i] = p.id
		}
		short, cancel := context.WithTimeout(ctx, engine.SlotsTime)
		limit, err := s.limit(short, r)
		var taken []bool
		if err == nil {
			taken, err = s.Scripts.Limits.TakeJobSlots(short, r.Name, limit, slotLease(r), ids)
		}
		cancel()
		if err != nil {
			s.Log.Warn("could not count the running jobs of a report; ids wait", "report", r.Name, "ids",
				len(ids), "err", err)
			taken = make([]bool, len(ids))
		}
		for i, p := range pushes {
			if taken[i] {
				free = append(free, p)
			} else {
				p.ends(s.queue(ctx, p))
			}
		}
	}
	return free
}

// limit returns how many jobs of a report may run, counting those that have a slot. It is 0 while ids wait: free slots
// are theirs, and release gives them out. With lanes, the turns decide instead.
func (s slots) limit(ctx context.Context, r *report.Report) (int, error) {
	if !s.Scripts.Lanes.On() {
		if first, err := s.Scripts.Gate.Waiting(ctx, r.Name, 1); err != nil || len(first) > 0 {
			return 0, err
		}
	}
	return s.Running(ctx, r), nil
}

// queue keeps an id until a running job of its report ends. With lanes, it gives its slot there back.
func (s slots) queue(ctx context.Context, p *push) step.Result {
	return ensured(step.Ensure(ctx, s.Log, "queue an id", func() error {
		if err := errors.Join(forgetKept(ctx, s.Engine, p),
			s.Scripts.Gate.Queue(ctx, p.report.Name, p.id, p.report.Running),
			s.Scripts.Lanes.Leave(ctx, p.id)); err != nil {
			return err
		}
		return s.Scripts.Jobs.Note(ctx, p.id, p.record.Attempt, "limited", "report", p.report.Name)
	}))
}

// queued returns those of the pushes that wait until a running job of their report ends.
func (s slots) queued(ctx context.Context, pushes []*push) (map[string]bool, error) {
	of := map[string][]string{}
	for _, p := range pushes {
		if p.report != nil && s.Running(ctx, p.report) > 0 {
			of[p.report.Name] = append(of[p.report.Name], p.id)
		}
	}
	queued := map[string]bool{}
	var failed error
	for name, ids := range of {
		scores, err := s.Scripts.Sets.Scores(ctx, s.Scripts.Keys.Waiting(name), ids)
		failed = errors.Join(failed, err)
		for id := range scores {
			queued[id] = true
		}
	}
	return queued, failed
}

// releaseEvery is the time between two polls of pauses and limits.
const releaseEvery = time.Second

// release ends the holds whose end has passed, and pushes the ids that wait for reports that are no longer paused,
// or whose running jobs are fewer than their limit, until ctx ends. The command that resumes a report does so, too,
// but may die before it is done.
func (s slots) release(ctx context.Context) error {
	waiting := map[string]bool{} // reports for which ids may wait
	for name := range s.Reports {
		waiting[name] = true
	}
	return step.Every(ctx, s.Log, releaseEvery, "push ids that wait for their reports",
		func(ctx context.Context) error {
			return s.releaseResumed(ctx, waiting)
		})
}

// releaseResumed pushes the ids of resumed and limited reports, and updates waiting. A failure of one
// report does not keep others.
func (s slots) releaseResumed(ctx context.Context, waiting map[string]bool) (failed error) {
	limited := func(name string) bool { return s.Reports[name] != nil && s.Reports[name].Running > 0 }
	failed = s.Scripts.Gate.EndHolds(ctx, limited)
	for name, r := range s.Reports {
		paused, err := s.Scripts.Gate.IsPaused(ctx, scripts.PausedReport(name))
		switch {
		case err != nil:
			return err
		case !paused && s.Running(ctx, r) > 0:
			failed = errors.Join(failed, s.releaseQueued(ctx, r))
			waiting[name] = true // until people take the limit away
			continue
		case paused || !waiting[name]:
			waiting[name] = waiting[name] || paused
			continue
		}
		if _, err := s.Scripts.Gate.ReleaseAll(ctx, name); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		waiting[name] = false
	}
	return failed
}

// releaseQueued gives the free slots of a report to the ids that have waited longest, and pushes
// them. With lanes it only pushes them.
func (s slots) releaseQueued(ctx context.Context, r *report.Report) error {
	free, err := s.Partitions.FreeJobSlots(ctx, r.Name, s.Running(ctx, r), slotLease(r))
	if err != nil || free <= 0 {
		return err
	}
	ids, err := s.Scripts.Gate.Waiting(ctx, r.Name, free)
	if err != nil || len(ids) == 0 {
		return err
	}
	if s.Scripts.Lanes.On() {
		// They can be parked. Each takes its slot when it has its turn, so that it does not keep it from others before.
		_, err = s.Scripts.Gate.Release(ctx, r.Name, ids)
		return err
	}
	taken, err := s.Scripts.Limits.TakeJobSlots(ctx, r.Name, s.Running(ctx, r), slotLease(r), ids)
	if err != nil {
		return err
	}
	var next []string
	for i, id := range ids {
		if taken[i] {
			next = append(next, id)
		}
	}
	_, err = s.Scripts.Gate.Release(ctx, r.Name, next)
	return err
}
