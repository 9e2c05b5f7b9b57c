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

// maxQueued is the maximum number of entries of a stream in which Check searches for ids.
const maxQueued = 10_000

// Check refuses ids that a due time would not delay, because their jobs run, or they are queued.
func (d Delayed) Check(ctx context.Context, ids []string) error {
	records, err := d.in.Jobs.Records(ctx, ids)
	if err != nil {
		return err
	}
	queued := map[string]bool{}
	for _, s := range d.in.Scripts {
		for _, stream := range []string{s.Keys.Jobs, s.Keys.Next} {
			after, read := "0-0", 0
			for full := true; full && read < maxQueued; {
				var page []scripts.Entry
				if page, full, err = s.Entries.After(ctx, stream, after); err != nil {
					return err
				}
				for _, e := range page {
					queued[e.Fields["id"]], after = true, e.ID
				}
				read += len(page)
			}
		}
	}
	for _, id := range ids {
		r := records[id]
		state, err := d.in.Jobs.State(ctx, id)
		if err != nil {
			return err
		}
		if state != nil && state.Attempt == r.Attempt && state.Runs() {
			return fault.Refused.New("record %s: its job runs already", id)
		}
		waits, err := d.waits(ctx, r)
		switch {
		case err != nil:
			return err
		case waits:
			return fault.Refused.New("record %s: it is queued already; fanfold delay by DURATION %s makes it due later", id, id)
		case queued[id]:
			return fault.Refused.New("record %s: it is queued already, and starts next", id)
		}
	}
	return nil
}

// waits reports whether an id waits for the turn of its lane, or for its report.
func (d Delayed) waits(ctx context.Context, r engine.Record) (bool, error) {
	s := d.in.Scripts.Of(r.ID)
	lanes, err := s.Lanes.Entries(ctx, r.ID)
	if err != nil {
		return false, err
	}
	parked, err := s.Sets.Scores(ctx, s.Keys.Waiting(r.Report), []string{r.ID})
	return lanes[r.ID].Waits || len(parked) > 0, err
}

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
	if waits, err := d.waits(ctx, r); err != nil {
		return err
	} else if !waits {
		return fault.Refused.New("%s is in no queue that it could leave: it starts next, or was not pushed", id)
	}
	if dryRun {
		return nil
	}
	s := d.in.Scripts.Of(id)
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
