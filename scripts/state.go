package scripts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/redis/go-redis/v9"
)

// The statuses of a job that runs; see the package documentation. One that has
// ended has its record's, DELETED or SUPERSEDED.
const (
	StatusRun        = "RUN"
	StatusReady      = "READY"
	StatusFold       = "FOLD"
	StatusPublishing = "PUBLISHING"
	StatusFailing    = "FAILING"
)

// State is a job's state as it was read.
type State struct {
	ID         string
	Report     string
	Definition string // hash
	Parameters []byte // JSON object
	Attempt    int64
	Stage      int64
	Status     string // see StatusRun and the others
	Fence      int64
	Worker     string    // who has claimed it, or had when it ended; empty where nobody has
	Lease      time.Time // until when; zero where nobody has
	Fold       StepState // fan-in: of the stage that it is in, and at the end the record
	Started    time.Time
	Deadline   time.Time
	Done       int64
	Target     int64
	Listeners  []string // of the stage that it is in
	Reason     string   // why it fails
	Outcome    string   // report.Cancelled where it is to end so; empty where it fails, or does not
	Remove     bool     // it fails, and its file may be there
	File       string   // what it made
	Tasks      map[string]TaskState
	Entry      Entry // its message, which Settle acknowledges; empty: none

	data map[string]string // all of it, as a claim has found it; nil: it must be read
}

// StepState is what a state says of the tries of a step.
type StepState struct {
	Tries int64     // that count, with the one that runs
	Error string    // of the last try that failed; empty where none has
	Next  time.Time // when the next try comes; zero where none is waiting
}

// TaskState is a listener's part of a state.
type TaskState struct {
	StepState
	Stage   int64
	Owner   string    // who works on it; empty where nobody does
	Left    string    // who has given it up last; empty: nobody
	Lease   time.Time // until when it is the owner's; zero where nobody works on it
	Taken   time.Time // when it was taken last; zero before the first try
	Chunks  int64     // from the first one on, without gap
	Ends    int64     // how many there will be, where somebody has said so; -1: nobody has
	Rows    int64
	Bytes   int64
	Done    bool
	DoneAt  time.Time       // zero until done
	Took    time.Duration   // of the query, from when it began; 0 until done
	Columns json.RawMessage // as given to Append; nil until the first chunk
	Waits   string          // what it waits for without a failure, such as a job of somebody else's; Next says until when
	Memo    []byte          // see Scripts.Remember; nil: none
	Failed  string          // why it was given up, where its job goes on without it; it is Done then
	Policy  string          // of its listener, where it was given up so
}

// Omitted returns why the job has gone on without some of its listeners: by listener;
// nil where it has all of them.
func (s *State) Omitted() map[string]string {
	var omitted map[string]string
	for name, t := range s.Tasks {
		if t.Policy == "" {
			continue
		}
		if omitted == nil {
			omitted = map[string]string{}
		}
		omitted[name] = t.Failed
	}
	return omitted
}

// ErrNoJob is returned where a job has no state.
var ErrNoJob = errors.New("scripts: job not found")

// ErrNoChunk is returned where the data of a job is not what its state says.
var ErrNoChunk = errors.New("scripts: chunk not found")

// Read returns the state of a job, or ErrNoJob.
func (s *Scripts) Read(ctx context.Context, id string) (*State, error) {
	fields, err := s.rdb.HGetAll(ctx, s.State(id)).Result()
	if err != nil {
		return nil, fmt.Errorf("state of %s: %w", id, err)
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoJob, id)
	}
	return parseState(id, fields)
}

// StatusBroken is what Attempts returns for a key that is not a state.
const StatusBroken = "BROKEN"

// Attempts returns the attempt and status of each job's state, in one round
// trip; zero values where there is none, and StatusBroken for a key of another
// type.
func (s *Scripts) Attempts(ctx context.Context, ids []string) ([]int64, []string, error) {
	cmds := make([]redis.Cmder, len(ids))
	for i, id := range ids {
		cmds[i] = redis.NewSliceCmd(ctx, "hmget", s.State(id), "attempt", "status")
	}
	if err := s.pipe.do(ctx, cmds...); err != nil {
		return nil, nil, fmt.Errorf("states: %w", err)
	}
	attempts, statuses := make([]int64, len(ids)), make([]string, len(ids))
	for i, c := range cmds {
		if redis.HasErrorPrefix(c.Err(), "WRONGTYPE") {
			statuses[i] = StatusBroken
			continue
		} else if c.Err() != nil {
			return nil, nil, fmt.Errorf("states: %w", c.Err())
		}
		values := c.(*redis.SliceCmd).Val()
		if a, ok := values[0].(string); ok {
			attempts[i], _ = strconv.ParseInt(a, 10, 64)
		}
		statuses[i], _ = values[1].(string)
	}
	return attempts, statuses, nil
}

// Claimed is Columns for a job as it was claimed: where its data is small, the
// claim has brought it along.
func (s *Scripts) Claimed(ctx context.Context, state *State, listener string, columns []string, chunk int64) ([][]byte, error) {
	if state.data == nil {
		return s.Columns(ctx, state.ID, listener, columns, chunk)
	}
	fields := make([][]byte, len(columns))
	for i, c := range columns {
		text, ok := state.data[Field(listener, c, chunk)]
		if !ok {
			return nil, noChunk(state.ID, listener, c, chunk)
		}
		fields[i] = bytesOf(text)
	}
	return fields, nil
}

// bytesOf returns the bytes of a text without a copy, since a chunk is large. They
// must not be changed.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

func noChunk(id, listener, column string, chunk int64) error {
	return fmt.Errorf("%w: %s of job %s", ErrNoChunk, Field(listener, column, chunk), id)
}

// Columns returns one chunk of some of a listener's columns: for each a JSON
// array, which must not be changed. It returns ErrNoChunk where one of them is not
// there.
func (s *Scripts) Columns(ctx context.Context, id, listener string, columns []string, chunk int64) ([][]byte, error) {
	if len(columns) == 0 {
		return nil, nil
	}
	args := []any{"hmget", s.Data(id)}
	for _, c := range columns {
		args = append(args, Field(listener, c, chunk))
	}
	cmd := redis.NewSliceCmd(ctx, args...)
	// Like a chunk on its way in, it takes a round trip of its own.
	if err := s.rdb.Process(ctx, cmd); err != nil {
		return nil, fmt.Errorf("chunk %d of %s: %w", chunk, listener, err)
	}
	fields := make([][]byte, len(columns))
	for i, v := range cmd.Val() {
		text, ok := v.(string)
		if !ok {
			return nil, noChunk(id, listener, columns[i], chunk)
		}
		fields[i] = bytesOf(text)
	}
	return fields, nil
}

// Note appends an event that is no change of state, such as a message that was
// ignored.
func (s *Scripts) Note(ctx context.Context, id string, attempt int64, event string, fields ...any) error {
	return s.send(ctx, s.event(ctx, id, attempt, event, fields...))
}

// parseState reads the fields of a state. Fields of listeners are
// "<listener>:<what>".
func parseState(id string, fields map[string]string) (*State, error) {
	p := parser{fields: fields}
	state := &State{
		ID: id, Report: fields["report"], Definition: fields["definition"], Parameters: []byte(fields["parameters"]),
		Attempt: p.number("attempt"), Stage: p.number("stage"), Status: fields["status"],
		Fence: p.number("fence"), Worker: fields["worker"],
		Started: time.UnixMilli(p.number("started")), Deadline: time.UnixMilli(p.number("deadline")),
		Lease: p.time("lease"), Fold: p.step("@fanin"),
		Done: p.number("done"), Target: p.number("target"),
		Reason: fields["reason"], Outcome: fields["outcome"], Remove: fields["remove"] != "", File: fields["file"], Tasks: map[string]TaskState{},
	}
	if l := fields["listeners"]; l != "" {
		state.Listeners = strings.Split(l, ",")
	}
	for field := range fields {
		listener, ok := strings.CutSuffix(field, ":stage")
		if !ok {
			continue
		}
		task := TaskState{
			StepState: p.step(listener), Stage: p.number(field), Owner: fields[listener+":owner"], Left: fields[listener+":left"],
			Lease: p.time(listener + ":lease"), Taken: p.time(listener + ":taken"),
			Chunks: p.number(listener + ":chunks"), Rows: p.number(listener + ":rows"), Bytes: p.number(listener + ":bytes"),
			Done: fields[listener+":done"] != "", DoneAt: p.time(listener + ":done"), Took: time.Duration(p.number(listener+":ms")) * time.Millisecond,
			Ends: -1, Waits: fields[listener+":waits"], Failed: fields[listener+":failed"], Policy: fields[listener+":policy"],
		}
		if fields[listener+":ends"] != "" {
			task.Ends = p.number(listener + ":ends")
		}
		if memo := fields[listener+":memo"]; memo != "" {
			task.Memo = []byte(memo)
		}
		if c := fields[listener+":columns"]; c != "" {
			task.Columns = json.RawMessage(c)
		}
		state.Tasks[listener] = task
	}
	if p.err != nil {
		return nil, fmt.Errorf("%w: state of %s: %w", ErrBroken, id, p.err)
	}
	return state, nil
}

// parser reads integers from fields and keeps the first error.
type parser struct {
	fields map[string]string
	err    error
}

// step reads what a state says of the tries of a step.
func (p *parser) step(name string) StepState {
	return StepState{Tries: p.number(name + ":tries"), Error: p.fields[name+":error"], Next: p.time(name + ":next")}
}

// time returns a field's time, zero where it is not there.
func (p *parser) time(field string) time.Time {
	if ms := p.number(field); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// number returns a field's integer, 0 where it is not there.
func (p *parser) number(field string) int64 {
	text, ok := p.fields[field]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("field %s: %w", field, err)
	}
	return n
}
