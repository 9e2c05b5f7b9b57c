package recovery

import (
	"context"
	"crypto/rand"
	"slices"

	"github.com/redis/go-redis/v9"
)

// restoreBatch is how many members are restored at once.
const restoreBatch = 1000

// refresh agrees on an epoch. A Redis that is an older copy of itself gets back before
// what is in the snapshot: at the later of both times, and paused if it is so in one of
// them.
func (r *Recovery) refresh(ctx context.Context, epoch string) error {
	if _, _, older, err := r.versions(ctx); err != nil {
		return err
	} else if !older {
		r.agree(epoch, true)
		return nil
	}
	ctx, release, err := r.lock(ctx, "refresh")
	if err != nil || ctx == nil {
		return err // another process is at it
	}
	defer release()
	if _, _, older, err := r.versions(ctx); err != nil || !older {
		return err // another process has done it: the next poll agrees
	}
	restored, err := r.restore(ctx, true)
	if err != nil {
		return err
	}
	r.metrics.epochsLost.Inc()
	r.log.Warn("Redis is an older copy of itself: due times and timers are restored", "restored", restored)
	r.agree(epoch, true)
	return nil
}

// recover restores the sets and then notes the new epoch. It is written to
// Redis first and to MySQL last: as long as the two differ, the work is not done,
// and a crash, or one more loss in the middle, begins it again.
func (r *Recovery) recover(ctx context.Context) error {
	ctx, release, err := r.lock(ctx, "rebuild")
	if err != nil || ctx == nil {
		return err // another process is at it
	}
	defer release()
	found, err := r.o.Scripts.ReadEpoch(ctx)
	if err != nil {
		return err
	}
	noted, err := r.o.Store.Epoch(ctx)
	if err != nil || found == noted {
		return err
	}
	now := rand.Text()
	r.log.Warn("Redis has lost its memory", "epoch", noted, "found", found)
	if err := r.o.Scripts.WriteEpoch(ctx, now); err != nil {
		return err
	}
	restored, err := r.restore(ctx, false)
	if err != nil {
		return err
	}
	ok, err := r.o.Store.SetEpoch(ctx, noted, now)
	if err != nil || !ok {
		return err // not ok: another process was faster, and both begin again
	}
	r.metrics.epochsLost.Inc()
	r.log.Warn("due times and timers are restored", "epoch", now, "restored", restored)
	r.agree(now, true)
	return nil
}

// restore gives the snapshot back, and then its version: after a crash in the middle, or
// where another snapshot was saved meanwhile, it begins again. In an older copy the later
// time of a member counts; in a Redis that has lost its memory the one that a service has
// set since.
func (r *Recovery) restore(ctx context.Context, older bool) (restored int, err error) {
	version, parts, err := r.o.Store.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	for _, set := range setKeys(r.o.Scripts.Keys) {
		for _, p := range parts {
			if p.Set != set[0] {
				continue
			}
			members, err := decode(p)
			if err != nil {
				return restored, err
			}
			for page := range slices.Chunk(members, restoreBatch) {
				n, err := r.restoreMembers(ctx, set[0], set[1], page, older)
				if restored += n; err != nil {
					return restored, err
				}
			}
		}
	}
	return restored, r.o.Scripts.WriteSnapshot(ctx, version)
}

// restoreMembers gives members of a set back, but no timer that is paused in Redis, or set
// where it must not be paused.
func (r *Recovery) restoreMembers(ctx context.Context, set, key string, page []redis.Z, older bool) (restored int, err error) {
	other := ""
	switch {
	case set == setTimers:
		other = r.o.Scripts.PausedTimers()
	case set == setPausedTimers && !older:
		other = r.o.Scripts.Timers()
	}
	if other != "" {
		var names []string
		for _, z := range page {
			names = append(names, z.Member.(string))
		}
		elsewhere, err := r.o.Scripts.Scores(ctx, other, names)
		if err != nil {
			return 0, err
		}
		page = slices.DeleteFunc(page, func(z redis.Z) bool {
			_, there := elsewhere[z.Member.(string)]
			return there
		})
	}
	if older {
		return len(page), r.o.Scripts.RestoreLater(ctx, key, page)
	}
	return len(page), r.o.Scripts.Restore(ctx, key, page)
}
