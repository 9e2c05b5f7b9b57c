package step

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Step is one that is under way, such as a task or a claimed job.
type Step interface {
	// Job is the id of its job, or another name of what it is about.
	Job() string
	// Keep renews its lease: false if the step is no longer this worker's.
	Keep(ctx context.Context) (bool, error)
	// Tries is how often it was tried, with this try, and how often that may be; last is why
	// the try before this one ended.
	Tries() (try int64, retry report.Retry, last string)
}

// Handler does one kind of step, one entry at a time.
type Handler[S Step] interface {
	// Claim takes the step that an entry is about. Its result is Done if it did: then S is the
	// step, and Work and End follow.
	Claim(ctx context.Context, e Entry) (S, Result)
	// Work does the step. It ends soon after ctx, whose cause is ErrStopping or ErrLost.
	Work(ctx context.Context, s S) Result
	// End runs the last script of a step that was claimed, which also acknowledges its entry
	// if the verdict is Requeue or GiveUp. Its result says whether that is so: Done, Moved, Void,
	// Unusable or Elsewhere.
	End(ctx context.Context, s S, v Verdict) Result
}

// endTime is how long the last script of a step is worth a stop's patience.
const endTime = 5 * time.Second

// Lasting returns ctx, and if it has ended already one that lasts for a few seconds, for what
// must not be left undone.
func Lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), endTime)
}

// Singles returns the function of a Reader that does one step for each entry. Leases are
// renewed for as long as lease says; a hint about a job renews them at once.
func Singles[S Step](h Handler[S], lease time.Duration, leases *Leases) func(context.Context, []Entry) []Result {
	return func(ctx context.Context, entries []Entry) []Result {
		results := make([]Result, len(entries))
		for i, e := range entries {
			results[i] = Single(ctx, h, e, lease, leases)
		}
		return results
	}
}

// Single does the step of one entry: it claims it, keeps its lease, works and ends it.
func Single[S Step](ctx context.Context, h Handler[S], e Entry, lease time.Duration, leases *Leases) Result {
	s, result := h.Claim(ctx, e)
	if result.Kind != Done {
		return result
	}
	held, stop := leases.Keep(ctx, s.Job(), lease, s.Keep)
	defer stop()
	try, retry, last := s.Tries()
	result, exhausted := Exhausted(try, retry, last)
	if !exhausted {
		result = h.Work(held, s)
	}
	return Conclude(held, h, s, result)
}

// Conclude ends the try of a step that was claimed: it decides what follows from the result.
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
