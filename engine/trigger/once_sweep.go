package trigger

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

const (
	// onceEvery is the time between two sweeps of the groups.
	onceEvery = 5 * time.Second
	// onceGrace is how long a leader may be without a job before its record is read, and how long a group
	// without a leader is left to the command that ended it.
	onceGrace = 10 * time.Second
	// oncePage is the maximum number of ids of a group that one sweep pushes.
	oncePage = 500
	// onceLeaders is the maximum number of leaders whose records one sweep may read: many can wait for slots.
	onceLeaders = 1000
)

// leaderless is a group without a leader.
type leaderless struct {
	since, due time.Time // when a sweep found it, and when it pushes the same ids again
	pushed     []string
}

// waits reports whether a sweep need not push the ids of a group: they were pushed, and may be in a long queue. The
// pauses between two pushes of the same ids double, so that copies do not fill the queue.
func (l *leaderless) waits(g scripts.OnceGroup, now time.Time) bool {
	return len(g.Waits) > 0 && slices.Contains(l.pushed, g.Waits[0]) && now.Before(l.due)
}

// sweep finds groups whose leader has ended without telling them, or that have none, until ctx ends. The first
// partition does it for all, also if no report shares any more: then those that wait must not for ever.
func (o once) sweep(ctx context.Context) error {
	if o.Scripts != o.Partitions.First() {
		return nil
	}
	left := map[string]*leaderless{} // by digest
	const what = "find jobs that wait for one that has ended"
	return step.Every(ctx, o.Log, onceEvery, what, func(ctx context.Context) error {
		ok, err := o.Scripts.TryLock(ctx, "once", onceEvery*9/10)
		if !ok {
			return err
		}
		left, err = o.sweepGroups(ctx, left)
		return err
	})
}

// sweepGroups sweeps once. It returns the groups without a leader; those that had none before are released.
func (o once) sweepGroups(ctx context.Context, before map[string]*leaderless) (map[string]*leaderless, error) {
	groups, err := o.Scripts.Once.All(ctx, oncePage)
	if err != nil {
		return before, err
	}
	now, err := o.Scripts.Now(ctx)
	if err != nil {
		return before, err
	}
	left := map[string]*leaderless{}
	var led []scripts.OnceGroup
	for _, g := range groups {
		l := before[g.Digest]
		switch {
		case g.Leader != "":
			if now.Sub(g.Since) >= onceGrace {
				led = append(led, g)
			}
			continue
		case l == nil:
			l = &leaderless{since: now, due: now, pushed: g.Waits}
		case !l.waits(g, now):
			if err := o.release(ctx, g); err != nil {
				return before, err
			}
			l.pushed, l.due = g.Waits, now.Add(now.Sub(l.since))
		}
		left[g.Digest] = l
	}
	// Those for which others wait come first.
	rand.Shuffle(len(led), func(i, j int) { led[i], led[j] = led[j], led[i] })
	slices.SortStableFunc(led, func(a, b scripts.OnceGroup) int { return min(len(b.Waits), 1) - min(len(a.Waits), 1) })
	leaders := map[*scripts.Scripts][]string{}
	for _, g := range led[:min(len(led), onceLeaders)] {
		s := o.Partitions.Of(g.Leader)
		leaders[s] = append(leaders[s], g.Leader)
	}
	for s, ids := range leaders {
		if err := o.endLeaders(ctx, s, ids); err != nil {
			return left, err
		}
	}
	return left, nil
}

// release pushes the ids of a group without a leader. If none waits, a lost write has left its ids behind. Those whose
// report does not share any more leave the group.
func (o once) release(ctx context.Context, g scripts.OnceGroup) error {
	left := g.IDs
	if len(g.Waits) > 0 {
		if err := scripts.ReleaseOnce(ctx, o.Partitions, g); err != nil {
			return err
		}
		records, err := o.Records.Read(ctx, g.Waits)
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(slices.Clone(g.Waits), func(id string) bool {
			_, shares := o.OnceWindow(records[id].Report)
			return shares
		})
	}
	var ends []scripts.OnceEnd
	for _, id := range left {
		ends = append(ends, scripts.OnceEnd{ID: id})
	}
	return scripts.EndOnce(ctx, o.Partitions, ends...)
}

// endLeaders ends leaders of a partition that have no job and whose records are final or gone.
func (o once) endLeaders(ctx context.Context, s *scripts.Scripts, ids []string) error {
	_, statuses, err := s.Jobs.Attempts(ctx, ids)
	if err != nil {
		return nil // it cannot be reached
	}
	var ended []string
	for i, id := range ids {
		if (&job.State{Status: statuses[i]}).Ended() {
			ended = append(ended, id)
		}
	}
	for page := range slices.Chunk(ended, batch) {
		records, err := o.Records.Read(ctx, page)
		if err != nil {
			return err
		}
		var ends []scripts.OnceEnd
		for _, id := range page {
			r := records[id]
			if r.ID == id && !r.Status.Final() {
				continue // it is about to start, or the rebuild starts it
			}
			window, _ := o.OnceWindow(r.Report)
			ends = append(ends, o.EndOfRecord(id, r).Within(window))
		}
		if err := scripts.EndOnce(ctx, o.Partitions, ends...); err != nil {
			return err
		}
	}
	return nil
}
