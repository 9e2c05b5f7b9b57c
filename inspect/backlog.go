package inspect

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// backlog measures a stream whose entries are deleted when they are done.
type backlog struct {
	key     string
	length  *redis.IntCmd
	pending *redis.XPendingCmd      // entries that a process has read
	first   *redis.XMessageSliceCmd // the oldest entry, if no process has read any
}

// backlogFigures returns the figures of a stream: its entries, how many of them a process has read,
// how many none has, and the age of the oldest.
func backlogFigures(name, key, help string) []measure {
	b := &backlog{key: key}
	return []measure{
		{Figure{Name: name + "_waiting", Help: help}, b.ask, nil, func(time.Time) (float64, error) { return number(b.length.Result()) }},
		{Figure{Name: name + "_pending", Help: "How many of fanfold_" + name + "_waiting a process has read."}, nil, nil, b.read},
		{Figure{Name: name + "_lag", Help: "How many of fanfold_" + name + "_waiting no process has read yet."}, nil, nil, b.lag},
		{Figure{Name: name + "_oldest_seconds", Help: "Age of the oldest entry of fanfold_" + name + "_waiting, 0 if there is none."}, nil, b.askFirst, b.oldest},
	}
}

func (b *backlog) ask(ctx context.Context, p redis.Pipeliner) {
	b.length, b.pending = p.XLen(ctx, b.key), p.XPending(ctx, b.key, scripts.Group)
}

// summary returns the summary of the entries that a process has read.
func (b *backlog) summary() (redis.XPending, error) {
	found, err := b.pending.Result()
	if err != nil && !Missing(err) {
		return redis.XPending{}, err
	} else if found == nil {
		found = &redis.XPending{}
	}
	return *found, b.length.Err()
}

func (b *backlog) read(time.Time) (float64, error) {
	pending, err := b.summary()
	return float64(pending.Count), err
}

// lag computes the lag. XINFO GROUPS cannot tell it after an unread entry was deleted.
func (b *backlog) lag(time.Time) (float64, error) {
	pending, err := b.summary()
	return float64(max(0, b.length.Val()-pending.Count)), err
}

// askFirst reads the oldest entry if no process has read any. Otherwise XPENDING names it.
func (b *backlog) askFirst(ctx context.Context, p redis.Pipeliner) {
	if pending, err := b.summary(); err == nil && pending.Count == 0 && b.length.Val() > 0 {
		b.first = p.XRangeN(ctx, b.key, "-", "+", 1)
	}
}

func (b *backlog) oldest(now time.Time) (float64, error) {
	pending, err := b.summary()
	if err != nil {
		return 0, err
	}
	oldest := pending.Lower // entries are read in order
	if b.first != nil {
		entries, err := b.first.Result()
		if err != nil || len(entries) == 0 {
			return 0, err
		}
		oldest = entries[0].ID
	}
	if oldest == "" {
		return 0, nil
	}
	return since(now, scripts.EntryTime(oldest)), nil
}
