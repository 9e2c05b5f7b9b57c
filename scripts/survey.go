package scripts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Stream describes a stream and its group.
type Stream struct {
	Exists    bool
	Length    int64
	Read      string // the last entry that the group was given; empty: there is no group
	AllRead   bool   // the group was given every entry
	Pending   int64  // entries that consumers have read
	Oldest    string // the oldest entry: of those that are pending, if any is
	Consumers []Consumer
	Err       error // of Redis
}

// Consumer reads a stream.
type Consumer struct {
	Name     string
	Pending  int64
	Idle     time.Duration // since its last command
	Inactive time.Duration // since its last command that read an entry; Redis knows it from 7.2 on
}

// Set describes a sorted set of times.
type Set struct {
	Length int64
	First  []float64 // the lowest scores that are milliseconds and seconds
	Err    error     // of Redis
}

// Survey describes streams and sets, by key. It takes one round trip, and a second one if entries
// wait that no consumer has read. What Redis does not answer has an error.
func (s Entries) Survey(ctx context.Context, streams, sets []string) (map[string]*Stream, map[string]*Set) {
	var cmds []redis.Cmder
	var asked []askedStream
	for _, key := range streams {
		asked = append(asked, askStream(ctx, key))
		cmds = append(cmds, asked[len(asked)-1].commands()...)
	}
	var sizes []*redis.IntCmd
	var firsts [][2]*redis.ZSliceCmd
	for _, key := range sets {
		sizes = append(sizes, redis.NewIntCmd(ctx, "zcard", key))
		firsts = append(firsts, [2]*redis.ZSliceCmd{
			firstFrom(ctx, key, MinMillis, "+inf"),
			firstFrom(ctx, key, MinMillis/1000, fmt.Sprintf("(%d", int64(MinMillis))),
		})
		cmds = append(cmds, sizes[len(sizes)-1], firsts[len(firsts)-1][0], firsts[len(firsts)-1][1])
	}
	failed := s.do(ctx, cmds...)
	foundStreams, foundSets := map[string]*Stream{}, map[string]*Set{}
	var unread []redis.Cmder
	for i, key := range streams {
		found := asked[i].stream()
		if found.Err = cmp.Or(failed, found.Err); found.Err == nil && found.Length > 0 && found.Pending == 0 {
			unread = append(unread, redis.NewXMessageSliceCmd(ctx, "xrange", key, "-", "+", "count", 1))
		}
		foundStreams[key] = found
	}
	for i, key := range sets {
		found := &Set{Length: sizes[i].Val(), Err: cmp.Or(failed, sizes[i].Err())}
		for _, first := range firsts[i] {
			for _, z := range first.Val() {
				found.First = append(found.First, z.Score)
			}
			found.Err = cmp.Or(found.Err, first.Err())
		}
		foundSets[key] = found
	}
	failed = s.do(ctx, unread...)
	for _, c := range unread {
		found := foundStreams[c.Args()[1].(string)]
		found.Err = cmp.Or(failed, c.Err())
		for _, e := range c.(*redis.XMessageSliceCmd).Val() {
			found.Oldest = e.ID
		}
	}
	return foundStreams, foundSets
}

func firstFrom(ctx context.Context, key string, from int64, to string) *redis.ZSliceCmd {
	return redis.NewZSliceCmd(ctx, "zrangebyscore", key, from, to, "withscores", "limit", 0, 1)
}

// Stream describes a stream.
func (s Entries) Stream(ctx context.Context, key string) (*Stream, error) {
	asked := askStream(ctx, key)
	if err := s.do(ctx, asked.commands()...); err != nil {
		return nil, err
	}
	found := asked.stream()
	if found.Err != nil {
		return nil, fmt.Errorf("stream %s: %w", key, found.Err)
	}
	return found, nil
}

// askedStream are the commands that describe a stream.
type askedStream struct {
	length    *redis.IntCmd
	groups    *redis.XInfoGroupsCmd
	pending   *redis.XPendingCmd
	consumers *redis.XInfoConsumersCmd
}

func askStream(ctx context.Context, key string) askedStream {
	return askedStream{
		redis.NewIntCmd(ctx, "xlen", key), redis.NewXInfoGroupsCmd(ctx, key),
		redis.NewXPendingCmd(ctx, "xpending", key, Group), redis.NewXInfoConsumersCmd(ctx, key, Group),
	}
}

func (a askedStream) commands() []redis.Cmder {
	return []redis.Cmder{a.length, a.groups, a.pending, a.consumers}
}

func (a askedStream) stream() *Stream {
	found := &Stream{Exists: a.groups.Err() == nil, Length: a.length.Val()}
	for _, c := range a.commands() {
		if err := c.Err(); err != nil && !missing(err) {
			found.Err = cmp.Or(found.Err, err)
		}
	}
	if i := slices.IndexFunc(a.groups.Val(), func(g redis.XInfoGroup) bool { return g.Name == Group }); i >= 0 {
		group := a.groups.Val()[i]
		found.Read, found.AllRead = group.LastDeliveredID, group.Lag == 0
	}
	if p := a.pending.Val(); p != nil {
		found.Pending, found.Oldest = p.Count, p.Lower
	}
	for _, c := range a.consumers.Val() {
		found.Consumers = append(found.Consumers, Consumer{c.Name, c.Pending, c.Idle, c.Inactive})
	}
	return found
}

// missing tells whether an error says that a stream or its group does not exist.
func missing(err error) bool {
	return redis.HasErrorPrefix(err, "NOGROUP") || strings.Contains(err.Error(), "no such key")
}
