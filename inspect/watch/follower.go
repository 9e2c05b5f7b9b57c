package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
	"github.com/redis/go-redis/v9"
)

// pageSize is the number of entries that one round trip reads.
const pageSize = 1000

// Event is an entry of fanfold:events.
type Event struct {
	ID     string // of the record
	Name   string
	At     time.Time
	Fields map[string]string // all of them
}

// follower reads new events, and new entries of the quarantine.
type follower struct {
	redis       redis.UniversalClient
	last        map[string]string // stream of events → last entry that was read
	quarantines map[string]string // quarantine → the same
	refused     map[string]string // quarantined id → reason
}

// justPushed is how long before a Watch its ids may have been pushed and quarantined.
const justPushed = 5 * time.Second

// follow starts after the current last events in the partitions of ids.
func follow(ctx context.Context, in *inspect.Inspector, ids []string) (*follower, error) {
	f := &follower{redis: in.Options.Blocking, last: map[string]string{}, quarantines: map[string]string{}, refused: map[string]string{}}
	now, err := in.Options.Scripts.First().Now(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		k := in.Options.Scripts.Of(id).Keys
		f.quarantines[k.Quarantined] = strconv.FormatInt(now.Add(-justPushed).UnixMilli(), 10)
		stream := k.Events
		if _, ok := f.last[stream]; ok {
			continue
		}
		entries, err := in.Options.Redis.XRevRangeN(ctx, stream, "+", "-", 1).Result()
		if err != nil {
			return nil, fmt.Errorf("events: %w", err)
		}
		if f.last[stream] = "0-0"; len(entries) > 0 {
			f.last[stream] = entries[0].ID
		}
	}
	return f, nil
}

// quarantined notes the ids that were quarantined since the last call.
func (f *follower) quarantined(ctx context.Context, in *inspect.Inspector, ids []string) error {
	for stream, last := range f.quarantines {
		entries, err := in.Options.Redis.XRangeN(ctx, stream, "("+last, "+", pageSize).Result()
		if err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
		for _, entry := range entries {
			q := inspect.ParseQuarantined(entry)
			f.quarantines[stream] = entry.ID
			for _, id := range ids {
				if q.Names(id) {
					f.refused[id] = q.Reason
				}
			}
		}
	}
	return nil
}

// blockTime is how long a read of one of several streams blocks: no command reads streams of
// several slots.
const blockTime = 50 * time.Millisecond

// next passes events to take until it accepts one, or the time limit ends. It returns the ids of
// the accepted events.
func (f *follower) next(ctx context.Context, limit time.Duration, take func(Event) (bool, error)) (ids []string, err error) {
	end := time.Now().Add(limit)
	for len(ids) == 0 {
		left := time.Until(end)
		if left <= 0 {
			return nil, nil
		}
		if len(f.last) > 1 {
			left = blockTime
		}
		for stream, last := range f.last {
			streams, err := f.redis.XRead(ctx, &redis.XReadArgs{Streams: []string{stream, last}, Count: 1000, Block: max(left, time.Millisecond)}).Result()
			if errors.Is(err, redis.Nil) {
				continue
			} else if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			} else if err != nil {
				return nil, fmt.Errorf("events: %w", err)
			}
			for _, entry := range streams[0].Messages {
				f.last[stream] = entry.ID
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
	}
	return ids, nil
}

func eventOf(entry redis.XMessage) Event {
	e := Event{At: scripts.EntryTime(entry.ID), Fields: map[string]string{}}
	for name, value := range entry.Values {
		e.Fields[name], _ = value.(string)
	}
	e.ID, e.Name = e.Fields["id"], e.Fields["event"]
	return e
}
