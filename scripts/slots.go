package scripts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Reserve reserves a call of a source with a rate limit: calls of all processes are a
// distance of time apart. It returns how long the caller waits before its call; false if
// the wait would be longer than limit, and nothing is reserved.
func (s Limits) Reserve(ctx context.Context, source string, distance,
	limit time.Duration) (time.Duration, bool, error) {
	outcome, more, err := s.list(ctx, call(ctx, "rate", []string{s.shared.Rate(source)},
		max(1, distance.Microseconds()), limit.Microseconds()))
	if err != nil {
		return 0, false, err
	}
	wait, _ := more[0].(int64)
	return time.Duration(wait) * time.Microsecond, outcome == OK, nil
}

// Holder is a task that has a slot of a source.
type Holder struct {
	ID       string // of the job
	Attempt  int64
	Listener string
	Worker   string
	Entry    string // of the task, which the worker reads
}

// String returns the member of the set of slots: <id>/<attempt>/<listener>/<entry>/<worker>.
func (h Holder) String() string {
	return h.ID + "/" + strconv.FormatInt(h.Attempt, 10) + "/" + h.Listener + "/" + h.Entry + "/" + h.Worker
}

// parseHolder parses a member of the set of slots. Of a foreign one, only the ID is known.
func parseHolder(member string) Holder {
	parts := strings.SplitN(member, "/", 5)
	if len(parts) < 5 {
		return Holder{ID: parts[0]}
	}
	attempt, _ := strconv.ParseInt(parts[1], 10, 64)
	return Holder{ID: parts[0], Attempt: attempt, Listener: parts[2], Entry: parts[3], Worker: parts[4]}
}

const (
	// slotPlace is how long a task keeps its place in the queue for a slot if it asks no more.
	slotPlace = 5 * time.Second
	// SlotSlack is how much later than the first of the queue a task may have come to get a slot before it.
	SlotSlack = time.Second
)

// TakeSlot takes one of the slots of a source, which all processes share, or renews the one that the task has, for the
// time of a lease. It returns 0 then. Otherwise the task is the n-th that waits for a slot, and must ask again within
// slotPlace. A task gets no slot before one that first asked more than the slack earlier, usually SlotSlack.
func (s Limits) TakeSlot(ctx context.Context, source string, who Holder, slots int,
	lease, slack time.Duration) (waits int, err error) {
	n, err := s.outcome(ctx, call(ctx, "slot", s.slotKeys(source), who.String(), slots, lease.Milliseconds(),
		slotPlace.Milliseconds(), slack.Milliseconds()))
	return int(n), err
}

// ReleaseSlot gives back a slot, or the place in the queue for one.
func (s Limits) ReleaseSlot(ctx context.Context, source string, who Holder) error {
	var cmds []redis.Cmder
	for _, key := range s.slotKeys(source) {
		cmds = append(cmds, redis.NewIntCmd(ctx, "zrem", key, who.String()))
	}
	return s.send(ctx, cmds...)
}

func (s Limits) slotKeys(source string) []string {
	return []string{s.shared.Slots(source), s.shared.SlotQueue(source), s.shared.SlotAsked(source)}
}

// Holders returns the tasks that have a slot, by source, ordered by their names.
func (s Limits) Holders(ctx context.Context, sources []string) (map[string][]Holder, error) {
	if len(sources) == 0 {
		return map[string][]Holder{}, nil
	}
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	all, err := s.holders(ctx, sources, s.shared.Slots, strconv.FormatInt(now.UnixMilli(), 10))
	for _, holders := range all {
		slices.SortFunc(holders, func(a, b Holder) int { return strings.Compare(a.String(), b.String()) })
	}
	return all, err
}

// Queue returns the tasks that wait in line for a slot, by source, those that have waited longest first.
func (s Limits) Queue(ctx context.Context, sources []string) (map[string][]Holder, error) {
	return s.holders(ctx, sources, s.shared.SlotQueue, "-inf")
}

// holders returns the tasks in a sorted set of each source, from a score.
func (s Limits) holders(ctx context.Context, sources []string, key func(string) string,
	from string) (map[string][]Holder, error) {
	all, found := map[string][]Holder{}, make([]*redis.StringSliceCmd, len(sources))
	if _, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, source := range sources {
			found[i] = p.ZRangeByScore(ctx, key(source), &redis.ZRangeBy{Min: from, Max: "+inf"})
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("slots: %w", err)
	}
	for i, source := range sources {
		for _, member := range found[i].Val() {
			all[source] = append(all[source], parseHolder(member))
		}
	}
	return all, nil
}
