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
	// maxPlaces is how many ids of a queue are numbered.
	maxPlaces = 1000
	// queueAge is how old a place in the queue may be: everyone who waits asks once.
	queueAge = 2 * time.Second
)

// place is where an id stands that waits for its start.
type place struct {
	Due    time.Time // it is to start then; zero: as soon as it can
	Before int       // how many are before it, if Exact; else at least so many
	Exact  bool
	Known  bool // it was found in the queue, or the queue is longer than what was read
}

// queues are the beginnings of the queues of all partitions, as they were just now. They are safe
// for concurrent use.
type queues struct {
	redis redis.UniversalClient
	group singleflight.Group // by the name of the stream
	mu    sync.Mutex
	read  map[string]*beginning // by the name of the stream
}

// beginning is the first ids of a queue.
type beginning struct {
	at     time.Time
	places map[string]int
	more   bool // ids than those
}

// of returns where an id stands.
func (q *queues) of(ctx context.Context, s *scripts.Scripts, id string) (p place, err error) {
	score, err := q.redis.ZScore(ctx, s.Keys.Delayed(), id).Result()
	switch at, ok := inspect.DueTime(score); {
	case err == nil && ok:
		p.Due = at
		return p, nil
	case err != nil && !errors.Is(err, redis.Nil):
		return p, fmt.Errorf("delayed: %w", err)
	}
	b, err := q.beginning(ctx, s.Keys.Jobs())
	if err != nil {
		return p, err
	}
	p.Before, p.Exact = b.places[id]
	if p.Known = p.Exact || b.more; !p.Exact {
		p.Before = len(b.places)
	}
	return p, nil
}

// beginning reads the first ids of a queue, at most once in queueAge. Only pages of the same queue
// wait for it.
func (q *queues) beginning(ctx context.Context, stream string) (*beginning, error) {
	found, err, _ := q.group.Do(stream, func() (any, error) {
		q.mu.Lock()
		b := q.read[stream]
		q.mu.Unlock()
		if b != nil && time.Since(b.at) < queueAge {
			return b, nil
		}
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
		defer cancel()
		entries, err := q.redis.XRangeN(limited, stream, "-", "+", maxPlaces+1).Result()
		if err != nil {
			return b, fmt.Errorf("jobs: %w", err)
		}
		b = &beginning{at: time.Now(), places: map[string]int{}, more: len(entries) > maxPlaces}
		for i, e := range entries[:min(len(entries), maxPlaces)] {
			if id, _ := e.Values["id"].(string); id != "" {
				b.places[id] = i
			}
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.read == nil {
			q.read = map[string]*beginning{}
		}
		q.read[stream] = b
		return b, nil
	})
	return found.(*beginning), err
}
