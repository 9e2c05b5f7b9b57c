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

	"github.com/fanfold/fanfold/report"
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
	Worker     string    // who has claimed it; empty: it is not claimed, or was folded without a claim
	Fold       StepState // fan-in: of the stage that it is in, and at the end the record
	Started    time.Time
	Deadline   time.Time
	Done       int64
	Target     int64
	Bytes      int64    // of the data
	Listeners  []string // of the stage that it is in
	Reason     string   // why it fails
	Blame      Blame    // whose fault that is
	Outcome    string   // report.Cancelled if it is to end so; empty if it fails, or does not
	Remove     bool     // it fails, and its file may exist
	File       string   // what it made, once it has ended
	Tasks      map[string]TaskState

	data map[string]string // all of it, if the job is small; nil: it must be read
}

// StepState is what a state says of the tries of a step.
type StepState struct {
	Tries int64     // that count, with the one that runs if that is known
	Error string    // of the last try that failed; empty: none has
	Blame Blame     // whose fault that was
	Next  time.Time // when the next try comes; zero: none is waiting
}

// TaskState is a listener's part of a state.
type TaskState struct {
	StepState
	Stage      int64
	Generation int64     // 0: never taken over, so the pending list of its stream says whose it is
	Owner      string    // who works on it; empty: only the pending list knows, or it was given up
	Left       string    // the last owner that gave it up; empty: none
	Lease      time.Time // of an external worker; zero: none
	Taken      time.Time // when its owner was first known; zero: never
	Chunks     int64     // from the first one on, without gap
	Ends       int64     // how many there will be, if that was said; -1: it was not
	Rows       int64
	Bytes      int64
	Done       bool
	DoneAt     time.Time       // zero until done
	Took       time.Duration   // of the query, from when it began; 0 until done
	Columns    json.RawMessage // as given to Append; nil until the first chunk
	Waits      string          // what it waits for without a failure, such as a job elsewhere; Next says until when
	Memo       []byte          // see Task.Remember; nil: none
	Failed     string          // why it was given up, if its job goes on without it; it is Done then
	Policy     string          // of its listener, if it was given up so
}

// Omitted returns why the job has gone on without some of its listeners, by listener; nil if
// it has all of them.
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

// ErrNoJob is returned if a job has no state.
var ErrNoJob = errors.New("scripts: job not found")

// ErrNoChunk is returned if the data of a job is not what its state says.
var ErrNoChunk = errors.New("scripts: chunk not found")

// Read returns the state of a job, or ErrNoJob. Of one that has ended within the last minute
// it knows the attempt, the status and how it ended.
func (s *Scripts) Read(ctx context.Context, id string) (*State, error) {
	c := s.stateCall(ctx, id)
	if err := s.do(ctx, c); err != nil {
		return nil, err
	}
	return stateOf(id, c)
}

func (s *Scripts) stateCall(ctx context.Context, id string) *redis.Cmd {
	return stateScript.call(ctx, []string{s.Job(id), s.Ended(id)})
}

// stateOf reads the answer to a stateCall.
func stateOf(id string, c *redis.Cmd) (*State, error) {
	values, err := c.StringSlice()
	if err != nil {
		return nil, asError("script state", err)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoJob, id)
	}
	fields := make(map[string]string, len(values)/2)
	for i := 0; i+1 < len(values); i += 2 {
		fields[values[i]] = values[i+1]
	}
	return parseState(id, fields)
}

// StatusBroken is what Attempts returns for a key that is not a job.
const StatusBroken = "BROKEN"

// Attempts returns the attempt and status of each job, in one round trip; zero values for
// a job that is unknown, and StatusBroken for a key of another type.
func (s *Scripts) Attempts(ctx context.Context, ids []string) ([]int64, []string, error) {
	attempts, statuses := make([]int64, len(ids)), make([]string, len(ids))
	if len(ids) == 0 {
		return attempts, statuses, nil
	}
	args := []any{"exists"}
	for _, id := range ids {
		args = append(args, s.Job(id), s.Ended(id))
	}
	exist := redis.NewIntCmd(ctx, args...)
	if err := s.send(ctx, exist); err != nil || exist.Val() == 0 {
		return attempts, statuses, err // most often none does
	}
	cmds := make([]redis.Cmder, 2*len(ids))
	for i, id := range ids {
		cmds[2*i], cmds[2*i+1] = redis.NewStringCmd(ctx, "hget", s.Job(id), "job"), redis.NewStringCmd(ctx, "get", s.Ended(id))
	}
	if err := s.do(ctx, cmds...); err != nil {
		return nil, nil, fmt.Errorf("states: %w", err)
	}
	for i := range ids {
		text, err := cmds[2*i].(*redis.StringCmd).Result()
		if errors.Is(err, redis.Nil) {
			text, err = cmds[2*i+1].(*redis.StringCmd).Result()
		}
		switch {
		case errors.Is(err, redis.Nil):
		case redis.HasErrorPrefix(err, "WRONGTYPE"):
			statuses[i] = StatusBroken
		case err != nil:
			return nil, nil, fmt.Errorf("states: %w", err)
		default:
			attempt, rest, _ := strings.Cut(text, " ")
			attempts[i], _ = strconv.ParseInt(attempt, 10, 64)
			statuses[i], _, _ = strings.Cut(rest, " ")
		}
	}
	return attempts, statuses, nil
}

// Claimed is Columns for a job as a worker has it: Open has read the data of a small one.
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

// Columns returns one chunk of some of a listener's columns: for every column a JSON array,
// which must not be changed. It returns ErrNoChunk if one of them does not exist.
func (s *Scripts) Columns(ctx context.Context, id, listener string, columns []string, chunk int64) ([][]byte, error) {
	if len(columns) == 0 {
		return nil, nil
	}
	args := []any{"hmget", s.Job(id)}
	for _, c := range columns {
		args = append(args, Field(listener, c, chunk))
	}
	cmd := redis.NewSliceCmd(ctx, args...)
	// A chunk can be large, and takes a round trip of its own.
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

// parseState reads the fields of a job's hash. Fields of steps are "<step>:<what>".
func parseState(id string, fields map[string]string) (*State, error) {
	p := parser{fields: fields}
	state := &State{ID: id, Fold: p.step(StepFanIn), Tasks: map[string]TaskState{}}
	if ended, ok := fields["ended"]; ok {
		p.ended(ended, state)
		return p.result(state)
	}
	if fields["job"] == "" {
		return nil, fmt.Errorf("%w: %s", ErrNoJob, id)
	}
	open := p.job(fields["job"], state)
	state.Parameters, state.Worker = []byte(fields["parameters"]), fields[StepFanIn+":owner"]
	state.Reason, state.Blame, state.Outcome, state.Remove = fields["reason"], Blame(fields["blame"]), fields["outcome"], fields["remove"] != ""
	for i, stage := range strings.Split(fields["listeners"], ";") {
		state.Listeners = strings.Split(stage, ",")
		for _, listener := range state.Listeners {
			state.Tasks[listener] = p.task(listener, int64(i)+1, open[listener])
		}
	}
	return p.result(state)
}

// parser reads texts and keeps the first error.
type parser struct {
	fields map[string]string
	err    error
}

func (p *parser) result(state *State) (*State, error) {
	if p.err != nil {
		return nil, fmt.Errorf("%w: state of %s: %w", ErrBroken, state.ID, p.err)
	}
	return state, nil
}

// job reads the line of a job (see lua/job.lua), and returns the generations of its open
// listeners.
func (p *parser) job(line string, state *State) map[string]int64 {
	words := strings.Split(line, " ")
	if len(words) != 11 {
		p.err = fmt.Errorf("the field job is %.100q", line)
		return nil
	}
	number := func(i int) int64 { return p.parse("job", words[i]) }
	state.Attempt, state.Status, state.Stage, state.Fence = number(0), words[1], number(2), number(3)
	done, target, _ := strings.Cut(words[5], "/")
	state.Deadline, state.Started = time.UnixMilli(number(4)), time.UnixMilli(number(9))
	state.Done, state.Target, state.Bytes = p.parse("job", done), p.parse("job", target), number(6)
	state.Report, state.Definition = splitOf(words[10])
	open := map[string]int64{}
	for _, name := range strings.Split(strings.Trim(words[7], "|"), "|") {
		name, generation, ok := strings.Cut(name, "#")
		open[name] = 0
		if ok {
			open[name] = p.parse("job", generation)
		}
	}
	return open
}

// ended reads a tombstone: attempt, outcome, report/definition/digest, what the listeners gave
// (see summary), and the file or the reason.
func (p *parser) ended(text string, state *State) {
	words := strings.SplitN(text, " ", 5)
	if len(words) != 5 {
		p.err = fmt.Errorf("its end is %.100q", text)
		return
	}
	state.Attempt, state.Status = p.parse("ended", words[0]), words[1]
	state.Report, state.Definition = splitOf(words[2])
	for part := range strings.SplitSeq(words[3], ",") {
		if parts := strings.Split(part, ":"); len(parts) == 3 {
			t := TaskState{Ends: -1, Done: parts[1] != ""}
			t.Tries = p.parse("ended", parts[2])
			if parts[1] == "-" {
				t.Policy = "omitted"
			} else if t.Done {
				t.Rows = p.parse("ended", parts[1])
			}
			state.Tasks[parts[0]] = t
		}
	}
	if report.Status(state.Status).HasFile() {
		state.File = words[4]
	} else {
		state.Reason = words[4]
	}
}

// task reads what a state says of a listener.
func (p *parser) task(listener string, stage, generation int64) TaskState {
	t := TaskState{
		StepState: p.step(listener), Stage: stage, Generation: generation, Owner: p.fields[listener+":owner"], Left: p.fields[listener+":left"],
		Lease: p.time(listener + ":lease"), Taken: p.time(listener + ":taken"), Ends: -1, Waits: p.fields[listener+":waits"],
	}
	if p.fields[listener+":ends"] != "" {
		t.Ends = p.number(listener + ":ends")
	}
	if memo := p.fields[listener+":memo"]; memo != "" {
		t.Memo = []byte(memo)
	}
	if t.Owner != "" {
		t.Tries++ // the one that runs
	}
	text, done := p.fields[listener+":found"]
	if t.Done = done; !done {
		text = p.fields[listener+":part"]
	} else if t.Owner == "" {
		t.Tries++
	}
	p.found(text, &t)
	return t
}

// found reads what a task has found: words of the form name=value, of which the last one
// goes on to the end.
func (p *parser) found(text string, t *TaskState) {
	for text != "" {
		word, rest, _ := strings.Cut(text, " ")
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "at":
			t.DoneAt = time.UnixMilli(p.parse(name, value))
		case "ms":
			t.Took = time.Duration(p.parse(name, value)) * time.Millisecond
		case "chunks":
			t.Chunks = p.parse(name, value)
		case "rows":
			t.Rows = p.parse(name, value)
		case "bytes":
			t.Bytes = p.parse(name, value)
		case "omitted":
			t.Policy = value
		case "columns":
			t.Columns = json.RawMessage(text[len("columns="):])
			return
		case "error":
			t.Failed = text[len("error="):]
			return
		default:
			p.fail(fmt.Errorf("what was found has %.100q", word))
			return
		}
		text = rest
	}
}

// step reads what a state says of the tries of a step.
func (p *parser) step(name string) StepState {
	return StepState{
		Tries: p.number(name + ":tries"), Error: p.fields[name+":error"], Blame: Blame(p.fields[name+":blame"]), Next: p.time(name + ":next"),
	}
}

// time returns a field's time, zero if it does not exist.
func (p *parser) time(field string) time.Time {
	if ms := p.number(field); ms != 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// number returns a field's integer, 0 if it does not exist.
func (p *parser) number(field string) int64 {
	text, ok := p.fields[field]
	if !ok {
		return 0
	}
	return p.parse(field, text)
}

func (p *parser) parse(field, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail(fmt.Errorf("field %s: %w", field, err))
	}
	return n
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// ended tells whether the state is a tombstone.
func (s *State) ended() bool {
	switch s.Status {
	case StatusRun, StatusReady, StatusFold, StatusPublishing, StatusFailing:
		return false
	}
	return true
}
