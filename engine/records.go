package engine

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/step"
)

// Record is a row of the record table.
type Record struct {
	ID         string
	Report     string
	Parameters []byte // JSON object; nil if the row has none, or if Unread is set
	Unread     error  // why the parameters were not read, such as their size; nil: they were
	Status     report.Status
	Attempt    int64 // of the current or last job; 0: none yet
	File       string
	Error      string
	Age        time.Duration // since the last change of the row, by the database's clock
	Rows       *int64        // of the file; nil: no file, or unknown
	Created    time.Duration // since the row was inserted, like Age; 0: unknown
	Lane       string        // value of the column that names the lane; empty: none, or there is no such column
	Owner      string        // who it is for; empty: nobody, or there is no such column
	Tenant     string        // of the owner; empty: none, or there is no such column
}

// ErrNoRecord is returned if a required record does not exist.
var ErrNoRecord = fault.NotFound.New("no such record")

// ErrRefused is returned for a change that the table can never accept, such as a file name that is
// longer than its column.
var ErrRefused = step.Final(errors.New("the record table cannot store this"))

// Run identifies one job: a record and its attempt.
type Run struct {
	ID      string
	Attempt int64
	// Pending lets Fail and Cancel also end a PENDING record, for which no job with this attempt
	// runs. After a user's retry the record is PENDING with the attempt before.
	Pending bool
	// Next is the attempt that Start gives the record, because Redis knows a later one of this id
	// than the row; 0: Attempt+1.
	Next int64
	// Did is what its job did, which the change to a final status stores, too; nil: no job ran.
	Did *History
}

// Records is the store of records. Every change has a condition: the row must still be in the state
// that the change starts from. So a late writer cannot overwrite a final status. False means that
// the condition failed and nothing changed. All methods are safe for concurrent use.
type Records interface {
	// Read returns the rows of these ids in one query, by requested id. An id without a row has no
	// entry. If the database finds a row with a different spelling ("01111" finds 1111), the
	// entry's ID is the row's.
	Read(ctx context.Context, ids []string) (map[string]Record, error)
	// Start makes every record PROCESSING with the next attempt, if it is PENDING or PROCESSING and
	// still has the given attempt. It returns one result per run: false also if another session has
	// locked the row.
	Start(ctx context.Context, runs []Run) ([]bool, error)
	// Succeed makes a PROCESSING record of this attempt SUCCESS with its file. It may return
	// ErrRefused.
	Succeed(ctx context.Context, run Run, file string, rows int64) (bool, error)
	// SucceedPartly is Succeed for PARTIAL, with the reasons why listeners were omitted.
	SucceedPartly(ctx context.Context, run Run, file string, rows int64, reason string) (bool, error)
	// Note stores a text in PENDING records of these attempts, for people. A record that has another status
	// stays as it is.
	Note(ctx context.Context, runs []Run, text string) error
	// Fail makes a PROCESSING record of this attempt FAILED with the reason; a PENDING one, too, if
	// the run allows it.
	Fail(ctx context.Context, run Run, reason string) (bool, error)
	// Cancel is Fail for CANCELLED.
	Cancel(ctx context.Context, run Run, reason string) (bool, error)
}
