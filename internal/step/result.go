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

// The kinds. What follows from each is in Decide.
const (
	Done      Kind = iota // the effect exists, and the last script has acknowledged the entry
	Moved                 // a new message has taken the place of the entry, which is acknowledged
	Void                  // nothing is left to do: the entry is to be acknowledged
	Retry                 // the try failed
	Outage                // a server is away, which is not the step's fault
	Waiting               // nothing is wrong: the step waits for someone else
	Permanent             // the try failed, and every other one would
	Unusable              // the entry means nothing
	Elsewhere             // another worker has the entry, or Redis is away
	Stopping              // this process is about to stop
)

// Result says how one try of a step ended. The zero value is Done; as the result of a claim
// it means that the step is claimed.
type Result struct {
	Kind  Kind
	After time.Duration // of Waiting: when the step is tried again; of Outage: the same, 0: as its retries say; of Retry: at the earliest
	Err   error         // why; of Waiting: for what
	Blame job.Blame
}

// minWait keeps a step that waits for no time at all from being tried in a loop.
const minWait = 10 * time.Millisecond

// Act is what is done about a step.
type Act int

// The acts.
const (
	Nothing     Act = iota // the entry is acknowledged
	Acknowledge            // the entry
	Requeue                // the step is tried again, as Again says
	GiveUp                 // the step has failed for good, as Err says
	Quarantine             // the entry, as Err says
	Leave                  // the entry stays pending: it is delivered again, here or elsewhere
)

// Verdict is what follows from a result.
type Verdict struct {
	Act   Act
	Again scripts.Again // of Requeue
	Err   error         // of GiveUp and Quarantine
	Blame job.Blame     // of GiveUp
}

// Decide is the retry policy of all steps. Try is the number of the try that ended, from 1.
func Decide(r Result, try int64, retry report.Retry) Verdict {
	switch r.Kind {
	case Void:
		return Verdict{Act: Acknowledge}
	case Retry:
		if try <= int64(retry.Retries) {
			return again(r, scripts.Again{Delay: max(r.After, retry.Before(int(try))), Counts: true})
		}
		if retry.Retries > 0 {
			r.Err = fmt.Errorf("%w (try %d of %d)", r.Err, try, retry.Retries+1)
		}
		return Verdict{Act: GiveUp, Err: r.Err, Blame: r.Blame}
	case Outage:
		if r.After == 0 {
			r.After = retry.Outage()
		}
		return again(r, scripts.Again{Delay: r.After})
	case Waiting:
		return again(r, scripts.Again{Delay: max(r.After, minWait), Waits: true})
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

func again(r Result, a scripts.Again) Verdict {
	a.Error, a.Blame = r.Err.Error(), r.Blame
	return Verdict{Act: Requeue, Again: a}
}

// Exhausted gives up a step whose tries have ended without a word: each of its workers died.
// False if it has tries left.
func Exhausted(try int64, retry report.Retry, last string) (Result, bool) {
	if try <= int64(retry.Retries)+1 {
		return Result{}, false
	}
	return Result{Kind: Permanent, Err: fmt.Errorf("given up after %d tries: %s", try-1, last)}, true
}

// Interrupted is the result of a try whose context ended: Stopping, or Elsewhere if the lease
// was lost. False if ctx lasts.
func Interrupted(ctx context.Context) (Result, bool) {
	switch {
	case ctx.Err() == nil:
		return Result{}, false
	case errors.Is(context.Cause(ctx), ErrStopping):
		return Result{Kind: Stopping}, true
	}
	return Result{Kind: Elsewhere, Err: context.Cause(ctx)}, true
}
