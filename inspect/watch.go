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

// Watcher shows the progress of jobs.
type Watcher interface {
	// Show shows the state of a job, which may be unchanged.
	Show(v Job) error
	// Event shows an event of a job.
	Event(e Event) error
}

const (
	// pollEvery is how often jobs are read without an event: events can be trimmed, and the row
	// count of a running listener has none.
	pollEvery = 500 * time.Millisecond
	// maxPolled is the maximum number of jobs that every poll reads. Of more jobs, it reads those with
	// events, and finds final records by one query.
	maxPolled = 10
	// whyAfter is how long a job may wait for its start until Watch finds out why, and how often it does.
	whyAfter = 3 * time.Second
)

// Watch shows jobs until their records are final, and returns their last states. It also ends a job
// whose id is quarantined meanwhile: its state has the reason as Error and is not final.
func (in *Inspector) Watch(ctx context.Context, ids []string, show Watcher) ([]Job, error) {
	follow, err := follow(ctx, in, ids)
	if err != nil {
		return nil, err
	}
	ended, ours := map[string]Job{}, map[string]bool{}
	for _, id := range ids {
		ours[id] = true
	}
	told, started := ids, startReasons{}
	for first := true; ; first = false {
		var waiting []string
		for _, id := range ids {
			if _, ok := ended[id]; !ok {
				waiting = append(waiting, id)
			}
		}
		if len(waiting) > maxPolled && !first {
			// One query finds those that have ended.
			records, err := in.o.Records.Read(ctx, waiting)
			if err != nil {
				return nil, err
			}
			waiting = slices.DeleteFunc(waiting, func(id string) bool {
				r, ok := records[id]
				return ok && !r.Status.Final() && !slices.Contains(told, id) && follow.aside[id] == ""
			})
		}
		for _, id := range waiting {
			v, err := watched(ctx, in, id)
			if err != nil {
				return nil, err
			}
			if v.Waits, v.Waiting, err = started.of(ctx, in, v, len(waiting)); err != nil {
				return nil, err
			}
			if err := show.Show(v); err != nil {
				return nil, err
			}
			if reason := follow.aside[id]; v.Status.Final() { // DELETED, too
				ended[id] = v
			} else if reason != "" && v.Job == "" {
				v.Error = "its id was quarantined: " + reason
				ended[id] = v
			}
		}
		if len(ended) == len(ours) {
			break
		}
		if err := follow.quarantined(ctx, in, ids); err != nil {
			return nil, err
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

// startReasons caches why the jobs of a Watch have not started, by id.
type startReasons map[string]startReason

type startReason struct {
	asked time.Time
	says  string
	kind  Kind
}

// of returns why a job has not started; empty: it has, or it has waited for less than whyAfter, or too many jobs
// are watched to ask for each.
func (s startReasons) of(ctx context.Context, in *Inspector, v Job, jobs int) (string, Kind, error) {
	one, ok := s[v.ID]
	switch {
	case v.Job != "" || v.Status != report.Pending || jobs > maxPolled:
		delete(s, v.ID)
		return "", "", nil
	case !ok:
		s[v.ID] = startReason{asked: time.Now()}
		return "", "", nil
	case time.Since(one.asked) < whyAfter:
		return one.says, one.kind, nil
	}
	why, err := in.Why(ctx, v.ID)
	s[v.ID] = startReason{time.Now(), why.Summary, why.Kind}
	return why.Summary, why.Kind, err
}

// Deleted is the status that is shown for a deleted record.
const Deleted report.Status = "DELETED"

// watched is Job for a record that existed and may have been deleted.
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

// follower reads new events, and new entries of the quarantine.
type follower struct {
	redis  redis.UniversalClient
	last   map[string]string // stream of events → last entry that was read
	asides map[string]string // quarantine → the same
	aside  map[string]string // quarantined id → reason
}

// justPushed is how long before a Watch its ids may have been pushed and quarantined.
const justPushed = 5 * time.Second

// follow starts after the current last events in the partitions of ids.
func follow(ctx context.Context, in *Inspector, ids []string) (*follower, error) {
	f := &follower{redis: in.o.Blocking, last: map[string]string{}, asides: map[string]string{}, aside: map[string]string{}}
	now, err := in.o.Scripts.Home().Now(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		k := in.o.Scripts.Of(id).Keys
		f.asides[k.Quarantined] = integer(now.Add(-justPushed).UnixMilli())
		stream := k.Events
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

// quarantined notes the ids that were quarantined since the last call.
func (f *follower) quarantined(ctx context.Context, in *Inspector, ids []string) error {
	for stream, last := range f.asides {
		entries, err := in.o.Redis.XRangeN(ctx, stream, "("+last, "+", pageSize).Result()
		if err != nil {
			return fmt.Errorf("quarantine: %w", err)
		}
		for _, entry := range entries {
			q := newQuarantined(entry)
			f.asides[stream] = entry.ID
			for _, id := range ids {
				if q.names(id) {
					f.aside[id] = q.Reason
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
