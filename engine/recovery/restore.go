package recovery

import (
	"context"
	"crypto/rand"
	"slices"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// restoreBatch is how many members are restored per round trip.
const restoreBatch = 1000

// restoreLost restores the snapshot in a Redis that has lost its data or is an older copy of itself. After
// a loss Redis gets a new epoch, which is written to Redis first and to MySQL last: while the two
// differ, the work is not done, and after a crash or another loss it begins again.
func (r *Recovery) restoreLost(ctx context.Context) error {
	ctx, release, err := r.lock(ctx, "rebuild")
	if err != nil || ctx == nil {
		return err // another process is at it
	}
	defer release()
	found, err := r.o.Scripts.Epoch.Read(ctx)
	if err != nil {
		return err
	}
	noted, err := r.o.Store.Epoch(ctx)
	if err != nil {
		return err
	}
	_, _, older, err := r.versions(ctx)
	if err != nil {
		return err
	}
	lost, now := found != noted, noted
	switch {
	case lost:
		now = rand.Text()
		r.log.Warn("Redis has lost its data; restoring it from the database", "epoch", noted, "found", found)
		if err := r.o.Scripts.Epoch.Write(ctx, now); err != nil {
			return err
		}
	case older:
		r.log.Warn("Redis is an older copy of itself; restoring later changes from the database", "epoch", noted)
	default:
		return nil // another process has done it: the next poll agrees
	}
	restored, err := r.restore(ctx, !lost)
	if err != nil {
		return err
	}
	if lost {
		if ok, err := r.o.Store.SetEpoch(ctx, noted, now); err != nil || !ok {
			return err // not ok: another process was faster, and both begin again
		}
	}
	r.metrics.lost.Inc()
	r.log.Warn("restored due times and timers", "epoch", now, "restored", restored)
	r.agree(now, true)
	return nil
}

// restore restores the snapshot and then its version: after a crash in the middle, or if another
// snapshot was saved meanwhile, it begins again. In an older copy the later time of a member wins;
// in a Redis that has lost its data, a time that a service has set since.
func (r *Recovery) restore(ctx context.Context, older bool) (restored int, err error) {
	version, all, err := r.o.Store.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	for _, part := range all {
		found, err := part.decode()
		if err != nil {
			return restored, err
		}
		if err := r.o.Scripts.Epoch.RestorePauses(ctx, found.Pauses, older); err != nil {
			return restored, err
		}
		restored += len(found.Pauses)
		for _, set := range sets(r.o.Scripts.Keys) {
			var members []scripts.Member
			for member, at := range found.Sets[set[0]] {
				members = append(members, scripts.Member{Name: member, Score: float64(at)})
			}
			for batch := range slices.Chunk(members, restoreBatch) {
				n, err := r.restoreMembers(ctx, set[0], set[1], batch, older)
				if restored += n; err != nil {
					return restored, err
				}
			}
		}
	}
	return restored, r.o.Scripts.Epoch.WriteSnapshot(ctx, version)
}

// restoreMembers restores members of a set, except timers that are paused in Redis, and paused
// timers that are set in Redis by a service. A schedule that Fanfold has set anew keeps its pause and the
// earlier time, which may have passed.
func (r *Recovery) restoreMembers(ctx context.Context, set, key string, members []scripts.Member,
	older bool) (restored int, err error) {
	other, keeps := "", scripts.KeepsAll
	if older {
		keeps = scripts.KeepsLater
	}
	switch {
	case set == setTimers:
		other = r.o.Scripts.Keys.PausedTimers
	case set == setPausedTimers && !older:
		other = r.o.Scripts.Keys.Timers
	}
	if other != "" {
		var names []string
		for _, m := range members {
			names = append(names, m.Name)
		}
		elsewhere, err := r.o.Scripts.Sets.Scores(ctx, other, names)
		if err != nil {
			return 0, err
		}
		members = slices.DeleteFunc(members, func(m scripts.Member) bool {
			_, there := elsewhere[m.Name]
			return there && (set == setTimers || !report.IsSchedule(m.Name))
		})
	}
	restored = len(members)
	if set == setTimers && !older {
		var schedules []scripts.Member
		members = slices.DeleteFunc(members, func(m scripts.Member) bool {
			if report.IsSchedule(m.Name) {
				schedules = append(schedules, m)
			}
			return report.IsSchedule(m.Name)
		})
		if err := r.o.Scripts.Sets.Restore(ctx, key, schedules, scripts.KeepsEarlier); err != nil {
			return 0, err
		}
	}
	return restored, r.o.Scripts.Sets.Restore(ctx, key, members, keeps)
}
