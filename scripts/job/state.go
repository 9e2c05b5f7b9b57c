package job

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// The statuses of a job that runs; the documentation of scripts says what leads to them. One
// that has ended has its record's, DELETED, SUPERSEDED or StatusPreempted.
const (
	StatusRun        = "RUN"
	StatusReady      = "READY"
	StatusFold       = "FOLD"
	StatusPublishing = "PUBLISHING"
	StatusFailing    = "FAILING"

	// StatusPreempted is the status of an attempt that was ended for an older job in a full Redis.
	// Its record is PROCESSING, and its id is pushed again.
	StatusPreempted = "PREEMPTED"
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
	Bytes      int64    // of the data in Redis
	Spooled    int64    // bytes of the segments in the spool that are listed
	Listeners  []string // of the stage that it is in, and those of earlier ones that run again
	Reason     string   // why it fails
	Blame      Blame    // whose fault that is
	Outcome    string   // report.Cancelled if it is to end so; empty if it fails, or does not
	Remove     bool     // it fails, and its file may exist
	File       string   // what it made, once it has ended
	From       string   // id/attempt of the job that has left this for others; empty: it is no such state
	Trace      Trace
	Keep       Keep
	Tasks      map[string]TaskState
}

// Trace is where a job is in a distributed trace, as two fields of its hash say. Zero: it is not
// traced.
type Trace struct {
	Parent string // traceparent of W3C: the context of the span of the job
	Pushed string // when the id was pushed, in Unix ms; behind a space the span that pushed it, if there is one
}

// StepState is what a state says of the tries of a step.
type StepState struct {
	Tries int64     // that count, with the one that runs if that is known
	Error string    // of the last try that failed; empty: none has
	Blame Blame     // whose fault that was, or what a task waits for
	Next  time.Time // when the next try comes; zero: none is waiting
}

// TaskState is a listener's part of a state.
type TaskState struct {
	StepState
	Stage      int64
	Generation int64     // 0: never taken over, so the pending list of its stream says whose it is
	Owner      string    // who works on it; empty: only the pending list knows, or it was given up
	LastOwner  string    // the last owner that gave it up; empty: none
	Lease      time.Time // of an external worker; zero: none
	Taken      time.Time // when its owner was first known; zero: never
	Chunks     int64     // from the first one on, without gap
	Total      int64     // how many there will be; -1: unknown
	Rows       int64
	Bytes      int64
	Done       bool
	DoneAt     time.Time       // zero until done
	Took       time.Duration   // of the query, from when it began; 0 until done
	At         string          // where its segments lie, see spool.Open; empty: the dataset lies in Redis
	Parts      int64           // in which it is read; 0: at once
	PartsRead  int64           // of Parts, until their segments are listed
	PartsBytes int64           // of the segments of PartsRead
	Pause      string          // what its query waits for now, which Waits says, too; empty: for nothing
	Snapshot   string          // that all parts are of; empty: of moments close together
	Columns    json.RawMessage // as given to scripts.Task.Append; nil until the first chunk
	Waits      string          // what it waits for without a failure, such as a job elsewhere; see Next, and Pause
	Memo       []byte          // see scripts.Task.Remember; nil: none
	Failed     string          // why it was given up, if its job goes on; it is Done then
	Policy     string          // of its listener, if the job goes on without its data
	StaleAt    time.Time       // when its dataset was read, by an earlier job; zero: by this one, or it has none
	Reused     int64           // the attempt that has read it, if an end has kept it; 0: this one
	KeptUntil  time.Time       // until when it may be reused; zero: the job's end decides
}

// ReasonOf is the reason of a job that a listener fails.
func ReasonOf(listener, reason string) string { return "listener " + listener + ": " + reason }

// FailedBy tells whether a listener has failed the job.
func (s *State) FailedBy(listener string) bool {
	return strings.HasPrefix(s.Reason, ReasonOf(listener, ""))
}

// ReadAt returns when the dataset of a task that is done was read.
func (t TaskState) ReadAt() time.Time {
	if !t.StaleAt.IsZero() {
		return t.StaleAt
	}
	return t.DoneAt.Add(-t.Took)
}

// Omitted returns why the job has gone on without the data of some of its listeners, by listener; nil if
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

// Ended tells whether the state is a tombstone.
func (s *State) Ended() bool {
	switch s.Status {
	case StatusRun, StatusReady, StatusFold, StatusPublishing, StatusFailing:
		return false
	}
	return true
}

// InSpool returns the bytes of all segments, also of those that are not listed yet.
func (s *State) InSpool() int64 {
	n := s.Spooled
	for _, t := range s.Tasks {
		n += t.PartsBytes
	}
	return n
}

// NeedsDefinition tells whether only a process that has its definition continues the job.
func (s *State) NeedsDefinition() bool { return !s.Ended() && s.Status != StatusFailing }

// Blame says whose fault an error is, so that people know where to begin.
type Blame string

// Who is to blame.
const (
	BlameSource  Blame = "source"  // the database or API of a listener, or its query
	BlameRecords Blame = "records" // the database of the records
	BlameSink    Blame = "sink"    // where files go
	BlameSpool   Blame = "spool"   // where large datasets lie
	BlameRedis   Blame = "redis"
	BlameReport  Blame = "report" // what the report's definition or its data demand
	BlameSlots   Blame = "slots"  // the tasks that have all slots of a source: this one waits for them
	BlameRate    Blame = "rate"   // the rate limit of a source: this task waits for it
	BlameBusy    Blame = "busy"   // the load of a source: this task waits until that is less
	BlameTasks   Blame = "tasks"  // the tasks that a process may run at once
)

// Field is the field of a job's hash that holds one chunk of a column, counted from 0.
func Field(listener, column string, chunk int64) string {
	if chunk == 0 {
		return listener + "." + column
	}
	return listener + "." + column + "#" + strconv.FormatInt(chunk, 10)
}
