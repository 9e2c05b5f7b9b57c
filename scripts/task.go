package scripts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Task is one listener's part of a job, as one worker has it.
type Task struct {
	Message
	Listener string
	Entry    Entry // it is acknowledged with the task's end; empty: none
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
	Service    string // that writes its segments: a text that no other writer has; empty: none
	Stored     Stored // of a task whose chunks arrive in any order, after Store or SetTotal

	writer string // of its chunks, unique for every try; empty: it has appended none
	s      *conn
}

// New returns the task of a message. If first is true and the entry is delivered for the
// first time, the entry says enough to work on it; otherwise the task must be taken.
func (s Tasks) New(m Message, listener string, entry Entry) (t *Task, first bool) {
	t = &Task{s: s.conn, Message: m, Listener: listener, Entry: entry, Tries: 1}
	of := entry.Fields["of"]
	i := strings.LastIndexByte(of, '/')
	if i < 0 {
		return t, false
	}
	t.Report, t.Definition = of[:i], of[i+1:]
	if p, ok := entry.Fields["parameters"]; ok {
		t.Parameters = []byte(p)
	}
	return t, true
}

// uncheckedAge is the age of an entry up to which its task is not checked before it is worked on.
const uncheckedAge = 2 * time.Second

// Load reads the parameters of a task whose entry does not carry them, and checks the task if
// its entry has waited for long: OK, Gone if it is no longer open, or Busy if it was taken over:
// then it must be taken, once its entry is delivered again.
func (t *Task) Load(ctx context.Context) (Outcome, error) {
	if t.Parameters != nil && time.Since(EntryTime(t.Entry.ID)) < uncheckedAge {
		return OK, nil
	}
	have := redis.NewSliceCmd(ctx, "hmget", t.s.Keys.Job(t.ID), "job", "parameters")
	if err := t.s.send(ctx, have); err != nil {
		return 0, err
	}
	state, _ := have.Val()[0].(string)
	parameters, ok := have.Val()[1].(string)
	attempt, _ := job.Head(state)
	switch ok = ok && attempt == t.Attempt; {
	case ok && strings.Contains(state, "|"+t.Listener+"#"):
		return Busy, nil
	case !ok || !strings.Contains(state, "|"+t.Listener+"|"):
		return Gone, nil
	}
	t.Parameters = []byte(parameters)
	return OK, nil
}

// Take is how a task is taken over.
type Take struct {
	Owner       string   // unique for every take
	Known       []string // hashes of the definitions that the caller has
	Redelivered bool     // the entry was delivered before, so its worker may have died
	Once        bool     // an owner that gave the task up does not take it again
}

// Take takes a task over and removes what an earlier try stored: OK, Already (done), Busy
// while the lease of another owner lasts, Gone, also if its entry is no longer pending, or
// Unknown if the job's definition is not among those known; then Report and Definition say
// which one it is.
func (t *Task) Take(ctx context.Context, how Take) (Outcome, error) {
	args := []any{t.Attempt, t.Listener, how.Owner, Group, t.Entry.ID, asFlag(how.Redelivered), millis(t.Lease),
		asFlag(how.Once)}
	outcome, more, err := t.s.list(ctx, call(ctx, "take",
		[]string{t.s.Keys.Job(t.ID), t.s.Keys.Task(t.Listener)}, append(args, asArgs(how.Known)...)...))
	if err != nil {
		return 0, err
	}
	if len(more) > 0 {
		of, _ := more[0].(string)
		t.Report, t.Definition = job.SplitOf(of)
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

func asFlag(is bool) string {
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

func (t *Task) claim() claim {
	return claim{conn: t.s, id: t.ID, attempt: t.Attempt, step: t.Listener,
		token: strconv.FormatInt(t.Generation, 10), entry: t.Entry}
}

// Renew renews the lease of a task, and keeps its message from being taken over: OK, Busy
// if the task is no longer this worker's, or Gone.
func (t *Task) Renew(ctx context.Context) (Outcome, error) {
	return t.claim().renew(ctx, t.Lease)
}

// Requeue gives up a task, to be tried again: OK, Busy if it is no longer this worker's, or
// Gone. It acknowledges the task's entry.
func (t *Task) Requeue(ctx context.Context, a Requeue) (Outcome, error) {
	return t.claim().requeue(ctx, a)
}

// HandBack leaves a task to a process that has its definition, after a second, and
// acknowledges its entry.
func (t *Task) HandBack(ctx context.Context) error {
	return t.claim().handBack(ctx)
}

// Fail fails the job of a task that its worker cannot do, with a reason that names its listener,
// and acknowledges its entry: OK, Already, Busy, or Gone.
func (t *Task) Fail(ctx context.Context, reason string, blame job.Blame) (Outcome, error) {
	outcome, _, err := t.claim().fail(ctx, failure{reason: job.ReasonOf(t.Listener, reason), blame: blame})
	return outcome, err
}

// Omit gives up a task that its job can do without, as the policy of its listener says, and
// acknowledges its entry: OK, Already if that reached the barrier, Busy, or Gone. What it
// had stored is removed.
func (t *Task) Omit(ctx context.Context, policy, reason string) (Outcome, error) {
	s := t.s
	keys := []string{s.Keys.Job(t.ID), s.Keys.FanIn, s.Keys.FanInLarge, s.Keys.Events, s.Keys.Task(t.Listener)}
	return s.outcome(ctx, call(ctx, "omit", keys,
		t.ID, t.Attempt, t.Listener, t.Generation, policy, reason, s.events, Group, t.Entry.ID, s.small))
}

// MaxMemo is the max size of a task's memo in bytes.
const MaxMemo = 64 << 10

// Remember stores the memo of a task, instead of the one before, if the task still has
// this generation: OK, Busy or Gone. Take gives it to later workers, in this attempt
// alone; this works in a full Redis. One of more than MaxMemo bytes is refused.
func (t *Task) Remember(ctx context.Context, memo []byte) (Outcome, error) {
	if len(memo) > MaxMemo {
		return 0, fmt.Errorf("a memo of %d bytes; the maximum is %d", len(memo), MaxMemo)
	}
	return setOf(ctx, t, "memo", memo)
}

// Pause stores what the query of a task waits for before it begins or goes on, and whose limit that is, until the
// try ends; empty: nothing. It answers like Remember.
func (Tasks) Pause(ctx context.Context, t *Task, what string, blame job.Blame) (Outcome, error) {
	if what != "" {
		what = string(blame) + " " + what
	}
	return setOf(ctx, t, "pause", what)
}

// Begin says that the query of a task begins now, which had a Pause before. It answers like Remember.
func (Tasks) Begin(ctx context.Context, t *Task) (Outcome, error) {
	return setOf(ctx, t, "pause", "", 1)
}

// setOf stores a field of a task.
func setOf(ctx context.Context, t *Task, field string, value ...any) (Outcome, error) {
	return t.s.outcome(ctx, call(ctx, "remember", []string{t.s.Keys.Job(t.ID)}, append([]any{t.Attempt, t.Listener,
		t.Generation, field}, value...)...))
}
