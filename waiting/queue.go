package waiting

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
)

const (
	// maxPositions is the maximum number of ids that are read from a queue.
	maxPositions = 1000
	// maxQueueAge is the maximum age of a position. Within it, all pages of a queue cost one query.
	maxQueueAge = 2 * time.Second
)

// position is the position of an id that waits for its start.
type position struct {
	Due    time.Time // planned start; zero: as soon as possible
	Before int       // number of ids before it; the minimum if not Exact
	Exact  bool
	Known  bool // the id is in the queue, or the queue is longer than maxPositions
}

// queues caches the first ids of the queues of all partitions. It is safe for concurrent use.
type queues struct {
	redis redis.UniversalClient
	group singleflight.Group // by the name of the stream
	mu    sync.Mutex
	read  map[string]*queueHead // by the name of the stream
}

// queueHead has the first ids of a queue.
type queueHead struct {
	at        time.Time
	positions map[string]int
	more      bool // the queue has more ids
}

// of returns the position of an id.
func (q *queues) of(ctx context.Context, s *scripts.Scripts, id string) (p position, err error) {
	score, err := q.redis.ZScore(ctx, s.Keys.Delayed, id).Result()
	switch at, ok := inspect.DueTime(score); {
	case err == nil && ok:
		p.Due = at
		return p, nil
	case err != nil && !errors.Is(err, redis.Nil):
		return p, fmt.Errorf("delayed: %w", err)
	}
	b, err := q.head(ctx, s.Keys.Jobs)
	if err != nil {
		return p, err
	}
	p.Before, p.Exact = b.positions[id]
	if p.Known = p.Exact || b.more; !p.Exact {
		p.Before = len(b.positions)
	}
	return p, nil
}

// head reads the first ids of a queue, at most once in maxQueueAge. A queue that hangs delays only its own
// pages.
func (q *queues) head(ctx context.Context, stream string) (*queueHead, error) {
	found, err, _ := q.group.Do(stream, func() (any, error) {
		q.mu.Lock()
		b := q.read[stream]
		q.mu.Unlock()
		if b != nil && time.Since(b.at) < maxQueueAge {
			return b, nil
		}
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
		defer cancel()
		entries, err := q.redis.XRangeN(limited, stream, "-", "+", maxPositions+1).Result()
		if err != nil {
			return b, fmt.Errorf("jobs: %w", err)
		}
		b = &queueHead{at: time.Now(), positions: map[string]int{}, more: len(entries) > maxPositions}
		for i, e := range entries[:min(len(entries), maxPositions)] {
			if id, _ := e.Values["id"].(string); id != "" {
				b.positions[id] = i
			}
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.read == nil {
			q.read = map[string]*queueHead{}
		}
		q.read[stream] = b
		return b, nil
	})
	return found.(*queueHead), err
}
