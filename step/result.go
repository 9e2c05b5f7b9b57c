package step

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// Kind says how one try of a step ended.
type Kind int

// The kinds. Decide says what follows from each.
const (
	Done      Kind = iota // the step took effect, and its last script has acknowledged the entry
	Moved                 // a new message replaced the entry, which is acknowledged
	Void                  // nothing is left to do: the entry must be acknowledged
	Retry                 // the try failed
	Outage                // a server is unreachable, which is not the step's fault
	Waiting               // nothing is wrong: the step waits for something else
	Permanent             // the try failed, and every other try would fail, too
	Unusable              // the entry has no usable content
	Elsewhere             // another worker has the entry, or Redis is unreachable
	Stopping              // this process is stopping
)

// Result says how one try of a step ended. The zero value is Done. As the result of a claim, Done
// means that the step is claimed.
type Result struct {
	Kind  Kind
	After time.Duration // Waiting: delay before the next try; Outage: the same, 0: the policy's; Retry: minimum delay
	Err   error         // the reason; of Waiting: what the step waits for
	Blame job.Blame     // whose fault that is; of Waiting: whose limit
}

// Failure is the Result of a failed try as an error, for code that only passes on errors.
type Failure struct{ Result }

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// minWait keeps a step that waits for no time from being tried in a tight loop.
const minWait = 10 * time.Millisecond

// Act is what follows from a result.
type Act int

// The acts.
const (
	Nothing     Act = iota // the entry is already acknowledged
	Acknowledge            // acknowledge the entry
	Requeue                // try the step again, as Again says
	GiveUp                 // fail the step for good, as Err says
	Quarantine             // quarantine the entry, as Err says
	Leave                  // leave the entry pending: it is delivered again, here or elsewhere
)

// Verdict says what follows from a result.
type Verdict struct {
	Act   Act
	Again scripts.Requeue // of Requeue
	Err   error           // of GiveUp and Quarantine
	Blame job.Blame       // of GiveUp
}

// Decide is the retry policy of all steps. Try is the number of the try that ended, from 1.
func Decide(r Result, try int64, retry report.Retry) Verdict {
	switch r.Kind {
	case Void:
		return Verdict{Act: Acknowledge}
	case Retry:
		if try <= int64(retry.Retries) {
			return again(r, scripts.Requeue{Delay: max(r.After, retry.Before(int(try))), Counts: true})
		}
		if retry.Retries > 0 {
			r.Err = fmt.Errorf("%w (try %d of %d)", r.Err, try, retry.Retries+1)
		}
		return Verdict{Act: GiveUp, Err: r.Err, Blame: r.Blame}
	case Outage:
		if r.After == 0 {
			r.After = retry.Outage()
		}
		return again(r, scripts.Requeue{Delay: r.After})
	case Waiting:
		return again(r, scripts.Requeue{Delay: max(r.After, minWait), Waits: true})
	case Permanent:
		return Verdict{Act: GiveUp, Err: r.Err, Blame: r.Blame}
	case Unusable:
		return Verdict{Act: Quarantine, Err: r.Err}
	case Elsewhere:
		return Verdict{Act: Leave, Err: r.Err}
	case Stopping:
		return Verdict{Act: Requeue}
	}
	return Verdict{}
}

func again(r Result, a scripts.Requeue) Verdict {
	a.Error, a.Blame = r.Err.Error(), r.Blame
	return Verdict{Act: Requeue, Again: a}
}

// Exhausted returns the result of a step that has used all its tries because its workers died
// without a result. It returns false if tries are left. Last is why the previous try ended.
func Exhausted(try int64, retry report.Retry, last string) (Result, bool) {
	if try <= int64(retry.Retries)+1 {
		return Result{}, false
	}
	return Result{Kind: Permanent, Err: fmt.Errorf("given up after %d tries: %s", try-1, last)}, true
}

// Interrupted returns the result of a try whose context ended: Stopping, or Elsewhere if the lease
// was lost. It returns false if ctx has not ended.
func Interrupted(ctx context.Context) (Result, bool) {
	switch {
	case ctx.Err() == nil:
		return Result{}, false
	case errors.Is(context.Cause(ctx), ErrStopping):
		return Result{Kind: Stopping}, true
	}
	return Result{Kind: Elsewhere, Err: context.Cause(ctx)}, true
}
