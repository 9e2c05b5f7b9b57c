package step

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Step is a claimed step, such as a task or the fold of a job.
type Step interface {
	// Job returns the id of the step's job, or another name that identifies the work.
	Job() string
	// Renew renews the lease. It returns false if this worker no longer owns the step.
	Renew(ctx context.Context) (bool, error)
	// Tries returns the number of this try, from 1, the policy of retries, and why the previous try
	// ended.
	Tries() (try int64, retry report.Retry, last string)
}

// Handler does one kind of step, one entry at a time.
type Handler[S Step] interface {
	// Claim claims the step of an entry. If its result is Done, S is the step, and Work and End
	// follow.
	Claim(ctx context.Context, e Entry) (S, Result)
	// Work does the step. It returns soon after ctx ends, whose cause is ErrStopping or ErrLost.
	Work(ctx context.Context, s S) Result
	// End runs the last script of a claimed step. For the verdicts Requeue and GiveUp the script
	// also acknowledges the entry. The result says what happened: Done, Moved, Void, Unusable or
	// Elsewhere.
	End(ctx context.Context, s S, v Verdict) Result
}

// endTime bounds the last script of a step in a process that is stopping.
const endTime = 5 * time.Second

// Lasting returns ctx, or, if ctx has already ended, a context that lasts a few more seconds, for
// work that must be finished.
func Lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), endTime)
}

// Singles returns a Handle function for a Reader that does one step per entry. Leases last for the
// given time; a hint about a job renews its leases at once.
func Singles[S Step](h Handler[S], lease time.Duration, leases *Leases) func(context.Context, []Entry) []Result {
	return func(ctx context.Context, entries []Entry) []Result {
		results := make([]Result, len(entries))
		for i, e := range entries {
			results[i] = Single(ctx, h, e, lease, leases)
		}
		return results
	}
}

// Single does the step of one entry: claim, work under a renewed lease, end.
func Single[S Step](ctx context.Context, h Handler[S], e Entry, lease time.Duration, leases *Leases) Result {
	s, result := h.Claim(ctx, e)
	if result.Kind != Done {
		return result
	}
	leased, stop := leases.Renew(ctx, s.Job(), lease, s.Renew)
	defer stop()
	try, retry, last := s.Tries()
	result, exhausted := Exhausted(try, retry, last)
	if !exhausted {
		result = h.Work(leased, s)
	}
	return Conclude(leased, h, s, result)
}

// Conclude ends the try of a claimed step: it decides what follows from the result and does it.
func Conclude[S Step](ctx context.Context, h Handler[S], s S, result Result) Result {
	if result.Kind != Done && result.Kind != Void {
		if interrupted, ok := Interrupted(ctx); ok {
			result = interrupted
		}
	}
	try, retry, _ := s.Tries()
	v := Decide(result, try, retry)
	switch v.Act {
	case Nothing, Acknowledge, Quarantine, Leave:
		return result
	}
	ctx, cancel := Lasting(ctx)
	defer cancel()
	return h.End(ctx, s, v)
}
