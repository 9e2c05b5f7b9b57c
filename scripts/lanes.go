package scripts

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// Seeker is an id that wants a slot.
type Seeker struct {
	ID    string
	Lane  string        // value that names the lane
	Age   time.Duration // of the request: the oldest ids of a lane start first
	Owner string        // whose newest request counts; empty: all of them do
	// Attempt is that of the record, for the event.
	Attempt int64
	*report.Report
}

// Admission is what Admit decides.
type Admission struct {
	Admitted []bool // whether an id has a slot; the others are parked
	// Replaced are ids that wait although their owner has made a newer request for the same report.
	Replaced []string
}

// maxTurns is the maximum number of turns that one call gives.
const maxTurns = 200

// laneKeys are the first keys and arguments of the scripts of lanes.
type laneKeys struct {
	names *Keys
	of    *report.Lanes // the share of this partition
	keys  []string
	args  []any
}

// newLaneKeys returns them; nil without lanes.
func newLaneKeys(k *Keys, of *report.Lanes) *laneKeys {
	if of == nil {
		return nil
	}
	l := &laneKeys{names: k, of: of, keys: []string{k.Lanes, k.LaneTags, k.LaneAsks, k.Next, k.Deadlines},
		args: []any{0, of.RunningJobs, of.Running}}
	for _, c := range of.All() {
		l.add(c.Name, c.Running)
	}
	return l
}

// closed is the limit of a class that is not configured any more.
const closed = -1

func (l *laneKeys) add(class string, limit int) {
	l.keys = append(l.keys, l.names.ClassWaiting(class), l.names.ClassRunning(class), l.names.ClassTurns(class))
	l.args = append(l.args, class, limit)
	l.args[0] = l.args[0].(int) + 1
}

// with adds closed classes.
func (l *laneKeys) with(classes []string) *laneKeys {
	more := &laneKeys{names: l.names, of: l.of, keys: slices.Clone(l.keys), args: slices.Clone(l.args)}
	for _, class := range classes {
		more.add(class, closed)
	}
	return more
}

func (l *laneKeys) call(ctx context.Context, name string, keys []string, args ...any) *redis.Cmd {
	return call(ctx, name, append(slices.Clone(l.keys), keys...), append(slices.Clone(l.args), args...)...)
}

// On tells whether jobs have lanes.
func (s Lanes) On() bool { return s.lanes != nil }

// Admit gives ids slots, or parks them until their lane has its turn. An id that has its slot keeps it. An id
// that gets its turn later is appended to the stream Next.
func (s Lanes) Admit(ctx context.Context, all []Seeker) (a Admission, err error) {
	var cmds []redis.Cmder
	for batch := range slices.Chunk(all, batchJobs) {
		args := []any{s.events}
		for _, k := range batch {
			class := s.lanes.of.Of(k.Report)
			args = append(args, k.ID, class.Name, report.LaneName(k.Lane), k.Age.Milliseconds(),
				s.lanes.of.Stride(class, k.Lane), askOf(k), k.Attempt, nameOfReport(k.Report))
		}
		cmds = append(cmds, s.lanes.call(ctx, "admit", []string{s.Keys.Events}, args...))
	}
	if err := s.send(ctx, cmds...); err != nil {
		return a, err
	}
	for i, c := range cmds {
		reply, err := c.(*redis.Cmd).Slice()
		n := min(batchJobs, len(all)-i*batchJobs)
		if err != nil || len(reply) < n {
			return a, fmt.Errorf("script admit: %w: %v", ErrReply, reply)
		}
		for _, outcome := range reply[:n] {
			a.Admitted = append(a.Admitted, outcome == int64(OK))
		}
		for _, id := range reply[n:] {
			if text, ok := id.(string); ok && !slices.Contains(a.Replaced, text) {
				a.Replaced = append(a.Replaced, text)
			}
		}
	}
	return a, nil
}

func nameOfReport(r *report.Report) string {
	if r == nil {
		return ""
	}
	return r.Name
}

// askOf identifies the requests of which the newest counts.
func askOf(k Seeker) string {
	if k.Report == nil || !k.NewestOnly || k.Owner == "" {
		return report.NoLane
	}
	h := fnv.New128a()
	_, _ = h.Write([]byte(k.Owner))
	return fmt.Sprintf("%s:%x", k.Name, h.Sum(nil))
}

// left are the calls that take back the slots of ids without a running job; none without lanes.
func (l *laneKeys) left(ctx context.Context, ids ...string) []redis.Cmder {
	if l == nil {
		return nil
	}
	return l.leave(ctx, false, 0, ids)
}

// leave makes the calls of leave.lua.
func (l *laneKeys) leave(ctx context.Context, waiting bool, age time.Duration, ids []string) (cmds []redis.Cmder) {
	for batch := range slices.Chunk(ids, batchJobs) {
		keys := make([]string, len(batch))
		for i, id := range batch {
			keys[i] = l.names.Job(id)
		}
		args := append([]any{0, age.Milliseconds(), maxTurns}, asArgs(batch)...)
		if waiting {
			args[0] = 1
		}
		cmds = append(cmds, l.call(ctx, "leave", keys, args...))
	}
	return cmds
}

// Leave takes back the slots of ids that have no running job, and the next ids start. An id that has one
// keeps its slot, and an id that waits stays. Without lanes it does nothing.
func (s Lanes) Leave(ctx context.Context, ids ...string) error {
	return s.send(ctx, s.lanes.left(ctx, ids...)...)
}

// Remove removes ids that wait. Those that have a slot keep it. Without lanes it does nothing.
func (s Lanes) Remove(ctx context.Context, ids ...string) error {
	if s.lanes == nil || len(ids) == 0 {
		return nil
	}
	return s.send(ctx, s.lanes.leave(ctx, true, 0, ids)...)
}

// LaneEntry is what lanes know of an id.
type LaneEntry struct {
	Waits bool // otherwise it has a slot
	Since time.Time
	Class string
	Lane  string // its name, see report.LaneName
	order string
}

// parseLaneEntry parses a value of the hash of lanes.
func parseLaneEntry(text string) (e LaneEntry, ok bool) {
	words := strings.Fields(text)
	if len(words) != 7 {
		return e, false
	}
	ms, err := strconv.ParseInt(words[1], 10, 64)
	return LaneEntry{words[0] == "W", time.UnixMilli(ms), words[4], words[5], words[2]}, err == nil
}

// Entries returns what lanes know of ids, by id, of those that wait or have a slot.
func (s Lanes) Entries(ctx context.Context, ids ...string) (map[string]LaneEntry, error) {
	if s.lanes == nil || len(ids) == 0 {
		return nil, nil
	}
	c := redis.NewSliceCmd(ctx, append([]any{"hmget", s.Keys.Lanes}, asArgs(ids)...)...)
	if err := s.send(ctx, c); err != nil {
		return nil, err
	}
	found := map[string]LaneEntry{}
	for i, value := range c.Val() {
		text, _ := value.(string)
		if e, ok := parseLaneEntry(text); ok {
			found[ids[i]] = e
		}
	}
	return found, nil
}

// slotAge is how long an id may have a slot before it must have a state.
const slotAge = time.Minute

// LaneSweep is how far a sweep has come. The zero value begins anew.
type LaneSweep struct {
	cursor  uint64   // of the hash
	closed  []string // classes that are not configured any more
	waiting map[string]string
	running map[string]string
}

// Sweep finds what a crash or a change of the configuration has left: slots of ids that have had no job for a
// minute, queues that are not in the rotation although they may be, and ids of classes that are not configured
// any more. A call does a part of the work, some hundred ids.
func (s Lanes) Sweep(ctx context.Context, at *LaneSweep) error {
	if s.lanes == nil {
		return nil
	}
	if at.waiting == nil {
		at.waiting, at.running = map[string]string{}, map[string]string{}
	}
	if err := s.findClosed(ctx, at); err != nil {
		return err
	}
	l := s.lanes.with(at.closed)
	for i := 3; i < len(l.args); i += 2 {
		class := l.args[i].(string)
		c := l.call(ctx, "sweep", nil, class, at.waiting[class], maxTurns)
		if err := s.send(ctx, c); err != nil {
			return err
		}
		at.waiting[class], _ = c.Text()
		from := "-"
		if last := at.running[class]; last != "" {
			from = "(" + last
		}
		members, err := s.rdb.ZRangeByLex(ctx, s.Keys.ClassRunning(class), &redis.ZRangeBy{
			Min: from, Max: "+", Count: pageSize}).Result()
		if err != nil {
			return fmt.Errorf("slots of class %s: %w", class, err)
		}
		if at.running[class] = ""; len(members) == pageSize {
			at.running[class] = members[pageSize-1]
		}
		var ids []string
		for _, m := range members {
			_, id, _ := strings.Cut(m, " ")
			ids = append(ids, id)
		}
		if err := s.send(ctx, l.leave(ctx, false, slotAge, ids)...); err != nil {
			return err
		}
	}
	return nil
}

// findClosed notes the classes of some ids that are not configured any more.
func (s Lanes) findClosed(ctx context.Context, at *LaneSweep) error {
	flat, next, err := s.rdb.HScan(ctx, s.Keys.Lanes, at.cursor, "", pageSize).Result()
	if err != nil {
		return fmt.Errorf("scan %s: %w", s.Keys.Lanes, err)
	}
	if at.cursor = next; next == 0 {
		at.closed = nil
	}
	for i := 1; i < len(flat); i += 2 {
		e, ok := parseLaneEntry(flat[i])
		known := func(c report.Class) bool { return c.Name == e.Class }
		if ok && !slices.ContainsFunc(s.lanes.of.All(), known) && !slices.Contains(at.closed, e.Class) {
			at.closed = append(at.closed, e.Class)
		}
	}
	return nil
}
