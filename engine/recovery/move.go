package recovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Move moves all that waits from partitions to others, which may be in another Redis: pushed and
// delayed ids, timers, pauses, the list of dead jobs and the quarantine. What is left of the old
// partitions is removed. Jobs that run are not moved: the next pass over the records starts their
// next attempts. No process may work on either; Move may be repeated after an error. It returns
// how many ids and timers it has moved.
func Move(ctx context.Context, from, to scripts.Partitions, source, target redis.UniversalClient) (moved int, err error) {
	for _, s := range from {
		m := mover{source: source, target: target, from: s, to: to}
		if err := m.move(ctx); err != nil {
			return moved + m.moved, fmt.Errorf("move %s: %w", s.Keys.Prefix, err)
		}
		moved += m.moved
	}
	for _, s := range from {
		if err := remove(ctx, source, s.Keys); err != nil {
			return moved, fmt.Errorf("remove %s: %w", s.Keys.Prefix, err)
		}
	}
	return moved, nil
}

// mover moves what waits in one partition. It only adds.
type mover struct {
	source, target redis.UniversalClient
	from           *scripts.Scripts
	to             scripts.Partitions
	moved          int
}

func (m *mover) move(ctx context.Context) error {
	k, home := m.from.Keys, m.to.Home().Keys
	if err := m.set(ctx, k.PausedSet(), func(string) string { return home.PausedSet() }); err != nil {
		return err
	}
	if err := m.set(ctx, k.PausedTimers(), func(name string) string { return m.to.Of(name).Keys.PausedTimers() }); err != nil {
		return err
	}
	if err := m.set(ctx, k.Timers(), func(name string) string { return m.to.Of(name).Keys.Timers() }); err != nil {
		return err
	}
	if err := m.set(ctx, k.Dead(), func(id string) string { return m.to.Of(id).Keys.Dead() }); err != nil {
		return err
	}
	delayed := func(member string) string {
		if !report.ValidID(member) {
			return "" // a step of a job that runs, or what is no id and would be quarantined
		}
		return m.to.Of(member).Keys.Delayed()
	}
	if err := m.set(ctx, k.Delayed(), delayed); err != nil {
		return err
	}
	anchors, err := m.source.HGetAll(ctx, k.TimerAnchors()).Result()
	for name, anchor := range anchors {
		err = errors.Join(err, m.target.HSetNX(ctx, m.to.Of(name).Keys.TimerAnchors(), name, anchor).Err())
	}
	if err != nil {
		return err
	}
	if err := m.stream(ctx, k.Jobs(), func(e redis.XMessage) string {
		id, _ := e.Values["id"].(string)
		return m.to.Of(id).Keys.Jobs()
	}); err != nil {
		return err
	}
	return m.stream(ctx, k.Quarantined(), func(redis.XMessage) string { return home.Quarantined() })
}

// set adds the members of a sorted set to other ones; an empty name is none.
func (m *mover) set(ctx context.Context, key string, to func(member string) string) error {
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		page, next, err := m.from.Epoch.ScanSet(ctx, key, cursor, scanPage)
		if err != nil {
			return err
		}
		_, err = m.target.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, z := range page {
				member, _ := z.Member.(string)
				if name := to(member); name != "" {
					p.ZAddNX(ctx, name, z)
					m.moved++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		cursor = next
	}
	return nil
}

// stream appends the entries of a stream to others, and removes them.
func (m *mover) stream(ctx context.Context, key string, to func(redis.XMessage) string) error {
	for {
		page, err := m.source.XRangeN(ctx, key, "-", "+", scanPage).Result()
		if err != nil || len(page) == 0 {
			return err
		}
		var ids []string
		if _, err := m.target.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, e := range page {
				p.XAdd(ctx, &redis.XAddArgs{Stream: to(e), Values: e.Values})
				ids = append(ids, e.ID)
				m.moved++
			}
			return nil
		}); err != nil {
			return err
		}
		if err := m.source.XDel(ctx, key, ids...).Err(); err != nil {
			return err
		}
	}
}

// remove removes all keys of a partition.
func remove(ctx context.Context, client redis.UniversalClient, k scripts.Keys) error {
	masters, err := redisdb.Masters(ctx, client)
	if err != nil {
		return err
	}
	for _, master := range masters {
		for _, prefix := range []string{k.Prefix, k.Hash} {
			keys := master.Scan(ctx, 0, prefix+"*", scanPage).Iterator()
			for keys.Next(ctx) {
				if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
					return err
				}
			}
			if err := keys.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}
