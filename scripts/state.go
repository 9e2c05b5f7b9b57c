package scripts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

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

// failedBy is the reason of a job that one of its listeners fails.
const failedBy = "listener %s: %s"

// FailedBy tells whether a listener has failed the job.
func (s *State) FailedBy(listener string) bool {
	return strings.HasPrefix(s.Reason, fmt.Sprintf(failedBy, listener, ""))
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

// Read returns the state of a job, or ErrNoJob. Of one that has ended within the last minute
// it knows the attempt, the status and how it ended.
func (s Jobs) Read(ctx context.Context, id string) (*State, error) {
	c := s.stateCall(ctx, id)
	if err := s.do(ctx, c); err != nil {
		return nil, err
	}
	return stateOf(id, c)
}

func (s Jobs) stateCall(ctx context.Context, id string) *redis.Cmd {
	return call(ctx, "state", []string{s.Keys.Job(id), s.Keys.Ended(id)})
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

// Attempts returns the attempt and status of each job; zero values for a job that is
// unknown, and StatusBroken for a key of another type.
func (s Jobs) Attempts(ctx context.Context, ids []string) ([]int64, []string, error) {
	_, attempts, statuses, err := s.EpochAndAttempts(ctx, ids)
	return attempts, statuses, err
}

// EpochAndAttempts is Attempts, and returns the epoch of this Redis as well: empty if it has
// none. If no job is known it takes one round trip.
func (s *conn) EpochAndAttempts(ctx context.Context, ids []string) (epoch string, attempts []int64, statuses []string, err error) {
	attempts, statuses = make([]int64, len(ids)), make([]string, len(ids))
	if len(ids) == 0 {
		return "", attempts, statuses, nil
	}
	args := []any{"exists"}
	for _, id := range ids {
		args = append(args, s.Keys.Job(id), s.Keys.Ended(id))
	}
	exist, now := redis.NewIntCmd(ctx, args...), redis.NewStringCmd(ctx, "get", s.Keys.Epoch())
	if err := s.do(ctx, exist, now); err != nil {
		return "", nil, nil, err
	}
	if epoch, err = now.Result(); err != nil && !errors.Is(err, redis.Nil) {
		return "", nil, nil, fmt.Errorf("epoch: %w", err)
	}
	if known, err := exist.Result(); err != nil || known == 0 {
		return epoch, attempts, statuses, asError("states", err) // most often none is
	}
	cmds := make([]redis.Cmder, 2*len(ids))
	for i, id := range ids {
		cmds[2*i], cmds[2*i+1] = redis.NewStringCmd(ctx, "hget", s.Keys.Job(id), "job"), redis.NewStringCmd(ctx, "get", s.Keys.Ended(id))
	}
	if err := s.do(ctx, cmds...); err != nil {
		return "", nil, nil, fmt.Errorf("states: %w", err)
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
			return "", nil, nil, fmt.Errorf("states: %w", err)
		default:
			attempt, rest, _ := strings.Cut(text, " ")
			attempts[i], _ = strconv.ParseInt(attempt, 10, 64)
			statuses[i], _, _ = strings.Cut(rest, " ")
		}
	}
	return epoch, attempts, statuses, nil
}

// ended tells whether the state is a tombstone.
func (s *State) ended() bool {
	switch s.Status {
	case StatusRun, StatusReady, StatusFold, StatusPublishing, StatusFailing:
		return false
	}
	return true
}
