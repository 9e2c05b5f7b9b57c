package engine

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Record is a row of the record table.
type Record struct {
	ID         string
	Report     string
	Parameters []byte // JSON object; nil where the row has none, or Unread says why
	Unread     error  // why the parameters were not read, such as that there are too many; nil: they were
	Status     report.Status
	Attempt    int64 // of the job that runs or ran last; 0 before the first
	File       string
	Error      string
	Age        time.Duration // since the row was changed last, by the database's clock
	Rows       *int64        // of the file; nil: there is none, or the table does not say
	Created    time.Duration // how long ago the row was inserted, as Age; 0: the table does not say
}

// ErrNoRecord is returned where a record is needed and the row is not there.
var ErrNoRecord = errors.New("engine: no such record")

// ErrRefused is returned for a change that the table will never take, such as a
// file whose place is longer than its column.
var ErrRefused = errors.New("engine: the record table does not take this")

// Run names one job: a record and its attempt.
type Run struct {
	ID      string
	Attempt int64
	// Pending lets Fail and Cancel end a record that is PENDING as well: one of which no job
	// with this attempt runs. A user's retry is PENDING with the attempt before.
	Pending bool
}

// Records is the store of records. Every change is made under the condition
// that the row still is in the state that the change starts from, so that no
// late writer overwrites a final status; false means that it was not, and
// nothing was changed. All methods are safe for concurrent use.
type Records interface {
	// Read returns the rows for these ids in one query, keyed by the id that was
	// asked for. An id without a row has no entry. Where the database finds a
	// row whose id is not exactly the one asked for ("01111" finds 1111), the
	// entry's ID is the row's.
	Read(ctx context.Context, ids []string) (map[string]Record, error)
	// Start makes each record PROCESSING with the next attempt, if it is PENDING
	// or PROCESSING and its attempt is still the one given. One result for each.
	Start(ctx context.Context, runs []Run) ([]bool, error)
	// StartAs is Start for one record, with that attempt instead of the next one: Redis
	// knows one of this id that the row does not. It is false as well where somebody has
	// locked the row.
	StartAs(ctx context.Context, run Run, attempt int64) (bool, error)
	// Succeed makes a PROCESSING record of this attempt SUCCESS with its file, or
	// returns ErrRefused.
	Succeed(ctx context.Context, run Run, file string, rows int64) (bool, error)
	// SucceedPartly is Succeed for PARTIAL, with why listeners were left out.
	SucceedPartly(ctx context.Context, run Run, file string, rows int64, reason string) (bool, error)
	// Fail makes a PROCESSING record of this attempt, or a PENDING one if the run says so,
	// FAILED with the reason.
	Fail(ctx context.Context, run Run, reason string) (bool, error)
	// Cancel is Fail for CANCELLED.
	Cancel(ctx context.Context, run Run, reason string) (bool, error)
}
