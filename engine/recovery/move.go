package recovery

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Move moves all waiting work from partitions to others, which may be in another Redis or have some
// of the same keys: pushed and delayed ids and those of paused reports, timers, firings whose
// action is not done, notifications, pauses, dead jobs and the quarantine. Other keys of the old
// partitions are removed. Running jobs are not moved: the next pass over the records starts their
// next attempts. No process may be running on either side. Move may be repeated after an error,
// even if something was added meanwhile. It returns how many ids and timers it moved.
func Move(ctx context.Context, from, to scripts.Partitions,
	source, target redis.UniversalClient) (moved int, err error) {
	same, err := isSame(ctx, source, target, from.First().Keys.Lock("move"))
	if err != nil {
		return 0, err
	}
	for _, s := range from {
		m := mover{source: source, target: target, same: same, from: s, to: to}
		if err := m.move(ctx); err != nil {
			return moved + m.moved, fmt.Errorf("move %s: %w", s.Keys.Prefix, err)
		}
		moved += m.moved
	}
	for _, s := range from {
		stays := same && slices.ContainsFunc(to,
			func(other *scripts.Scripts) bool { return other.Keys.Prefix == s.Keys.Prefix })
		if err := remove(ctx, source, s.Keys, stays); err != nil {
			return moved, fmt.Errorf("remove %s: %w", s.Keys.Prefix, err)
		}
	}
	return moved, nil
}

// scanPage is how many keys, members or entries one round trip reads.
const scanPage = 1000

// isSame tells whether two clients use the same Redis: one sees what the other writes.
func isSame(ctx context.Context, source, target redis.UniversalClient, key string) (bool, error) {
	token := rand.Text()
	if err := source.Set(ctx, key, token, time.Minute).Err(); err != nil {
		return false, err
	}
	found, err := target.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return found == token, err
}

// mover moves the work of one partition. It adds before it removes.
type mover struct {
	source, target redis.UniversalClient
	same           bool // they are of one Redis
	from           *scripts.Scripts
	to             scripts.Partitions
	moved          int
}

func (m *mover) move(ctx context.Context) error {
	k, home := m.from.Keys, m.to.First().Keys
	of := func(key func(*scripts.Keys) string) func(string) string {
		return func(id string) string { return key(m.to.Of(id).Keys) }
	}
	named := func(e redis.XMessage) *scripts.Scripts {
		name, _ := e.Values["name"].(string)
		return m.to.Of(name)
	}
	delayed := func(member string) string {
		if !report.ValidID(member) {
			return "" // a step of a job that runs, or what is no id and would be quarantined
		}
		return m.to.Of(member).Keys.Delayed
	}
	waiting, timers, err := m.adopt(ctx)
	if err != nil {
		return err
	}
	if err := m.lanes(ctx, waiting); err != nil {
		return err
	}
	for _, key := range waiting {
		report, ok := strings.CutPrefix(key, k.Waiting(""))
		if !ok {
			continue
		}
		if err := m.set(ctx, key, of(func(k *scripts.Keys) string { return k.Waiting(report) })); err != nil {
			return err
		}
	}
	return cmp.Or(
		m.pauses(ctx),
		m.set(ctx, k.PausedTimers, func(name string) string { return m.to.OfTimer(name).Keys.PausedTimers }),
		m.set(ctx, k.Timers, func(name string) string { return m.to.OfTimer(name).Keys.Timers }),
		m.set(ctx, k.Dead, of(func(k *scripts.Keys) string { return k.Dead })),
		m.set(ctx, k.Delayed, delayed),
		m.set(ctx, k.WaitingFired, func(member string) string {
			name, _, _ := strings.Cut(member, " ")
			return m.to.Of(name).Keys.WaitingFired
		}),
		m.hash(ctx, k.TimerAnchors, func(name string) string { return m.to.OfTimer(name).Keys.TimerAnchors }),
		m.hash(ctx, k.ReplyTo, of(func(k *scripts.Keys) string { return k.ReplyTo })),
		m.stream(ctx, k.Jobs, func(e redis.XMessage) string {
			id, _ := e.Values["id"].(string)
			return m.to.Of(id).Keys.Jobs
		}),
		m.stream(ctx, k.Next, func(e redis.XMessage) string {
			id, _ := e.Values["id"].(string)
			return m.to.Of(id).Keys.Jobs
		}),
		m.stream(ctx, k.Fired, func(e redis.XMessage) string { return named(e).Keys.Fired }),
		m.stream(ctx, k.Finished, func(e redis.XMessage) string { return named(e).Keys.Finished }),
		m.stream(ctx, k.Quarantined, func(redis.XMessage) string { return home.Quarantined }),
		m.timerKeys(ctx, timers),
	)
}

// adopt synchronizes the set of timers with the keys that services have set, like a scheduler. It
// returns the sets of ids of paused reports and of classes, and the names of the timers that have a key.
func (m *mover) adopt(ctx context.Context) (waiting, timers []string, err error) {
	k := m.from.Keys
	keys, err := known(ctx, m.source, k)
	if err != nil {
		return nil, nil, err
	}
	var events []scripts.TimerEvent
	for _, key := range keys {
		if name, ok := strings.CutPrefix(key, k.Timer("")); ok {
			timers, events = append(timers, name), append(events, scripts.TimerEvent{Name: name, Event: "scan"})
		} else if strings.HasPrefix(key, k.Waiting("")) || strings.HasPrefix(key, k.ClassWaiting("")) {
			waiting = append(waiting, key)
		}
	}
	for some := range slices.Chunk(events, scanPage) {
		if _, err := m.from.Timers.Adopt(ctx, some); err != nil {
			return nil, nil, err
		}
	}
	return waiting, timers, nil
}

// lanes pushes the ids that wait for a turn, so that they are parked in their new partition.
func (m *mover) lanes(ctx context.Context, keys []string) error {
	k := m.from.Keys
	for _, key := range keys {
		if !strings.HasPrefix(key, k.ClassWaiting("")) {
			continue
		}
		for page, err := range m.from.Sets.Scan(ctx, key) {
			if err != nil {
				return err
			}
			var ids []string
			var members []any
			if _, err := m.target.Pipelined(ctx, func(p redis.Pipeliner) error {
				for _, one := range page {
					id := one.Name[strings.LastIndexByte(one.Name, ' ')+1:]
					p.XAdd(ctx, &redis.XAddArgs{Stream: m.to.Of(id).Keys.Jobs, Values: []string{"id", id}})
					ids, members = append(ids, id), append(members, one.Name)
					m.moved++
				}
				return nil
			}); err != nil {
				return err
			}
			if len(ids) == 0 {
				continue
			}
			if err := cmp.Or(m.source.ZRem(ctx, key, members...).Err(),
				m.source.HDel(ctx, k.Lanes, ids...).Err()); err != nil {
				return err
			}
		}
	}
	return nil
}

// timerKeys moves the keys of timers, which services change and delete. Their values do not matter.
func (m *mover) timerKeys(ctx context.Context, names []string) error {
	for _, name := range names {
		key, to := m.from.Keys.Timer(name), m.to.Of(name).Keys.Timer(name)
		if m.stays(key, to) {
			continue
		}
		end, err := m.source.PExpireTime(ctx, key).Result()
		if err != nil {
			return err
		}
		if end > 0 {
			if err := m.target.Do(ctx, "set", to, "", "nx", "pxat", end.Milliseconds()).Err(); err != nil &&
				!errors.Is(err, redis.Nil) {
				return err
			}
		}
		if err := m.source.Unlink(ctx, key).Err(); err != nil {
			return err
		}
	}
	return nil
}

// stays tells whether a key has the same meaning in the new partitions.
func (m *mover) stays(from, to string) bool { return m.same && from == to }

// set moves the members of a sorted set and renames them; an empty name removes a member.
func (m *mover) set(ctx context.Context, key string, to func(member string) string) error {
	for page, err := range m.from.Sets.Scan(ctx, key) {
		if err != nil {
			return err
		}
		var gone []any
		if _, err = m.target.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, one := range page {
				name := to(one.Name)
				if m.stays(key, name) {
					continue
				}
				if gone = append(gone, one.Name); name != "" {
					p.ZAddNX(ctx, name, redis.Z{Member: one.Name, Score: one.Score})
					m.moved++
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if len(gone) > 0 {
			if err := m.source.ZRem(ctx, key, gone...).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// pauses copies the pauses to all partitions.
func (m *mover) pauses(ctx context.Context) error {
	found, err := m.source.HGetAll(ctx, m.from.Keys.Holds).Result()
	if err != nil || len(found) == 0 {
		return err
	}
	stays := false
	for _, s := range m.to {
		for member, pause := range found {
			if err := m.target.HSetNX(ctx, s.Keys.Holds, member, pause).Err(); err != nil {
				return err
			}
		}
		stays = stays || m.stays(m.from.Keys.Holds, s.Keys.Holds)
	}
	if stays {
		return nil
	}
	return m.source.Del(ctx, m.from.Keys.Holds).Err()
}

// hash moves the fields of a hash.
func (m *mover) hash(ctx context.Context, key string, of func(field string) string) error {
	all, err := m.source.HGetAll(ctx, key).Result()
	if err != nil {
		return err
	}
	for name, value := range all {
		to := of(name)
		if m.stays(key, to) {
			continue
		}
		if err := m.target.HSetNX(ctx, to, name, value).Err(); err != nil {
			return err
		}
		if err := m.source.HDel(ctx, key, name).Err(); err != nil {
			return err
		}
	}
	return nil
}

// stream moves the entries of a stream. Entries that are appended meanwhile stay.
func (m *mover) stream(ctx context.Context, key string, to func(redis.XMessage) string) error {
	last, err := m.source.XRevRangeN(ctx, key, "+", "-", 1).Result()
	if err != nil || len(last) == 0 {
		return err
	}
	for from := "-"; ; {
		page, fields, err := m.entries(ctx, key, from, last[0].ID)
		if err != nil || len(page) == 0 {
			return err
		}
		var gone []string
		if _, err := m.target.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, e := range page {
				if name := to(e); !m.stays(key, name) {
					p.XAdd(ctx, &redis.XAddArgs{Stream: name, Values: fields[i]})
					gone = append(gone, e.ID)
					m.moved++
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if len(gone) > 0 {
			if err := m.source.XDel(ctx, key, gone...).Err(); err != nil {
				return err
			}
		}
		from = "(" + page[len(page)-1].ID
	}
}

// entries returns entries of a stream, and the fields of each with their values in their order, which
// XMessage does not keep.
func (m *mover) entries(ctx context.Context, key, from, to string) (page []redis.XMessage, fields [][]any, err error) {
	reply, err := m.source.Do(ctx, "xrange", key, from, to, "count", scanPage).Slice()
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range reply {
		pair, ok := entry.([]any)
		if !ok || len(pair) != 2 {
			return nil, nil, fmt.Errorf("recovery: entry of %s: %v", key, entry)
		}
		id, _ := pair[0].(string)
		all, _ := pair[1].([]any)
		e := redis.XMessage{ID: id, Values: map[string]any{}}
		for i := 0; i+1 < len(all); i += 2 {
			name, _ := all[i].(string)
			e.Values[name] = all[i+1]
		}
		page, fields = append(page, e), append(fields, all)
	}
	return page, fields, nil
}
