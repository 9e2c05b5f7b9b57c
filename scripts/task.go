package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Task names one listener's part of a job, as one owner has it.
type Task struct {
	ID       string
	Attempt  int64
	Listener string
	Owner    string // token, unique for each take
	Lease    time.Duration
	Entry    Entry // its message, which Complete acknowledges; empty: none
	Once     bool  // who has given it up does not take it again: the owner is a foreign one
}

// Taken is what an owner learns of its job.
type Taken struct {
	Report     string
	Definition string
	Parameters []byte // JSON object
	Stage      int64
	Tries      int64  // that count, with this one
	Failure    string // why the try before this one ended, or what it waited for; empty where nothing is known
	Memo       []byte // what an owner of this attempt has remembered; nil: nothing
}

// Take gives a task an owner for its lease, and clears what an earlier try left.
// It is OK, Already (done), Busy, Gone, or Unknown where the job's definition is
// not among those known.
func (s *Scripts) Take(ctx context.Context, t Task, known []string) (Outcome, Taken, error) {
	with := shared{args: []any{t.Listener, t.Lease.Milliseconds()}}
	for _, k := range known {
		with.args = append(with.args, k)
	}
	outcome, more, err := s.list(ctx, takeScript.call(with, []string{s.Data(t.ID), s.State(t.ID)}, t.Attempt, t.Owner, once(t.Once)))
	if err != nil {
		return 0, Taken{}, err
	}
	if outcome == Already && s.split && len(more) == 3 && more[0] == int64(1) {
		stage, _ := more[1].(int64)
		bytes, _ := more[2].(int64)
		return outcome, Taken{}, s.send(ctx, s.toFanIn(ctx, t.ID, t.Attempt, stage, bytes))
	}
	if outcome == Unknown && len(more) == 2 {
		var other Taken
		other.Report, _ = more[0].(string)
		other.Definition, _ = more[1].(string)
		return outcome, other, nil
	}
	if outcome != OK {
		return outcome, Taken{}, nil
	}
	var taken Taken
	if len(more) != 7 {
		return 0, taken, fmt.Errorf("script take: %w: %v", ErrReply, more)
	}
	taken.Report, _ = more[0].(string)
	taken.Definition, _ = more[1].(string)
	parameters, _ := more[2].(string)
	taken.Parameters = []byte(parameters)
	taken.Stage, _ = more[3].(int64)
	taken.Tries, _ = more[4].(int64)
	taken.Failure, _ = more[5].(string)
	if memo, _ := more[6].(string); memo != "" {
		taken.Memo = []byte(memo)
	}
	return outcome, taken, nil
}

func once(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Chunk is a part of a task's dataset.
type Chunk struct {
	Number  int64 // from 0, without gaps
	Rows    int64 // as many in each column
	Columns any   // marshals to a JSON array of objects with at least a name
	Names   []string
	Fields  [][]byte // for each name a JSON array of Rows values
}

// sharedBytes is the most of a chunk that goes through a round trip with others.
const sharedBytes = 64 << 10

func (c Chunk) bytes() int {
	var n int
	for _, f := range c.Fields {
		n += len(f)
	}
	return n
}

// Append stores a chunk if the task still has this owner, and renews its lease:
// OK, Already, Busy, Gone, or TooMuch. The fields must not be changed before it returns,
// and not at all if it returns an error of ctx.
func (s *Scripts) Append(ctx context.Context, t Task, c Chunk) (Outcome, error) {
	call, err := s.appendCall(appendScript, t, c, "")
	if err != nil {
		return 0, err
	}
	// A chunk can be a megabyte: it takes a round trip of its own, so that small
	// calls do not wait for it.
	run(ctx, s.rdb, nil, []redis.Cmder{call})
	outcome, _, err := listReply(call)
	return outcome, err
}

// MaxAhead is how far a chunk may come before its turn.
const MaxAhead = 10_000

// Stored is what is there of a task whose chunks come in any order.
type Stored struct {
	Chunks int64 // from the first one on, without gap
	Last   int64 // the highest one plus 1
	Ends   int64 // how many there are, or -1 where that is not known yet
}

// Store stores a chunk whatever its turn, if the task still has this owner, and renews
// its lease: OK, Busy, Gone, TooMuch, or TooFar where it is MaxAhead or more before its
// turn. The fields must not be changed before it returns, and not at all if it returns
// an error of ctx.
func (s *Scripts) Store(ctx context.Context, t Task, c Chunk) (Outcome, Stored, error) {
	columns, err := json.Marshal(c.Columns)
	if err != nil {
		return 0, Stored{}, fmt.Errorf("columns of %s: %w", t.Listener, err)
	}
	args := []any{t.Attempt, t.Owner, c.Number, c.Rows, columns}
	for i, name := range c.Names {
		args = append(args, Field(t.Listener, name, c.Number), c.Fields[i])
	}
	return s.store(ctx, storeScript, t, args)
}

// Ends notes how many chunks a task has, before all of them are stored. A full Redis
// takes it, too.
func (s *Scripts) Ends(ctx context.Context, t Task, chunks int64) (Outcome, Stored, error) {
	return s.store(ctx, endsScript, t, []any{t.Attempt, t.Owner, chunks, ""})
}

func (s *Scripts) store(ctx context.Context, script *script, t Task, args []any) (Outcome, Stored, error) {
	with := shared{args: []any{t.Listener, t.Lease.Milliseconds(), s.bytes, MaxAhead}}
	call := script.call(with, []string{s.Data(t.ID), s.State(t.ID)}, args...)
	run(ctx, s.rdb, nil, []redis.Cmder{call})
	outcome, more, err := listReply(call)
	if err != nil || len(more) != 3 {
		return outcome, Stored{}, err
	}
	var stored Stored
	stored.Chunks, _ = more[0].(int64)
	stored.Last, _ = more[1].(int64)
	stored.Ends, _ = more[2].(int64)
	return outcome, stored, nil
}

// appendCall is the call that stores a chunk; with took (ms), the last one.
func (s *Scripts) appendCall(script *script, t Task, c Chunk, took string) (*call, error) {
	columns, err := json.Marshal(c.Columns)
	if err != nil {
		return nil, fmt.Errorf("columns of %s: %w", t.Listener, err)
	}
	with := shared{
		keys: s.also(nil, s.FanIn(), s.Events(), s.Task(t.Listener)),
		args: []any{t.Listener, t.Lease.Milliseconds(), s.bytes, s.events, t.Entry.Group},
	}
	args := []any{t.ID, t.Attempt, t.Owner, c.Number, c.Rows, columns, took, t.Entry.ID}
	for i, name := range c.Names {
		args = append(args, Field(t.Listener, name, c.Number), c.Fields[i])
	}
	return script.call(with, []string{s.Data(t.ID), s.State(t.ID)}, args...), nil
}

// Complete stores the last chunk of a task, counts its listener and acknowledges
// its entry, in one round trip where the chunk is small: OK, Already where that
// reached the barrier, Busy, Gone, or TooMuch. It returns ErrChunk where a chunk is
// missing. Chunk is as for Append; one without names only says so, where the last chunk,
// which has its number, is stored already.
func (s *Scripts) Complete(ctx context.Context, t Task, last Chunk, took time.Duration) (Outcome, error) {
	script := appendScript
	if last.bytes() > sharedBytes {
		// Gone can mean that a call before this one has counted it: the next call knows.
		if outcome, err := s.Append(ctx, t, last); err != nil || outcome < OK && outcome != Gone {
			return outcome, err
		}
		// Stored: the next call only says so, also to a Redis that is full.
		script, last.Columns, last.Names, last.Fields = completeScript, nil, nil, nil
	} else if len(last.Names) == 0 {
		script = completeScript
	}
	call, err := s.appendCall(script, t, last, strconv.FormatInt(took.Milliseconds(), 10))
	if err != nil {
		return 0, err
	}
	if err := s.pipe.do(ctx, call); err != nil {
		return 0, err
	}
	outcome, more, err := listReply(call)
	if err != nil || !s.split || outcome < OK {
		return outcome, err
	}
	cmds := []redis.Cmder{s.event(ctx, t.ID, t.Attempt, "done", "listener", t.Listener)}
	if outcome == Already {
		stage, _ := more[0].(int64)
		bytes, _ := more[1].(int64)
		cmds = append(cmds, s.toFanIn(ctx, t.ID, t.Attempt, stage, bytes))
	}
	if err := s.send(ctx, cmds...); err != nil || t.Entry.ID == "" {
		return outcome, err
	}
	// Last, since the entry is what brings back a message that was not sent.
	return outcome, s.send(ctx, ackScript.call(shared{}, []string{t.Entry.Stream}, t.Entry.Group, t.Entry.ID))
}

// Entry names a message whose work goes on.
type Entry struct {
	Stream, Group, Consumer, ID string
}

// KeepTask renews the lease of a task, and keeps its message from being claimed
// by others: OK, Busy where the task is no longer the owner's, or Gone.
func (s *Scripts) KeepTask(ctx context.Context, t Task) (Outcome, error) {
	return s.keepalive(ctx, t.ID, t.Attempt, t.Listener, t.Owner, t.Lease, t.Entry)
}

// KeepFold is KeepTask for a claimed job.
func (s *Scripts) KeepFold(ctx context.Context, state *State, lease time.Duration, e Entry) (Outcome, error) {
	return s.keepalive(ctx, state.ID, state.Attempt, "@fanin", state.Fence, lease, e)
}

func (s *Scripts) keepalive(ctx context.Context, id string, attempt int64, step string, token any, lease time.Duration, e Entry) (Outcome, error) {
	outcome, err := s.outcome(ctx, keepaliveScript.call(shared{}, s.also([]string{s.Data(id), s.State(id)}, e.Stream),
		attempt, step, token, lease.Milliseconds(), Margin.Milliseconds(), e.Group, e.Consumer, e.ID))
	if err != nil || !s.split || outcome != OK {
		return outcome, err
	}
	// That the entry or its group is gone does not matter: the lease is what counts.
	return outcome, s.pipe.do(ctx, redis.NewCmd(ctx, "xclaim", e.Stream, e.Group, e.Consumer, 0, e.ID, "justid"))
}
