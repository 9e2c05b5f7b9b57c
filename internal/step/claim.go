package step

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// show resets this consumer's idle time: it counts a consumer as idle
// that waits for entries, and does not know one that has never got any. Asking for
// its own entries after the last id that there can be gives nothing and counts.
func (r *Reader) show(ctx context.Context) error {
	err := r.o.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: scripts.Group, Consumer: r.o.Consumer, Streams: []string{r.o.Stream, "18446744073709551614-0"}, Count: 1,
		Block: -1,
	}).Err()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// claim takes over entries that were idle for MinIdle, except those
// that are under way here.
func (r *Reader) claim(ctx context.Context, count int) ([]Entry, error) {
	var found []Entry
	for start := "0-0"; len(found) < count; {
		messages, next, err := r.o.Redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{
			Stream: r.o.Stream, Group: scripts.Group, Consumer: r.o.Consumer,
			MinIdle: r.o.MinIdle, Start: start, Count: int64(count - len(found)),
		}).Result()
		if err != nil {
			return found, err
		}
		entries := r.entries(messages)
		if err := r.count(ctx, entries); err != nil {
			r.forget(entries)
			return found, err
		}
		if entries, err = r.apart(ctx, entries); err != nil {
			return append(found, entries...), err
		}
		found = append(found, entries...)
		if next == "0-0" {
			break
		}
		start = next
	}
	if len(found) > 0 {
		r.o.Log.Info("took over entries", "stream", r.o.Stream, "entries", len(found))
	}
	return found, nil
}

// apart keeps at most one of the entries that may have ended their workers, since
// the others would get one more delivery with it: they are put back as they were.
func (r *Reader) apart(ctx context.Context, entries []Entry) (kept []Entry, err error) {
	if !r.o.Batch {
		return entries, nil
	}
	for _, e := range entries {
		if e.Deliveries <= lonely || r.takeAlone(e.ID) {
			kept = append(kept, e)
			continue
		}
		r.forget([]Entry{e})
		err = errors.Join(err, r.o.Redis.Do(ctx, "XCLAIM", r.o.Stream, scripts.Group, r.o.Consumer, 0, e.ID,
			"IDLE", r.o.MinIdle.Milliseconds(), "RETRYCOUNT", e.Deliveries-1, "JUSTID").Err())
	}
	return kept, err
}

// takeAlone tells whether no such entry is under way here, and notes that this one
// is.
func (r *Reader) takeAlone(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lonely == "" {
		r.lonely = id
	}
	r.others = r.others || r.lonely != id
	return r.lonely == id
}

// next tells, once, that the end of such an entry makes room for those that were
// put back.
func (r *Reader) next() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.others && r.lonely == ""
	if next {
		r.others = false
	}
	return next
}

// waiting tells whether such entries were put back and wait.
func (r *Reader) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.others
}

// again has next say so once more: those that were put back may still be there.
func (r *Reader) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.others = true
}

// count learns how often entries were delivered.
func (r *Reader) count(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	pending, err := r.o.Redis.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: r.o.Stream, Group: scripts.Group, Consumer: r.o.Consumer,
		Start: entries[0].ID, End: entries[len(entries)-1].ID, Count: int64(r.o.Slots + len(entries)),
	}).Result()
	if err != nil {
		return err
	}
	deliveries := make(map[string]int64, len(pending))
	for _, p := range pending {
		deliveries[p.ID] = p.RetryCount
	}
	for i, e := range entries {
		// One that was acknowledged since is not pending; it was delivered before all the same.
		entries[i].Deliveries = max(2, deliveries[e.ID])
	}
	return nil
}

// keep resets the idle time of entries. JUSTID: it counts as no delivery.
func (r *Reader) keep(ctx context.Context, entries []Entry) error {
	claim := &redis.XClaimArgs{Stream: r.o.Stream, Group: scripts.Group, Consumer: r.o.Consumer}
	for _, e := range entries {
		claim.Messages = append(claim.Messages, e.ID)
	}
	return r.o.Redis.XClaimJustID(ctx, claim).Err()
}
