package scripts

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// StreamEntry is an entry of a stream.
type StreamEntry struct {
	ID     string
	Fields map[string]string
}

// First returns the oldest entries of a stream, at most count.
func (s Entries) First(ctx context.Context, stream string, count int64) ([]StreamEntry, error) {
	return s.between(ctx, stream, "-", "+", count)
}

// Get returns an entry of a stream; false: it does not exist. It returns ErrBroken if the key is not a
// stream.
func (s Entries) Get(ctx context.Context, stream, id string) (StreamEntry, bool, error) {
	found, err := s.between(ctx, stream, id, id, 1)
	if err != nil || len(found) == 0 {
		return StreamEntry{}, false, err
	}
	return found[0], true, nil
}

func (s Entries) between(ctx context.Context, stream, from, to string, count int64) ([]StreamEntry, error) {
	c := redis.NewXMessageSliceCmd(ctx, "xrange", stream, from, to, "count", count)
	if err := s.send(ctx, c); err != nil {
		return nil, err
	}
	return entriesOf(c.Val()), nil
}

func entriesOf(messages []redis.XMessage) []StreamEntry {
	entries := make([]StreamEntry, len(messages))
	for i, m := range messages {
		entries[i] = StreamEntry{ID: m.ID, Fields: make(map[string]string, len(m.Values))}
		for name, value := range m.Values {
			entries[i].Fields[name], _ = value.(string)
		}
	}
	return entries
}

// IsPending tells whether an entry is pending in the group of its stream. It returns ErrBroken if the
// key is not a stream.
func (s Entries) IsPending(ctx context.Context, e Entry) (bool, error) {
	c := redis.NewXPendingExtCmd(ctx, "xpending", e.Stream, e.Group, e.ID, e.ID, 1)
	if err := s.send(ctx, c); err != nil && !redis.HasErrorPrefix(err, "NOGROUP") {
		return false, err
	}
	return len(c.Val()) > 0, nil
}

// Idle returns the ids of entries that are pending for at least that long without a renewal, at most
// count, after an entry; empty: from the first one on. If the stream has no group, Idle creates it
// before the first entry.
func (s Entries) Idle(ctx context.Context, stream string, idle time.Duration, after string, count int64) ([]string, error) {
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
		return nil, err
	case err != nil:
		return nil, err
	}
	ids := make([]string, len(c.Val()))
	for i, p := range c.Val() {
		ids[i] = p.ID
	}
	return ids, nil
}

// TakeOver makes entries pending for a consumer that are idle for at least that long, and returns them.
// It claims only these: XAUTOCLAIM would add the consumer to the stream, from Redis 7.2 on.
func (s Entries) TakeOver(ctx context.Context, stream, consumer string, idle time.Duration, ids []string) ([]StreamEntry, error) {
	args := []any{"xclaim", stream, Group, consumer, idle.Milliseconds()}
	c := redis.NewXMessageSliceCmd(ctx, append(args, asArgs(ids)...)...)
	if err := s.send(ctx, c); err != nil {
		return nil, err
	}
	return entriesOf(c.Val()), nil
}
