package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Watcher is shown what becomes of jobs.
type Watcher interface {
	// Look shows how a job stands, which may be as it was before.
	Look(v Job) error
	// Event shows what was told of a job.
	Event(e Event) error
}

const (
	// pollEvery is how often jobs without events are read: events can be trimmed, and
	// rows of a listener that runs have none.
	pollEvery = 500 * time.Millisecond
	// maxPolled is how many jobs are read every time. Of more, only those with events are;
	// one query tells which records are final.
	maxPolled = 10
)

// Watch follows jobs until their records are final.
func (in *Inspector) Watch(ctx context.Context, ids []string, show Watcher) ([]Job, error) {
	follow, err := follow(ctx, in, ids)
	if err != nil {
		return nil, err
	}
	ended, ours := map[string]Job{}, map[string]bool{}
	for _, id := range ids {
		ours[id] = true
	}
	told := ids
	for first := true; ; first = false {
		var waiting []string
		for _, id := range ids {
			if _, ok := ended[id]; !ok {
				waiting = append(waiting, id)
			}
		}
		if len(waiting) > maxPolled && !first {
			// One query tells which have ended.
			records, err := in.o.Records.Read(ctx, waiting)
			if err != nil {
				return nil, err
			}
			waiting = slices.DeleteFunc(waiting, func(id string) bool {
				r, ok := records[id]
				return ok && !r.Status.Final() && !slices.Contains(told, id)
			})
		}
		for _, id := range waiting {
			v, err := watched(ctx, in, id)
			if err != nil {
				return nil, err
			}
			if err := show.Look(v); err != nil {
				return nil, err
			}
			if v.Status.Final() { // DELETED, too
				ended[id] = v
			}
		}
		if len(ended) == len(ours) {
			break
		}
		if told, err = follow.next(ctx, pollEvery, func(e Event) (bool, error) {
			if _, final := ended[e.ID]; final || !ours[e.ID] {
				return false, nil
			}
			return true, show.Event(e)
		}); err != nil {
			return nil, err
		}
	}
	var views []Job
	for _, id := range ids {
		views = append(views, ended[id])
	}
	return views, nil
}

// Deleted is the status that is shown for a record whose row has gone.
const Deleted report.Status = "DELETED"

// watched is Job, for a record that existed and may be deleted.
func watched(ctx context.Context, in *Inspector, id string) (Job, error) {
	v, err := in.Job(ctx, id)
	if errors.Is(err, engine.ErrNoRecord) {
		return Job{ID: id, Status: Deleted, Error: "the record was deleted"}, nil
	}
	return v, err
}

// Event is an entry of fanfold:events.
type Event struct {
	ID     string // of the record
	Name   string
	At     time.Time
	Fields map[string]string // all of them
}

// follower reads events as they come.
type follower struct {
	redis redis.UniversalClient
	last  map[string]string // stream of events → entry that was read last
}

// follow begins behind the last events of now in the partitions of some ids.
func follow(ctx context.Context, in *Inspector, ids []string) (*follower, error) {
	f := &follower{redis: in.o.Blocking, last: map[string]string{}}
	for _, id := range ids {
		stream := in.o.Scripts.Of(id).Keys.Events()
		if _, ok := f.last[stream]; ok {
			continue
		}
		entries, err := in.o.Redis.XRevRangeN(ctx, stream, "+", "-", 1).Result()
		if err != nil {
			return nil, fmt.Errorf("events: %w", err)
		}
		if f.last[stream] = "0-0"; len(entries) > 0 {
			f.last[stream] = entries[0].ID
		}
	}
	return f, nil
}

// turn is how long one of several streams of events is waited for: no command reads those of
// several slots.
const turn = 50 * time.Millisecond

// next takes events until one of them was taken, or the time is over, and returns the
// ids of the records of those.
func (f *follower) next(ctx context.Context, limit time.Duration, take func(Event) (bool, error)) (ids []string, err error) {
	end := time.Now().Add(limit)
	for len(ids) == 0 {
		left := time.Until(end)
		if left <= 0 {
			return nil, nil
		}
		if len(f.last) > 1 {
			left = turn
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
