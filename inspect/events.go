package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// Event is an entry of fanfold:events.
type Event struct {
	ID     string // of the record
	Name   string
	At     time.Time
	Fields map[string]string // all of them
}

// follower reads events as they come.
type follower struct {
	redis  *redis.Client
	stream string
	last   string // entry that was read
}

// follow begins behind the last event of now.
func follow(ctx context.Context, in *Inspector) (*follower, error) {
	f := &follower{redis: in.blocking, stream: in.scripts.Events(), last: "0-0"}
	entries, err := in.redis.XRevRangeN(ctx, f.stream, "+", "-", 1).Result()
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	if len(entries) > 0 {
		f.last = entries[0].ID
	}
	return f, nil
}

// next takes events until one of them was taken, or the time is over, and returns the
// ids of the records of those.
func (f *follower) next(ctx context.Context, limit time.Duration, take func(Event) (bool, error)) (ids []string, err error) {
	end := time.Now().Add(limit)
	for len(ids) == 0 {
		left := time.Until(end)
		if left <= 0 {
			return nil, nil
		}
		streams, err := f.redis.XRead(ctx, &redis.XReadArgs{Streams: []string{f.stream, f.last}, Count: 1000, Block: max(left, time.Millisecond)}).Result()
		if errors.Is(err, redis.Nil) {
			continue
		} else if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		} else if err != nil {
			return nil, fmt.Errorf("events: %w", err)
		}
		for _, entry := range streams[0].Messages {
			f.last = entry.ID
			e := eventOf(entry)
			ok, err := take(e)
			if err != nil {
				return nil, err
			}
			if ok && !slices.Contains(ids, e.ID) {
				ids = append(ids, e.ID)
			}
		}
	}
	return ids, nil
}

func eventOf(entry redis.XMessage) Event {
	e := Event{At: entryTime(entry.ID), Fields: map[string]string{}}
	for name, value := range entry.Values {
		e.Fields[name], _ = value.(string)
	}
	e.ID, e.Name = e.Fields["id"], e.Fields["event"]
	return e
}
