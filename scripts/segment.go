package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
)

// Segment is a part of a task's dataset that lies in the spool. The segments that are listed are the
// task's ticket, see job.TaskState.
type Segment struct {
	Number  int64  // from 0, without gaps
	At      string // URL of the task's segments without their number
	Chunks  int64
	Rows    int64
	Bytes   int64
	Text    string // its word in the ticket, which begins with chunks,rows,bytes,
	Columns any    // as of Chunk

	// Parts is not 0 if this is the whole dataset, which was read in parts. Text is the rest of the ticket, and Chunks,
	// Rows and Bytes are those of all segments. Snapshot is what Division.Snapshot of package listeners returns.
	Parts    int
	Snapshot string
}

// List adds a segment to the ticket of a task, if it still has this generation: OK, Already, Busy, Gone,
// or TooMuch. The segment must exist. It works in a full Redis. It returns ErrChunk if a segment before this one
// is missing. Complete counts the chunks of all segments.
func (t *Task) List(ctx context.Context, s Segment) (Outcome, error) {
	more := ""
	if s.Parts > 0 {
		more = fmt.Sprintf("parts=%d snapshot=%s ", s.Parts, url.QueryEscape(s.Snapshot))
	} else if !strings.HasPrefix(s.Text, fmt.Sprintf("%d,%d,%d,", s.Chunks, s.Rows, s.Bytes)) ||
		strings.Contains(s.At+s.Text, " ") {
		return 0, fmt.Errorf("segment %d of %s: %q at %q is not of %d chunks, %d rows and %d bytes", s.Number,
			t.Listener, s.Text, s.At, s.Chunks, s.Rows, s.Bytes)
	}
	columns, err := json.Marshal(s.Columns)
	if err != nil {
		return 0, fmt.Errorf("columns of %s: %w", t.Listener, err)
	}
	return t.s.outcome(ctx, call(ctx, "segment", []string{t.s.Keys.Job(t.ID)}, t.Attempt, t.Listener, t.Generation,
		t.Writer(), s.Number, s.At, s.Chunks, s.Rows, s.Bytes, s.Text, columns, t.s.spool, more))
}

// Reopen says which listener of a job runs again, because segments of its dataset are missing or damaged.
type Reopen struct {
	Message
	Listener string
	At       string        // its ticket, as its reader had it: another one is not touched
	Error    string        // which segment, and why
	Delay    time.Duration // until it runs again; 0: at once
}

// Spoil says that the dataset of a listener is lost, so that it is not kept if the job fails: OK, or Gone if the
// listener has another one by now.
func (s Folds) Spoil(ctx context.Context, r Reopen) (Outcome, error) {
	return s.outcome(ctx, call(ctx, "spoil", []string{s.Keys.Job(r.ID)}, r.Attempt, r.Listener, r.At))
}

// Reopen opens a listener that is done for another try, which counts unless an earlier attempt has read its dataset:
// OK, Already if it was opened before, Busy if the job is PUBLISHING, or Gone if it is FAILING or has ended. After OK,
// claims of the job are void and its RUN waits for the listener; after OK and Gone, the caller acknowledges the entry
// that it works on in fan-in. After Already it does not: another worker may have claimed the job with that entry
// since. One whose tries are used up should fail its job instead, unless it is optional: then its worker omits it.
func (s Folds) Reopen(ctx context.Context, r Reopen) (Outcome, error) {
	keys := []string{s.Keys.Job(r.ID), s.Keys.Delayed, s.Keys.Events, s.Keys.Task(r.Listener)}
	return s.outcome(ctx, call(ctx, "reopen", keys, r.ID, r.Attempt, r.Listener, r.At, r.Delay.Milliseconds(),
		r.Error, string(job.BlameSpool), s.events, Margin.Milliseconds()))
}
