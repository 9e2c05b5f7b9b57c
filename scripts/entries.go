package scripts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/redis/go-redis/v9"
)

// Len returns the number of entries of a stream.
func (s Entries) Len(ctx context.Context, stream string) (int64, error) {
	c := redis.NewIntCmd(ctx, "xlen", stream)
	err := s.send(ctx, c)
	return c.Val(), err
}

// First returns the oldest entries of a stream, at most count.
func (s Entries) First(ctx context.Context, stream string, count int64) ([]Entry, error) {
	return s.read(ctx, stream, "xrange", "-", "+", count)
}

// Get returns an entry of a stream; nil: it does not exist. It returns ErrBroken if the key is not a
// stream.
func (s Entries) Get(ctx context.Context, stream, id string) (*Entry, error) {
	found, err := s.read(ctx, stream, "xrange", id, id, 1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// After returns a page of the entries of a stream after an entry, the oldest first. A page that is not
// full is the last one.
func (s Entries) After(ctx context.Context, stream, id string) (page []Entry, full bool, err error) {
	page, err = s.read(ctx, stream, "xrange", "("+id, "+", pageSize)
	return page, len(page) == pageSize, err
}

// Newest returns the newest entries of a stream, at most count, the newest first, of those between two
// entries; empty: of all.
func (s Entries) Newest(ctx context.Context, stream, after, before string, count int64) ([]Entry, error) {
	from, to := "+", "-"
	if before != "" {
		from = "(" + before
	}
	if after != "" {
		to = "(" + after
	}
	return s.read(ctx, stream, "xrevrange", from, to, count)
}

// Wait returns the next entries of a stream after an entry. It waits for one at most that long, and
// then returns none.
func (s Entries) Wait(ctx context.Context, stream, id string, d time.Duration) ([]Entry, error) {
	found, err := s.blocking.XRead(ctx, &redis.XReadArgs{
		Streams: []string{stream, id}, Count: pageSize, Block: max(d, time.Millisecond),
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", stream, err)
	}
	return EntriesOf(stream, "", found[0].Messages), nil
}

// Next reads the next entry of a stream for a consumer, for which it is then pending. It returns nil at once if
// there is none, or the stream has no group yet.
func (s Entries) Next(ctx context.Context, stream, consumer string) (*Entry, error) {
	c := redis.NewXStreamSliceCmd(ctx, "xreadgroup", "group", Group, consumer, "count", 1, "streams", stream, ">")
	err := s.send(ctx, c)
	switch {
	case errors.Is(err, redis.Nil), redis.HasErrorPrefix(err, "NOGROUP"):
		return nil, nil
	case err != nil:
		return nil, err
	case len(c.Val()) == 0 || len(c.Val()[0].Messages) == 0:
		return nil, nil
	}
	return &EntriesOf(stream, consumer, c.Val()[0].Messages)[0], nil
}

// Last returns the id of the newest entry of a stream, or one before all entries if it has none.
func (s Entries) Last(ctx context.Context, stream string) (string, error) {
	found, err := s.Newest(ctx, stream, "", "", 1)
	if err != nil || len(found) == 0 {
		return "0-0", err
	}
	return found[0].ID, nil
}

// NewestPages iterates over the entries of a stream, page by page, the newest first, of those before an entry;
// empty: of all.
func (s Entries) NewestPages(ctx context.Context, stream, before string) iter.Seq2[[]Entry, error] {
	return func(yield func([]Entry, error) bool) {
		for before := before; ; {
			page, err := s.Newest(ctx, stream, "", before, pageSize)
			if !yield(page, err) || err != nil || len(page) < pageSize {
				return
			}
			before = page[len(page)-1].ID
		}
	}
}

func (s Entries) read(ctx context.Context, stream, command, from, to string, count int64) ([]Entry, error) {
	c := redis.NewXMessageSliceCmd(ctx, command, stream, from, to, "count", count)
	if err := s.send(ctx, c); err != nil {
		return nil, err
	}
	return EntriesOf(stream, "", c.Val()), nil
}

// Reader returns the consumer that has read an entry, and how long ago it did or has renewed its lease;
// empty: the entry is not pending. It returns ErrBroken if the key is not a stream.
func (s Entries) Reader(ctx context.Context, stream, id string) (consumer string, idle time.Duration, err error) {
	c := redis.NewXPendingExtCmd(ctx, "xpending", stream, Group, id, id, 1)
	if err := s.send(ctx, c); err != nil && !redis.HasErrorPrefix(err, "NOGROUP") {
		return "", 0, err
	}
	for _, p := range c.Val() {
		consumer, idle = p.Consumer, p.Idle
	}
	return consumer, idle, nil
}

// Idle returns the ids of entries that are pending for at least that long without a renewal, at most
// count, after an entry; empty: from the first one on. Consumers are theirs, by id. If the stream has no group,
// Idle creates it before the first entry.
func (s Entries) Idle(ctx context.Context, stream string, idle time.Duration, after string,
	count int64) (ids []string, consumers map[string]string, err error) {
	start := "-"
	if after != "" {
		start = "(" + after
	}
	c := redis.NewXPendingExtCmd(ctx, "xpending", stream, Group, "idle", idle.Milliseconds(), start, "+", count)
	switch err := s.send(ctx, c); {
	case redis.HasErrorPrefix(err, "NOGROUP"):
		err = s.send(ctx, redis.NewStatusCmd(ctx, "xgroup", "create", stream, Group, "0", "mkstream"))
		if redis.HasErrorPrefix(err, "BUSYGROUP") {
			err = nil
		}
		return nil, nil, err
	case err != nil:
		return nil, nil, err
	}
	consumers = map[string]string{}
	for _, p := range c.Val() {
		ids, consumers[p.ID] = append(ids, p.ID), p.Consumer
	}
	return ids, consumers, nil
}

// TakeOver makes entries pending for a consumer that are idle for at least that long, and returns them.
// It claims only these: XAUTOCLAIM would add the consumer to the stream, from Redis 7.2 on.
func (s Entries) TakeOver(ctx context.Context, stream, consumer string, idle time.Duration,
	ids []string) ([]Entry, error) {
	args := []any{"xclaim", stream, Group, consumer, idle.Milliseconds()}
	c := redis.NewXMessageSliceCmd(ctx, append(args, asArgs(ids)...)...)
	if err := s.send(ctx, c); err != nil {
		return nil, err
	}
	return EntriesOf(stream, consumer, c.Val()), nil
}
