package listeners

import (
	"context"
	"iter"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// Source reads the data of listeners. Read runs the query of one task and writes its rows to out.
// It honours ctx and is safe for concurrent use. It may be called again for the same task after a
// crash.
//
// The text of an error goes into the record, after the listener's name. An error marked with
// Permanent fails the job. After one marked with Outage, the task is retried in a few seconds, which
// does not count as a try. Wait is no failure: the task is retried later. After any other error the
// task is retried with the listener's delay, and the job fails after the last retry.
type Source interface {
	Read(ctx context.Context, task Task, out *Writer) error
}

// Connection is an open database or API.
type Connection interface {
	Source
	// Reach connects once and reads no data. It does not wait for queries that run. An error that
	// matches fault.Login means that the server answered and refused the account.
	Reach(ctx context.Context) error
	// Close closes the connections after the last Read.
	Close() error
}

// Task is one listener's part of one job, for a Source.
type Task struct {
	ID       string // the record's
	Attempt  int64
	Report   *report.Report
	Listener *report.Listener
	// Begin restarts the listener's timeout. A source may call it once, after it has waited, such as
	// for a connection. If it waits too long, it returns an Outage.
	Begin func()
	// Memo is what an earlier try of this task has stored with Remember; nil: nothing. Unlike rows,
	// it outlives the try.
	Memo []byte
	// Before is why the previous try ended, or what it waited for; empty: not known.
	Before string
	// Remember replaces the memo, which is JSON and somewhat smaller than scripts.MaxMemo. It waits
	// while Redis is away. Read returns its error unchanged; see Lost.
	Remember func(ctx context.Context, memo []byte) error
	// RateLimit waits until the rate limit of the source, which all processes share, allows one
	// more query or request. Call WaitForRate before each. If the wait would exceed the patience,
	// it returns a Wait, which Read returns unchanged. nil: no limit.
	RateLimit func(ctx context.Context, patience time.Duration) error
	// Backoff is for a source that may refuse calls for a while. nil: the tasks do not wait for one another.
	Backoff *Backoff
	// bound, as report.Report.Decode returns them: string, int64, uint64, bool, nil, time.Time, or []any of these
	Parameters map[string]any
	// Values opens a column of an earlier stage, and iterates over its values. Every value is the
	// JSON of a scalar, and is valid until the next one. An error ends the iteration. The column is
	// the zero Column if the job continues without its listener.
	Values func(ctx context.Context, listener, column string) (dataset.Column, iter.Seq2[[]byte, error], error)
}

// Patience for a rate limit: before the first request of a task, and later, when the task would lose
// its results.
const (
	PatienceFirst = time.Second
	PatienceLater = 5 * time.Minute
)

// WaitForRate calls RateLimit if it is set.
func (t Task) WaitForRate(ctx context.Context, patience time.Duration) error {
	if t.RateLimit == nil {
		return nil
	}
	return t.RateLimit(ctx, patience)
}

// Permanent marks an error that every try would repeat, such as bad SQL or a missing column. It does
// not change the text.
func Permanent(err error) error { return ErrPermanent.Of(err) }

// Outage marks an error that is not the task's fault: the server is away, or accepts no connections.
// It does not change the text.
func Outage(err error) error { return ErrOutage.Of(err) }

// Login marks the error of Connection.Reach for an account that the server refuses. It matches
// fault.Login, and its text does not change.
func Login(err error) error { return fault.Login.Of(err) }

// Wait returns the error with which a Source leaves a task that waits for something external, such as
// a vendor's job. The task is retried after d. This does not count as a try and keeps no worker busy.
// People see what it waits for. Store what the next Read needs with Remember before.
func Wait(d time.Duration, what string) error { return wait{d, what, job.BlameSource} }

// Busy returns the Wait of a task whose source refuses calls for d.
func Busy(d time.Duration, what string) error { return wait{d, what, job.BlameBusy} }

type wait struct {
	time  time.Duration
	what  string
	blame job.Blame // whose limit it is
}

func (w wait) Error() string { return "waits for " + w.what }

const (
	// ErrPermanent is matched by every error that Permanent made.
	ErrPermanent fault.Kind = "permanent"
	// ErrOutage is matched by every error that Outage made.
	ErrOutage fault.Kind = "outage"
)
