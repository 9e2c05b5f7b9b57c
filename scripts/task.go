package scripts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// Task is one listener's part of a job, as one worker has it.
type Task struct {
	ID       string
	Attempt  int64
	Listener string
	Entry    Entry // its message, which is acknowledged with the task's end; empty: none
	// Generation grows with every take; 0: the task was delivered for the first time, and
	// the pending list of its stream says who has it.
	Generation int64
	Lease      time.Duration // of an owner that is no reader of the stream; 0: the pending list is the lease

	Report     string
	Definition string // hash
	Parameters []byte // JSON object; nil: not known yet, see Load
	Tries      int64  // that count, with this one
	Failure    string // why the try before this one ended, or what it waited for; empty: not known
	Memo       []byte // what an earlier try of this attempt remembered; nil: nothing

	writer string // of its chunks, unique for every try; empty: it has appended none
	s      *Scripts
}

// Entry names a message that a worker has.
type Entry struct {
	Stream, Group, Consumer, ID string
}

// Message names what an entry of a stream is about.
type Message struct {
	ID      string
	Attempt int64
}

// ParseMessage reads the id and the attempt of an entry; false if it has none that can be.
func ParseMessage(fields map[string]string) (Message, bool) {
	attempt, err := strconv.ParseInt(fields["attempt"], 10, 64)
	return Message{fields["id"], attempt}, report.ValidID(fields["id"]) && err == nil && attempt > 0
}

// NewTask returns the task of a message. If first is true and the entry is delivered for the
// first time, the entry says enough to work on it; otherwise the task must be taken.
func (s *Scripts) NewTask(m Message, listener string, entry Entry, fields map[string]string) (t *Task, first bool) {
	t = &Task{s: s, ID: m.ID, Attempt: m.Attempt, Listener: listener, Entry: entry, Tries: 1}
	i := strings.LastIndexByte(fields["of"], '/')
	if i < 0 {
		return t, false
	}
	t.Report, t.Definition = fields["of"][:i], fields["of"][i+1:]
	if p, ok := fields["parameters"]; ok {
		t.Parameters = []byte(p)
	}
	return t, true
}

// Load reads the parameters of a task whose entry does not carry them: OK, or Gone.
func (t *Task) Load(ctx context.Context) (Outcome, error) {
	if t.Parameters != nil {
		return OK, nil
	}
	have := redis.NewSliceCmd(ctx, "hmget", t.s.Job(t.ID), "job", "parameters")
	if err := t.s.send(ctx, have); err != nil {
		return 0, err
	}
	state, _ := have.Val()[0].(string)
	parameters, ok := have.Val()[1].(string)
	if attempt, _, _ := strings.Cut(state, " "); !ok || attempt != strconv.FormatInt(t.Attempt, 10) {
		return Gone, nil
	}
	t.Parameters = []byte(parameters)
	return OK, nil
}

// Take is how a task is taken over.
type Take struct {
	Owner  string   // unique for every take
	Known  []string // hashes of the definitions that the caller has
	Silent bool     // the entry was delivered before, so its worker has fallen silent
	Once   bool     // an owner that gave the task up does not take it again
}

// Take takes a task over and removes what an earlier try stored: OK, Already (done), Busy
// while the lease of another owner lasts, Gone, also if its entry is no longer pending, or
// Unknown if the job's definition is not among those known; then Report and Definition say
// which one it is.
func (t *Task) Take(ctx context.Context, how Take) (Outcome, error) {
	args := []any{t.Attempt, t.Listener, how.Owner, Group, t.Entry.ID, oneIf(how.Silent), millis(t.Lease), oneIf(how.Once)}
	for _, k := range how.Known {
		args = append(args, k)
	}
	outcome, more, err := t.s.list(ctx, takeScript.call(ctx, []string{t.s.Job(t.ID), t.s.Task(t.Listener)}, args...))
	if err != nil {
		return 0, err
	}
	if len(more) > 0 {
		of, _ := more[0].(string)
		t.Report, t.Definition = splitOf(of)
	}
	if outcome != OK {
		return outcome, nil
	}
	if len(more) != 7 {
		return 0, fmt.Errorf("script take: %w: %v", ErrReply, more)
	}
	parameters, _ := more[1].(string)
	t.Parameters = []byte(parameters)
	t.Tries, _ = more[3].(int64)
	t.Failure, _ = more[4].(string)
	t.Memo = nil
	if memo, _ := more[5].(string); memo != "" {
		t.Memo = []byte(memo)
	}
	if g, _ := more[6].(int64); g != t.Generation {
		t.Generation, t.writer = g, ""
	}
	return outcome, nil
}

// splitOf takes report/definition/digest apart.
func splitOf(of string) (report, definition string) {
	of, _ = cutLast(of)
	return cutLast(of)
}

func cutLast(text string) (before, after string) {
	i := max(0, strings.LastIndexByte(text, '/'))
	return text[:i], strings.TrimPrefix(text[i:], "/")
}

func oneIf(is bool) string {
	if is {
		return "1"
	}
	return ""
}

// millis is a duration as an argument; empty: none.
func millis(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}

// Chunk is a part of a task's dataset.
type Chunk struct {
	Number  int64 // from 0, without gaps
	Rows    int64 // as many in every column
	Columns any   // marshals to a JSON array of objects with at least a name
	Names   []string
	Fields  [][]byte // for every name a JSON array of Rows values
}

// sharedBytes is the max size of a chunk that shares a round trip with others.
const sharedBytes = 64 << 10

func (c Chunk) bytes() int {
	var n int
	for _, f := range c.Fields {
		n += len(f)
	}
	return n
}

// args appends field and value of every column.
func (c Chunk) args(args []any, listener string) []any {
	for i, name := range c.Names {
		args = append(args, Field(listener, name, c.Number), c.Fields[i])
	}
	return args
}

// Append stores a chunk if the task still has this generation: OK, Already, Busy, Gone, or
// TooMuch. The fields must not be changed before it returns, and not at all if it returns
// an error of ctx.
func (t *Task) Append(ctx context.Context, c Chunk) (Outcome, error) {
	columns, err := json.Marshal(c.Columns)
	if err != nil {
		return 0, fmt.Errorf("columns of %s: %w", t.Listener, err)
	}
	if t.writer == "" {
		t.writer = rand.Text()[:10]
	}
	args := []any{t.Attempt, t.Listener, t.Generation, t.writer, c.Number, c.Rows, columns, t.s.bytes}
	return t.s.outcome(ctx, appendScript.call(ctx, []string{t.s.Job(t.ID)}, c.args(args, t.Listener)...))
}

// MaxAhead is how many chunks before a stored one may be missing.
const MaxAhead = 10_000

// Stored is what exists of a task whose chunks come in any order.
type Stored struct {
	Chunks int64 // from the first one on, without gap
	Last   int64 // the highest one plus 1
	Ends   int64 // how many there are, or -1 if that is not known yet
}

// Store stores a chunk in any order, if the task still has this generation, and renews its
// lease: OK, Busy, Gone, TooMuch, or TooFar if MaxAhead or more chunks before it are missing.
// The fields must not be changed before it returns, and not at all if it returns an error
// of ctx.
func (t *Task) Store(ctx context.Context, c Chunk) (Outcome, Stored, error) {
	columns, err := json.Marshal(c.Columns)
	if err != nil {
		return 0, Stored{}, fmt.Errorf("columns of %s: %w", t.Listener, err)
	}
	args := []any{t.Attempt, t.Listener, t.Generation, c.Number, c.Rows, columns, t.Lease.Milliseconds(), t.s.bytes, MaxAhead}
	return t.store(ctx, storeScript, c.args(args, t.Listener))
}

// Ends notes how many chunks a task has, before all of them are stored. A full Redis
// takes it, too.
func (t *Task) Ends(ctx context.Context, chunks int64) (Outcome, Stored, error) {
	return t.store(ctx, endsScript, []any{t.Attempt, t.Listener, t.Generation, chunks, "", "", t.Lease.Milliseconds()})
}

func (t *Task) store(ctx context.Context, script *script, args []any) (Outcome, Stored, error) {
	outcome, more, err := t.s.list(ctx, script.call(ctx, []string{t.s.Job(t.ID)}, args...))
	if err != nil || len(more) != 3 {
		return outcome, Stored{}, err
	}
	var stored Stored
	stored.Chunks, _ = more[0].(int64)
	stored.Last, _ = more[1].(int64)
	stored.Ends, _ = more[2].(int64)
	return outcome, stored, nil
}

// Complete stores the only chunk of a task, or says how many it has stored, counts its
// listener and acknowledges its entry: OK, Already if that reached the barrier, Busy,
// Gone, or TooMuch. It returns ErrChunk if a chunk is missing. A last chunk without names
// only carries its number, since it is stored already. Calls that come at the same time
// share a round trip.
func (t *Task) Complete(ctx context.Context, last Chunk, took time.Duration) (Outcome, error) {
	c := &completion{task: t, chunks: last.Number + 1, took: took}
	switch {
	case len(last.Names) == 0: // stored
	case last.Number > 0 || last.bytes() > sharedBytes:
		// A chunk can be a megabyte: it takes a round trip of its own, so that small
		// calls do not wait for it. Gone can mean that a call before this one has
		// counted it: the next call knows.
		if outcome, err := t.Append(ctx, last); err != nil || outcome < OK && outcome != Gone {
			return outcome, err
		}
	default:
		columns, err := json.Marshal(last.Columns)
		if err != nil {
			return 0, fmt.Errorf("columns of %s: %w", t.Listener, err)
		}
		c.chunk, c.columns = last, string(columns)
	}
	outcome, err := t.s.completes.do(ctx, c)
	switch {
	case err != nil:
		return 0, err
	case outcome == Missing:
		return 0, fmt.Errorf("%w: %s has not %d chunks", ErrChunk, t.Listener, c.chunks)
	case outcome == Broken:
		return 0, fmt.Errorf("%w: %s", ErrBroken, t.s.Job(t.ID))
	}
	return outcome, nil
}

// completion is one call of Complete.
type completion struct {
	task    *Task
	chunk   Chunk  // that comes along
	columns string // of it (JSON)
	chunks  int64
	took    time.Duration

	outcome Outcome
	err     error
	done    chan struct{}
}

// shares tells whether two calls can be one.
func (c *completion) shares(other *completion) bool {
	return c.task.Listener == other.task.Listener && c.columns == other.columns && slices.Equal(c.chunk.Names, other.chunk.Names)
}

// completeAll runs calls in one round trip: one call of the script for the tasks of one
// listener that have the same columns.
func (s *Scripts) completeAll(calls []*completion) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	var batches [][]*completion
next:
	for _, c := range calls {
		for i, b := range batches {
			if len(b) < batchJobs && b[0].shares(c) {
				batches[i] = append(b, c)
				continue next
			}
		}
		batches = append(batches, []*completion{c})
	}
	cmds := make([]redis.Cmder, len(batches))
	for i, b := range batches {
		cmds[i] = s.completeCall(ctx, b)
	}
	err := s.do(ctx, cmds...)
	for i, b := range batches {
		outcomes, failed := outcomesOf(cmds[i], len(b))
		if err != nil {
			failed = err
		}
		for k, c := range b {
			if c.err = failed; failed == nil {
				c.outcome = outcomes[k]
			}
		}
	}
}

func (s *Scripts) completeCall(ctx context.Context, batch []*completion) *redis.Cmd {
	first := batch[0]
	listener, names := first.task.Listener, first.chunk.Names
	script := completeScript
	if len(names) == 0 {
		script = countScript // stores nothing, also in a Redis that is full
	}
	keys := append(make([]string, 0, 2+len(batch)), s.FanIn(), s.Task(listener))
	args := append(make([]any, 0, 6+len(names)+len(batch)*(7+len(names))),
		len(batch), listener, Group, s.bytes, first.columns, len(names))
	for _, name := range names {
		args = append(args, Field(listener, name, 0))
	}
	for _, c := range batch {
		t := c.task
		keys = append(keys, s.Job(t.ID))
		var rows any = c.chunk.Rows
		if len(names) == 0 {
			rows = t.writer // of the chunks, which are stored
		}
		args = append(args, t.ID, t.Attempt, t.Generation, t.Entry.ID, c.chunks, rows, c.took.Milliseconds())
		for _, f := range c.chunk.Fields {
			args = append(args, f)
		}
	}
	return script.call(ctx, keys, args...)
}

// Keep renews the lease of a task, and keeps its message from being taken over: OK, Busy
// if the task is no longer this worker's, or Gone.
func (t *Task) Keep(ctx context.Context) (Outcome, error) {
	return t.s.keep(ctx, t.ID, t.Attempt, t.Listener, strconv.FormatInt(t.Generation, 10), t.Lease, t.Entry)
}

func (s *Scripts) keep(ctx context.Context, id string, attempt int64, step, token string, lease time.Duration, e Entry) (Outcome, error) {
	return s.outcome(ctx, keepScript.call(ctx, []string{s.Job(id), e.Stream},
		attempt, step, token, millis(lease), Margin.Milliseconds(), e.Group, e.Consumer, e.ID))
}

// Requeue gives up a task, to be tried again: OK, Busy if it is no longer this worker's, or
// Gone. It acknowledges the task's entry.
func (t *Task) Requeue(ctx context.Context, a Again) (Outcome, error) {
	return t.s.requeue(ctx, t.ID, t.Attempt, t.Listener, t.Generation, t.s.Task(t.Listener), t.Entry, a)
}

// HandBack leaves a task to a process that has its definition, after a second, and
// acknowledges its entry.
func (t *Task) HandBack(ctx context.Context) error {
	return t.s.handBack(ctx, t.ID, t.Attempt, t.Listener, t.Entry)
}

// Fail fails the job of a task that its worker cannot do, and acknowledges its entry: OK,
// Already, Busy, or Gone.
func (t *Task) Fail(ctx context.Context, reason string, blame Blame) (Outcome, error) {
	outcome, _, err := t.s.fail(ctx, t.ID, t.Attempt, failure{by: t.Listener, token: t.Generation, reason: reason, blame: blame, entry: t.Entry})
	return outcome, err
}

// Omit gives up a task that its job can do without, as the policy of its listener says, and
// acknowledges its entry: OK, Already if that reached the barrier, Busy, or Gone. What it
// had stored is removed.
func (t *Task) Omit(ctx context.Context, policy, reason string) (Outcome, error) {
	s := t.s
	return s.outcome(ctx, omitScript.call(ctx, []string{s.Job(t.ID), s.FanIn(), s.Events(), s.Task(t.Listener)},
		t.ID, t.Attempt, t.Listener, t.Generation, policy, reason, s.events, Group, t.Entry.ID))
}

// MaxMemo is the max size of a task's memo in bytes.
const MaxMemo = 64 << 10

var rememberScript = load("remember")

// Remember stores the memo of a task, instead of the one before, if the task still has
// this generation: OK, Busy or Gone. Take gives it to later workers, in this attempt
// alone; a full Redis takes it, too. One of more than MaxMemo bytes is refused.
func (t *Task) Remember(ctx context.Context, memo []byte) (Outcome, error) {
	if len(memo) > MaxMemo {
		return 0, fmt.Errorf("a memo of %d bytes; the maximum is %d", len(memo), MaxMemo)
	}
	return t.s.outcome(ctx, rememberScript.call(ctx, []string{t.s.Job(t.ID)}, t.Attempt, t.Listener, t.Generation, memo))
}
