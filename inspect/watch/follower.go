package watch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
)

// Event is an entry of fanfold:events.
type Event struct {
	ID     string // of the record
	Name   string
	At     time.Time
	Fields map[string]string // all of them
}

// follower reads new events, and new entries of the quarantine.
type follower struct {
	last        map[*scripts.Scripts]string // the last event that was read
	quarantines map[*scripts.Scripts]string // the same of the quarantine
	refused     map[string]string           // quarantined id → reason
}

// justPushed is how long before a Watch its ids may have been pushed and quarantined.
const justPushed = 5 * time.Second

// follow starts after the current last events in the partitions of ids.
func follow(ctx context.Context, in *inspect.Inspector, ids []string) (*follower, error) {
	f := &follower{map[*scripts.Scripts]string{}, map[*scripts.Scripts]string{}, map[string]string{}}
	return f, f.add(ctx, in, ids)
}

// add follows more ids.
func (f *follower) add(ctx context.Context, in *inspect.Inspector, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	now, err := in.Scripts.First().Now(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		s := in.Scripts.Of(id)
		if _, ok := f.last[s]; ok {
			continue
		}
		f.quarantines[s] = strconv.FormatInt(now.Add(-justPushed).UnixMilli(), 10)
		last, err := s.Entries.Last(ctx, s.Keys.Events)
		if err != nil {
			return fmt.Errorf("events: %w", err)
		}
		f.last[s] = last
	}
	return nil
}

// quarantined notes the ids that were quarantined since the last call.
func (f *follower) quarantined(ctx context.Context, ids []string) error {
	for s, last := range f.quarantines {
		entries, _, err := s.Entries.After(ctx, s.Keys.Quarantined, last)
		if err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
		for _, entry := range entries {
			q := inspect.ParseQuarantined(entry)
			f.quarantines[s] = entry.ID
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
func (f *follower) next(ctx context.Context, limit time.Duration,
	take func(Event) (bool, error)) (ids []string, err error) {
	end := time.Now().Add(limit)
	for len(ids) == 0 {
		left := time.Until(end)
		if left <= 0 {
			return nil, nil
		}
		if len(f.last) > 1 {
			left = blockTime
		}
		for s, last := range f.last {
			entries, err := s.Entries.Wait(ctx, s.Keys.Events, last, left)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			} else if err != nil {
				return nil, fmt.Errorf("events: %w", err)
			}
			for _, entry := range entries {
				f.last[s] = entry.ID
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

func eventOf(e scripts.Entry) Event {
	return Event{ID: e.Fields["id"], Name: e.Fields["event"], At: scripts.EntryTime(e.ID), Fields: e.Fields}
}
