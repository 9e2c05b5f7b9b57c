package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Delayed changes the due times of jobs and of requeued steps.
type Delayed struct{ in *inspect.Inspector }

// pageSize is the number of members that one round trip reads or changes.
const pageSize = 1000

// Add sets the due time of ids, in place of an earlier one.
func (d Delayed) Add(ctx context.Context, ids []string, at time.Time) (err error) {
	act, err := begin(ctx, d.in, "delay", ids...)
	if err != nil {
		return err
	}
	act.more = "until " + at.UTC().Format(time.RFC3339)
	defer act.end(ctx, &err)
	for page := range slices.Chunk(ids, pageSize) {
		if err := scripts.DelayedSets(d.in.Scripts).Add(ctx, at, page...); err != nil {
			return fmt.Errorf("delay: %w; some of the ids may have been delayed: submit all of them again; repeated ids have "+
				"no effect", err)
		}
	}
	return nil
}

// Hurry makes members due now. It does not add a member that a scheduler has moved meanwhile.
func (d Delayed) Hurry(ctx context.Context, members []string) (err error) {
	act, err := begin(ctx, d.in, "delay run", idsOf(members)...)
	if err != nil {
		return err
	}
	act.more = strings.Join(members, " ")
	defer act.end(ctx, &err)
	now, err := d.in.Scripts.First().Now(ctx)
	if err != nil {
		return err
	}
	for page := range slices.Chunk(members, pageSize) {
		if err := scripts.DelayedSets(d.in.Scripts).Move(ctx, now, page...); err != nil {
			return err
		}
	}
	return nil
}

// Shift moves the due time of a member. It does not add a member that a scheduler has moved meanwhile.
func (d Delayed) Shift(ctx context.Context, member string, by time.Duration) (err error) {
	act, err := begin(ctx, d.in, "delay", idsOf([]string{member})...)
	if err != nil {
		return err
	}
	act.more = member + " by " + by.String()
	defer act.end(ctx, &err)
	moved, err := d.shift(ctx, member, by, false)
	if err == nil && !moved {
		err = fault.NotFound.New("%s is no longer delayed", member)
	}
	return err
}

// shift is Shift without the audit. It reports whether the member is delayed. With dryRun, it changes nothing.
func (d Delayed) shift(ctx context.Context, member string, by time.Duration, dryRun bool) (bool, error) {
	for _, s := range d.in.Scripts {
		scores, err := s.Sets.Scores(ctx, s.Keys.Delayed, []string{member})
		if err != nil {
			return false, err
		}
		score, found := scores[member]
		if due, ok := inspect.DueTime(score); found && ok && dryRun {
			return true, nil
		} else if found && ok {
			return true, scripts.DelayedSets(d.in.Scripts).Move(ctx, due.Add(by), member)
		}
	}
	return false, nil
}

// Postpone makes an id that has not started due later: one that is delayed, or that waits for the turn of its lane or
// for the end of a pause of its report. It then has its place in the queue no more.
func (d Delayed) Postpone(ctx context.Context, id string, by time.Duration) (err error) {
	act, err := begin(ctx, d.in, "delay", id)
	if err != nil {
		return err
	}
	act.more = id + " by " + by.String()
	defer act.end(ctx, &err)
	r, err := d.in.Jobs.Record(ctx, id)
	if err != nil {
		return err
	}
	return d.postpone(ctx, r, by, false)
}

// postpone is Postpone without the audit. With dryRun, it changes nothing.
func (d Delayed) postpone(ctx context.Context, r engine.Record, by time.Duration, dryRun bool) error {
	id := r.ID
	if r.Status != report.Pending {
		return fault.Refused.New("%s is %s: only a job that has not started can be delayed", id, r.Status)
	}
	if moved, err := d.shift(ctx, id, by, dryRun); err != nil || moved {
		return err
	}
	s := d.in.Scripts.Of(id)
	lanes, err := s.Lanes.Entries(ctx, id)
	if err != nil {
		return err
	}
	paused, err := s.Sets.Scores(ctx, s.Keys.Waiting(r.Report), []string{id})
	if err != nil {
		return err
	}
	if !lanes[id].Waits && len(paused) == 0 {
		return fault.Refused.New("%s is in no queue that it could leave: it starts next, or was not pushed", id)
	}
	if dryRun {
		return nil
	}
	now, err := d.in.Scripts.First().Now(ctx)
	if err != nil {
		return err
	}
	// First the new place: a crash leaves the id in both, and it starts too early, but it starts.
	if err := scripts.DelayedSets(d.in.Scripts).Add(ctx, now.Add(by), id); err != nil {
		return err
	}
	if _, err := s.Sets.Remove(ctx, s.Keys.Waiting(r.Report), id); err != nil {
		return err
	}
	return s.Lanes.Remove(ctx, id)
}

// Remove removes members. It does not change records.
func (d Delayed) Remove(ctx context.Context, members []string) (err error) {
	act, err := begin(ctx, d.in, "delay rm", idsOf(members)...)
	if err != nil {
		return err
	}
	act.more = strings.Join(members, " ")
	defer act.end(ctx, &err)
	for page := range slices.Chunk(members, pageSize) {
		if err := scripts.DelayedSets(d.in.Scripts).Remove(ctx, page...); err != nil {
			return err
		}
	}
	return nil
}

// idsOf returns the ids of members, once each.
func idsOf(members []string) []string {
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i], _, _ = strings.Cut(m, "/")
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Find returns the named members, sorted. An id finds all its members: the job and its retries. A name
// that finds nothing is an error.
func (d Delayed) Find(ctx context.Context, names []string) ([]string, error) {
	left := map[string]bool{}
	var ids, members []string
	for _, name := range names {
		left[name] = true
		if report.ValidID(name) {
			ids = append(ids, name)
			continue
		}
		members = append(members, name)
	}
	found := []string{}
	for _, s := range d.in.Scripts {
		scores, err := s.Sets.Scores(ctx, s.Keys.Delayed, members)
		if err != nil {
			return nil, err
		}
		found = slices.AppendSeq(found, maps.Keys(scores))
		if len(ids) == 0 {
			continue
		}
		for page, err := range s.Sets.Scan(ctx, s.Keys.Delayed) {
			if err != nil {
				return nil, err
			}
			for _, m := range page {
				if id, _, _ := strings.Cut(m.Name, "/"); slices.Contains(ids, id) {
					found = append(found, m.Name)
					delete(left, id)
				}
			}
		}
	}
	for _, m := range found {
		delete(left, m)
	}
	for _, name := range names {
		if left[name] {
			return nil, fault.NotFound.New("%s is not in %s", report.Shorten(name), d.in.Scripts.First().Keys.Delayed)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
