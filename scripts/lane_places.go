package scripts

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Place is the place of an id that waits for its turn.
type Place struct {
	LaneEntry
	Before  int64 // ids before it in its queue
	Queue   int64 // ids that wait in its queue: of its lane in its class
	Running int64 // jobs of its lane that have a slot
	OfClass int64 // jobs of its class that have a slot
	All     int64 // jobs that have a slot
	Queues  int64 // queues of its class in the rotation
}

// Place returns the place of an id; nil: it does not wait.
func (s Lanes) Place(ctx context.Context, id string) (*Place, error) {
	found, err := s.Entries(ctx, id)
	e, ok := found[id]
	if err != nil || !ok || !e.Waits {
		return nil, err
	}
	p := &Place{LaneEntry: e}
	from, to := "["+e.Lane+" ", "("+e.Lane+"!"
	waiting := s.Keys.ClassWaiting(e.Class)
	before := redis.NewIntCmd(ctx, "zlexcount", waiting, from, "("+e.Lane+" "+e.order+" "+id)
	queue := redis.NewIntCmd(ctx, "zlexcount", waiting, from, to)
	queues := redis.NewIntCmd(ctx, "zcard", s.Keys.ClassTurns(e.Class))
	cmds := []redis.Cmder{before, queue, queues}
	var lane, class []*redis.IntCmd
	for _, c := range s.lanes.of.All() {
		lane = append(lane, redis.NewIntCmd(ctx, "zlexcount", s.Keys.ClassRunning(c.Name), from, to))
		class = append(class, redis.NewIntCmd(ctx, "zcard", s.Keys.ClassRunning(c.Name)))
		cmds = append(cmds, lane[len(lane)-1], class[len(class)-1])
	}
	if err := s.send(ctx, cmds...); err != nil {
		return nil, err
	}
	p.Before, p.Queue, p.Queues = before.Val(), queue.Val(), queues.Val()
	for i, c := range s.lanes.of.All() {
		p.Running, p.All = p.Running+lane[i].Val(), p.All+class[i].Val()
		if c.Name == e.Class {
			p.OfClass = class[i].Val()
		}
	}
	return p, nil
}

// Queue is what a lane has in a class.
type Queue struct {
	Class, Lane      string
	Waiting, Running int64
	Oldest           time.Time // request; zero: none waits
}

// Queues returns the lanes that have most waiting ids, at most max for every class, of the first thousand lanes in
// the rotation or held back, and those that only have running jobs. The cost does not depend on the length of a
// queue.
func (s Lanes) Queues(ctx context.Context, max int) (all []Queue, err error) {
	if s.lanes == nil {
		return nil, nil
	}
	for _, c := range s.lanes.of.All() {
		found, err := s.queuesOf(ctx, c.Name)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(found, func(a, b Queue) int {
			return int((b.Waiting*2 + b.Running) - (a.Waiting*2 + a.Running))
		})
		all = append(all, found[:min(max, len(found))]...)
	}
	return all, nil
}

// maxQueues is how many lanes of a class are looked at.
const maxQueues = 1000

// queuesOf returns the lanes of a class.
func (s Lanes) queuesOf(ctx context.Context, class string) ([]Queue, error) {
	turns := redis.NewStringSliceCmd(ctx, "zrange", s.Keys.ClassTurns(class), 0, maxQueues-1)
	running := redis.NewStringSliceCmd(ctx, "zrange", s.Keys.ClassRunning(class), 0, maxQueues-1)
	if err := s.send(ctx, turns, running); err != nil {
		return nil, err
	}
	lanes := turns.Val()
	for _, member := range running.Val() {
		lane, _, _ := strings.Cut(member, " ")
		lanes = append(lanes, lane)
	}
	slices.Sort(lanes)
	lanes = slices.Compact(lanes)
	var cmds []redis.Cmder
	for _, lane := range lanes {
		from, to := "["+lane+" ", "("+lane+"!"
		cmds = append(cmds, redis.NewIntCmd(ctx, "zlexcount", s.Keys.ClassWaiting(class), from, to),
			redis.NewIntCmd(ctx, "zlexcount", s.Keys.ClassRunning(class), from, to),
			redis.NewStringSliceCmd(ctx, "zrangebylex", s.Keys.ClassWaiting(class), from, to, "limit", 0, 1))
	}
	if err := s.send(ctx, cmds...); err != nil {
		return nil, err
	}
	found := make([]Queue, len(lanes))
	for i, lane := range lanes {
		found[i] = Queue{Class: class, Lane: lane, Waiting: cmds[3*i].(*redis.IntCmd).Val(),
			Running: cmds[3*i+1].(*redis.IntCmd).Val()}
		if first := cmds[3*i+2].(*redis.StringSliceCmd).Val(); len(first) > 0 {
			if words := strings.Fields(first[0]); len(words) == 3 {
				ms, _ := strconv.ParseInt(words[1], 10, 64)
				found[i].Oldest = time.UnixMilli(ms)
			}
		}
	}
	return found, nil
}
