package step

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// show resets this consumer's idle time. Redis counts a consumer as idle while it waits for
// entries, and does not list one that has never received any. Reading its own pending entries after
// the last possible id returns nothing and resets the time.
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

// pendingPage is how many pending entries are listed per round trip.
const pendingPage = 100

// takeOver takes over at most max entries that were idle for MinIdle. Rest tells whether it left
// any because an entry that may have crashed its workers is being handled here.
func (r *Reader) takeOver(ctx context.Context, max int) (taken []Entry, rest bool, err error) {
	for start := "-"; len(taken) < max; {
		idle, err := r.o.Redis.XPendingExt(ctx, &redis.XPendingExtArgs{
			Stream: r.o.Stream, Group: scripts.Group, Idle: r.o.MinIdle, Start: start, End: "+", Count: pendingPage,
		}).Result()
		if err != nil {
			return taken, rest, err
		}
		ids, deliveries, left := r.handled.choose(idle, max-len(taken), r.o.Batch)
		rest = rest || left
		entries, err := r.claim(ctx, ids, deliveries)
		if taken = append(taken, entries...); err != nil {
			return taken, rest, err
		}
		if len(idle) < pendingPage {
			break
		}
		start = "(" + idle[len(idle)-1].ID
	}
	if len(taken) > 0 {
		r.o.Log.Info("took over entries", "stream", r.o.Stream, "entries", len(taken))
	}
	return taken, rest, nil
}

// claim claims entries that are still idle, and marks them as handled here.
func (r *Reader) claim(ctx context.Context, ids []string, deliveries map[string]int64) ([]Entry, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	messages, err := r.o.Redis.XClaim(ctx, &redis.XClaimArgs{
		Stream: r.o.Stream, Group: scripts.Group, Consumer: r.o.Consumer, MinIdle: r.o.MinIdle, Messages: ids,
	}).Result()
	entries := r.handled.add(messages)
	for i, e := range entries {
		entries[i].Deliveries = deliveries[e.ID]
	}
	r.handled.clear()
	return entries, err
}

// resetIdle resets the idle time of entries. With JUSTID it does not count as a delivery.
func (r *Reader) resetIdle(ctx context.Context, entries []Entry) error {
	claim := &redis.XClaimArgs{Stream: r.o.Stream, Group: scripts.Group, Consumer: r.o.Consumer}
	for _, e := range entries {
		claim.Messages = append(claim.Messages, e.ID)
	}
	return r.o.Redis.XClaimJustID(ctx, claim).Err()
}
