package step

import (
	"context"
	"errors"
	"sync"

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

// handled are the entries that a Reader handles. It is safe for concurrent use.
type handled struct {
	stream, consumer string

	mu      sync.Mutex
	ids     map[string]bool
	suspect string // the one of them that may have crashed its workers; empty: none
}

// add marks messages of the stream as handled here. It leaves out those that are already handled here.
func (h *handled) add(messages []redis.XMessage) []Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	entries := make([]Entry, 0, len(messages))
	for _, m := range scripts.EntriesOf(h.stream, h.consumer, messages) {
		if h.ids[m.ID] {
			continue
		}
		h.ids[m.ID] = true
		m.Deliveries = 1
		entries = append(entries, Entry{Entry: m})
	}
	return entries
}

// forget marks entries as no longer handled here.
func (h *handled) forget(entries []Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range entries {
		delete(h.ids, e.ID)
		if h.suspect == e.ID {
			h.suspect = ""
		}
	}
}

// choose returns which idle entries to claim, at most max, and their number of deliveries including
// this one. Of entries of batches that may have crashed their workers it chooses one at a time: if it
// crashed this worker, too, the others would be charged with a delivery. Rest tells whether it left
// any for that reason.
func (h *handled) choose(idle []redis.XPendingExt, max int,
	batch bool) (ids []string, deliveries map[string]int64, rest bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	deliveries = map[string]int64{}
	for _, p := range idle {
		suspect := batch && p.RetryCount >= maxBatched
		switch {
		case len(ids) == max || h.ids[p.ID]:
			continue
		case suspect && h.suspect != "":
			rest = true
			continue
		case suspect:
			h.suspect = p.ID
		}
		ids, deliveries[p.ID] = append(ids, p.ID), p.RetryCount+1
	}
	return ids, deliveries, rest
}

// clear forgets a suspect that was chosen and could not be claimed: another reader was first, or it
// was acknowledged.
func (h *handled) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ids[h.suspect] {
		h.suspect = ""
	}
}

// mayTakeRest tells whether no entry that may have crashed its workers is being handled here.
func (h *handled) mayTakeRest() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.suspect == ""
}
