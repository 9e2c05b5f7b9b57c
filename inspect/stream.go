package inspect

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// searched is how many entries of a stream are searched for an id.
const searched = 10 * pageSize

// queue is what was found of a stream, and of one id's entry in it.
type queue struct {
	Key       string
	Length    int64
	Consumers []redis.XInfoConsumer // of the group; Idle is how long one has not asked for anything
	Entry     *entry                // nil: not among those that were searched
	Searched  int64                 // entries that were searched, from the oldest on
	Whole     bool                  // those were all
}

// entry is a message in a stream.
type entry struct {
	ID       string
	Ahead    int64         // older entries
	Consumer string        // who has read it; empty: not read yet
	Idle     time.Duration // since it was read, or its lease renewed
}

// live is how many consumers have been heard within the silence.
func (q queue) live(silence time.Duration) int {
	n := 0
	for _, c := range q.Consumers {
		if c.Idle < silence {
			n++
		}
	}
	return n
}

// askQueue reads what there is to know of a stream, and searches the oldest
// entries for an id, and an attempt where that is not 0.
func askQueue(ctx context.Context, rdb redis.UniversalClient, key, id string, attempt int64) (queue, error) {
	q := queue{Key: key}
	var err error
	if q.Length, err = rdb.XLen(ctx, key).Result(); err != nil {
		return q, err
	}
	if q.Consumers, err = rdb.XInfoConsumers(ctx, key, scripts.Group).Result(); err != nil && !missing(err) {
		return q, err
	}
	if err := searchQueue(ctx, rdb, &q, id, attempt); err != nil || q.Entry == nil {
		return q, err
	}
	pending, err := rdb.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: key, Group: scripts.Group, Start: q.Entry.ID, End: q.Entry.ID, Count: 1,
	}).Result()
	if err != nil && !missing(err) {
		return q, err
	}
	if len(pending) > 0 {
		q.Entry.Consumer, q.Entry.Idle = pending[0].Consumer, pending[0].Idle
	}
	return q, nil
}

// missing tells whether a stream or its group is not there.
func missing(err error) bool {
	return redis.HasErrorPrefix(err, "NOGROUP") || strings.Contains(err.Error(), "no such key")
}

// searchQueue finds the newest entry of an id among the oldest entries: the one
// that is read last.
func searchQueue(ctx context.Context, rdb redis.UniversalClient, q *queue, id string, attempt int64) error {
	for page, err := range entries(ctx, rdb, q.Key, false) {
		if err != nil {
			return err
		}
		for i, m := range page {
			of, _ := m.Values["attempt"].(string)
			if m.Values["id"] == id && (attempt == 0 || of == strconv.FormatInt(attempt, 10)) {
				q.Entry = &entry{ID: m.ID, Ahead: q.Searched + int64(i)}
			}
		}
		q.Searched += int64(len(page))
		if q.Whole = len(page) < pageSize; q.Entry != nil || q.Searched >= searched {
			return nil
		}
	}
	return nil
}
