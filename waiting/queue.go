package waiting

import (
	"context"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/aged"
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

// queues finds ids in the queues of all partitions.
type queues struct {
	partitions scripts.Partitions
	heads      aged.Cache[string, queueHead] // by the name of the stream
}

// queueHead has the first ids of a queue.
type queueHead struct {
	positions map[string]int
	more      bool // the queue has more ids
}

// position returns the position of an id in a partition.
func (q *queues) position(ctx context.Context, s *scripts.Scripts, id string) (at position, err error) {
	scores, err := s.Sets.Scores(ctx, s.Keys.Delayed, []string{id})
	if err != nil {
		return at, err
	}
	if score, ok := scores[id]; ok {
		if due, ok := inspect.DueTime(score); ok {
			at.Due = due
			return at, nil
		}
	}
	if place, err := s.Lanes.Place(ctx, id); err != nil || place != nil {
		if place != nil {
			at.Before, at.Exact, at.Known = int(place.Before), true, true
		}
		return at, err
	}
	head, err := q.heads.Get(ctx, s.Keys.Jobs)
	if err != nil {
		return at, err
	}
	at.Before, at.Exact = head.positions[id]
	if at.Known = at.Exact || head.more; !at.Exact {
		at.Before = len(head.positions)
	}
	return at, nil
}

// read reads the first ids of a queue.
func (q *queues) read(ctx context.Context, stream string) (queueHead, error) {
	entries, err := q.partitions.First().Entries.First(ctx, stream, maxPositions+1)
	if err != nil {
		return queueHead{}, fmt.Errorf("jobs: %w", err)
	}
	head := queueHead{positions: map[string]int{}, more: len(entries) > maxPositions}
	for i, e := range entries[:min(len(entries), maxPositions)] {
		if id := e.Fields["id"]; id != "" {
			head.positions[id] = i
		}
	}
	return head, nil
}
