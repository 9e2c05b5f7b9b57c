package listeners

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// Source is where a listener's data comes from. Read runs the query of one task
// and writes its rows to out. It honours ctx, may be called for many tasks at
// once, and may be called again for the same task after a crash.
//
// The text of an error goes, behind the listener's name, into the record, where
// people read it. One that is marked with Permanent fails the job; one that is
// marked with Outage has the task retried in a few seconds and uses no try; Wait has it
// retried later, and is no error at all; after any other one it is retried after the delay of
// the listener's retries, and the job fails after the last of them.
type Source interface {
	Read(ctx context.Context, task Task, out *Writer) error
}

// Task is one listener's part of one job, as a Source sees it.
type Task struct {
	ID       string // the record's
	Attempt  int64
	Report   *report.Report
	Listener *report.Listener
	// Begin is called by a source that has waited for its turn, such as for a
	// connection, when it begins: the listener's timeout runs from then on. It may
	// be left out. Waiting too long is an Outage.
	Begin func()
	// Memo is what an earlier Read of this task has remembered with Remember, in this
	// attempt; nil: nothing. Other than rows, it outlives the try.
	Memo []byte
	// Before is why the try before this one ended, or what it waited for; empty where
	// nothing is known.
	Before string
	// Remember stores a memo (JSON, somewhat less than scripts.MaxMemo) in place of the
	// one before. Where Redis is away, it waits. An error of it is returned from Read as
	// it is; see Lost.
	Remember func(ctx context.Context, memo []byte) error
	// Turn waits until the source may be asked once more, of what all processes together
	// may ask of it: call it, or Ask, before each query or request. Where that would
	// be longer than the patience, it is the error of a task that waits, to be returned
	// as it is. nil: nothing bounds it.
	Turn       func(ctx context.Context, patience time.Duration) error
	Parameters map[string]any // bound by report.Report.Bind: string, int64, uint64, bool, nil, or []any of these
	// Values opens a column that an earlier stage found, and iterates over it chunk by
	// chunk; each value is the JSON of a scalar and is valid until the next one. An
	// error ends the iteration. The column is the zero Column where the job goes on
	// without its listener.
	Values func(ctx context.Context, listener, column string) (dataset.Column, iter.Seq2[[]byte, error], error)
}

// Patience for a turn: before a task has done anything, and in its middle, where it would
// lose what it has done.
const (
	AtFirst     = time.Second
	InTheMiddle = 5 * time.Minute
)

// Ask is Turn, where there is one.
func (t Task) Ask(ctx context.Context, patience time.Duration) error {
	if t.Turn == nil {
		return nil
	}
	return t.Turn(ctx, patience)
}

// Permanent marks an error that would come again with every try, such as bad
// SQL or a column that is not there. Its text stays as it is.
func Permanent(err error) error { return marked{err, ErrPermanent} }

// Outage marks an error that says nothing about the task: its server is away, or
// accepts no one at present. Its text stays as it is.
func Outage(err error) error { return marked{err, ErrOutage} }

// Wait is the error with which a Source gives its task up although nothing is wrong:
// it waits for something that others do, such as a job of a vendor, and is retried after d. No
// try is used, and no worker is busy meanwhile. What it waits for is
// shown to people. What the next Read must know is remembered before.
func Wait(d time.Duration, what string) error { return wait{d, what} }

type wait struct {
	time time.Duration
	what string
}

func (w wait) Error() string { return "waits for " + w.what }

var (
	// ErrPermanent is matched by every error that Permanent made.
	ErrPermanent = errors.New("listeners: permanent")
	// ErrOutage is matched by every error that Outage made.
	ErrOutage = errors.New("listeners: outage")
)

// marked is an error that matches a mark. Its text stays as it is.
type marked struct {
	error
	mark error
}

func (m marked) Unwrap() []error { return []error{m.mark, m.error} }
