package recovery

import (
	"context"
	"crypto/rand"
	"math"
	"slices"

	"github.com/redis/go-redis/v9"
)

// restorePage is how many members are restored at once.
const restorePage = 1000

// refresh agrees on an epoch. A Redis that is an older copy of itself gets
// back before what is not due yet; what was due may have been done.
func (r *Recovery) refresh(ctx context.Context, epoch string) error {
	if _, older, err := r.counted(ctx); err != nil {
		return err
	} else if !older {
		r.agree(epoch, true)
		return nil
	}
	ctx, release, err := r.lock(ctx, "refresh")
	if err != nil || ctx == nil {
		return err // somebody else is at it
	}
	defer release()
	if _, older, err := r.counted(ctx); err != nil || !older {
		return err // somebody else has done it: the next look agrees
	}
	now, err := r.o.Scripts.Now(ctx)
	if err != nil {
		return err
	}
	restored, err := r.restoreAll(ctx, restoring{from: now.Add(2 * mirrorEvery).UnixMilli(), add: r.o.Scripts.RestoreLater, pauses: true})
	if err != nil {
		return err
	}
	r.metrics.epochsLost.Inc()
	r.log.Warn("Redis is an older copy of itself: due times and timers that are due later are restored", "restored", restored)
	r.agree(epoch, true)
	return nil
}

// recover restores the sets and then notes the new epoch. It is written to
// Redis first and to MySQL last: as long as the two differ, the work is not done,
// and a crash, or one more loss in the middle, begins it again.
func (r *Recovery) recover(ctx context.Context) error {
	ctx, release, err := r.lock(ctx, "rebuild")
	if err != nil || ctx == nil {
		return err // somebody else is at it
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
	restored, err := r.restoreAll(ctx, restoring{from: math.MinInt64, add: r.o.Scripts.Restore})
	if err != nil {
		return err
	}
	ok, err := r.o.Store.SetEpoch(ctx, noted, now)
	if err != nil || !ok {
		return err // not ok: somebody else was faster, and both begin again
	}
	r.metrics.epochsLost.Inc()
	r.log.Warn("due times and timers are restored", "epoch", now, "restored", restored)
	r.agree(now, true)
	return nil
}

// restoring is what is given back, and how.
type restoring struct {
	from   int64 // due time (ms) before which nothing is, that is not paused
	add    func(ctx context.Context, key string, members []redis.Z) error
	pauses bool // a timer is paused that is not so in Redis
}

// restoreAll gives back all sets, and then the number that MySQL had before: after
// a crash in the middle, or where more was mirrored meanwhile, it all begins again.
func (r *Recovery) restoreAll(ctx context.Context, what restoring) (restored int, err error) {
	mirrored, err := r.o.Store.Mirrored(ctx)
	if err != nil {
		return 0, err
	}
	// From the last, which are the paused timers: a timer that is mirrored as both
	// was paused a moment ago.
	for _, set := range slices.Backward(r.sets()) {
		n, err := r.restore(ctx, set, what)
		if err != nil {
			return 0, err
		}
		restored += n
	}
	return restored, r.o.Scripts.WriteMirrored(ctx, mirrored)
}

// restore gives one set back to Redis, but no timer that is paused there, or set
// where it must not be paused.
func (r *Recovery) restore(ctx context.Context, set string, what restoring) (restored int, err error) {
	k := r.o.Scripts.Keys
	from, other := what.from, ""
	switch {
	case set == k.PausedSet():
		from = math.MinInt64 // it says since when
	case set == k.Timers():
		other = k.PausedTimers()
	case set == k.PausedTimers():
		from = math.MinInt64 // it waits for somebody, and not for its time
		if !what.pauses {
			other = k.Timers()
		}
	}
	for after := ""; ; {
		page, err := r.o.Store.Dues(ctx, set, after, restorePage)
		if err != nil || len(page) == 0 {
			return restored, err
		}
		after = page[len(page)-1].Member
		page = slices.DeleteFunc(page, func(d Due) bool { return d.At < from })
		var elsewhere map[string]float64
		if other != "" {
			var names []string
			for _, d := range page {
				names = append(names, d.Member)
			}
			if elsewhere, err = r.o.Scripts.Scores(ctx, other, names); err != nil {
				return restored, err
			}
		}
		var members []redis.Z
		for _, d := range page {
			if _, there := elsewhere[d.Member]; !there {
				members = append(members, redis.Z{Member: d.Member, Score: float64(d.At)})
			}
		}
		if err := what.add(ctx, set, members); err != nil {
			return restored, err
		}
		restored += len(members)
	}
}

// counted returns how many writes to the mirror Redis remembers, and whether these
// are fewer than MySQL has. Redis persists and copies its writes in their order,
// and counts one before MySQL has it: with as many it remembers all that is
// mirrored, and what it has not was removed; with fewer it has lost the last ones.
func (r *Recovery) counted(ctx context.Context) (number int64, older bool, err error) {
	mirrored, err := r.o.Store.Mirrored(ctx) // read first, since both only grow
	if err != nil {
		return 0, false, err
	}
	number, err = r.o.Scripts.ReadMirrored(ctx)
	return number, number < mirrored, err
}
