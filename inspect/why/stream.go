package why

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
)

// pageSize is the number of entries that one round trip reads.
const pageSize = 1000

// searched is the maximum number of entries that are searched for an id.
const searched = 10 * pageSize

// queue describes a stream, and one id's entry in it.
type queue struct {
	Key       string
	Length    int64
	Consumers []redis.XInfoConsumer // of the group; Idle is the time since the last command of the consumer
	Entry     *entry                // nil: not in the searched part
	Searched  int64                 // searched entries, from the oldest on
	Whole     bool                  // the whole stream was searched
}

// entry is a message in a stream.
type entry struct {
	ID       string
	Ahead    int64         // older entries
	Consumer string        // the one that has read it; empty: not read yet
	Idle     time.Duration // since it was read, or its lease was renewed
}

// queue describes a stream, and searches its oldest entries for an id and an attempt (0: any).
func (g *gatherer) queue(ctx context.Context, key, id string, attempt int64) (queue, error) {
	q, err := once(g, "stream "+key, func() (q queue, err error) {
		q.Key = key
		if q.Length, err = g.Options.Redis.XLen(ctx, key).Result(); err != nil {
			return q, err
		}
		if q.Consumers, err = g.Options.Redis.XInfoConsumers(ctx, key, scripts.Group).Result(); err != nil && inspect.Missing(err) {
			err = nil
		}
		return q, err
	})
	if err != nil {
		return q, err
	}
	if err := g.search(ctx, &q, scripts.Message{ID: id, Attempt: attempt}); err != nil || q.Entry == nil {
		return q, err
	}
	pending, err := g.Options.Redis.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: key, Group: scripts.Group, Start: q.Entry.ID, End: q.Entry.ID, Count: 1,
	}).Result()
	if err != nil && !inspect.Missing(err) {
		return q, err
	}
	if len(pending) > 0 {
		q.Entry.Consumer, q.Entry.Idle = pending[0].Consumer, pending[0].Idle
	}
	return q, nil
}

// indexed is a page of a stream, as an index.
type indexed struct {
	length int64
	last   string                    // id of its last entry
	at     map[scripts.Message]entry // the newest entry of an id and an attempt; attempt 0: of the id
}

// search finds the newest entry of a message among the oldest entries of a stream.
func (g *gatherer) search(ctx context.Context, q *queue, of scripts.Message) error {
	for from := "-"; ; {
		page, err := once(g, "stream "+q.Key+" "+from, func() (indexed, error) { return g.index(ctx, q.Key, from) })
		if err != nil {
			return err
		}
		if e, ok := page.at[of]; ok {
			e.Ahead += q.Searched
			q.Entry = &e
		}
		q.Searched += page.length
		if q.Whole = page.length < pageSize; q.Whole || q.Entry != nil || q.Searched >= searched {
			return nil
		}
		from = "(" + page.last
	}
}

// index reads a page of a stream.
func (g *gatherer) index(ctx context.Context, key, from string) (indexed, error) {
	found, err := g.Options.Redis.XRangeN(ctx, key, from, "+", pageSize).Result()
	page := indexed{length: int64(len(found)), at: map[scripts.Message]entry{}}
	for i, m := range found {
		id, _ := m.Values["id"].(string)
		text, _ := m.Values["attempt"].(string)
		attempt, _ := strconv.ParseInt(text, 10, 64)
		for _, of := range []int64{0, attempt} {
			page.at[scripts.Message{ID: id, Attempt: of}] = entry{ID: m.ID, Ahead: int64(i)}
		}
		page.last = m.ID
	}
	return page, err
}
