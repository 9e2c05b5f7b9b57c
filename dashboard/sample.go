package dashboard

import (
	"context"
	"slices"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/tally"
)

const (
	// maxJobs is the maximum number of running jobs and of delayed members in a sample, and maxListed that of
	// other lists.
	maxJobs, maxListed = 20_000, 1000
	// maxDead is the maximum number of dead jobs in a sample, the newest ones.
	maxDead = 5000
)

// sample is what was read from Redis and the records at a time. It is immutable. What could not be read
// is that of the previous sample.
type sample struct {
	Number      int64
	Began       time.Time
	At          time.Time // end of the last read without an error; zero: there was none
	Ended       time.Time // end of the last read
	Full        bool      // a browser was active: the lists were read too, not only the figures
	Err         error     // nil: everything was read
	Jobs        []inspect.Running
	Later       map[string][]inspect.Delayed // retries, by the id of their job
	Failed      map[string]bool              // members of Later whose step failed
	Delayed     []inspect.Delayed            // ids that are due later
	Timers      []inspect.Timer
	Pauses      []inspect.Pause
	Limits      []inspect.Limit
	Lanes       []inspect.Lane // those with the most jobs
	Dead        []inspect.DeadJob
	Quarantined []inspect.Quarantined // newest first
	Figures     inspect.Sums          // of found
	found       []inspect.Figure
	Ready       server // Redis and the database of the records
	Sources     []source
	Settings    settings
	Sink, Spool server
	// Processes is the number of running processes; -1: unknown. Versions are their distinct versions.
	Processes int
	Versions  []string
	Holders   map[string][]scripts.Holder // tasks that have a slot, by source
	Slots     map[string]int              // tasks that have a slot, by listener of a source with a limit
	Minutes   []tally.Bucket              // of the last hour, the oldest first
}

// DeadCut reports whether there can be dead jobs that the sample does not have: their number is at least that of
// the sample.
func (s *sample) DeadCut() bool { return len(s.Dead) >= maxDead }

// lists are the functions that read the lists of a sample from Redis.
var lists = []func(context.Context, *inspect.Inspector, *sample) error{
	readSlots, readRunning, readDelayed, readTimers, readPauses, readLimits,
	readLanes, readMinutes,
}

// keep returns a function that stores a value unless it comes with an error.
func keep[T any](to *T) func(T, error) error {
	return func(found T, err error) error {
		if err == nil {
			*to = found
		}
		return err
	}
}

// readSlots reads the tasks that have a slot.
func readSlots(ctx context.Context, in *inspect.Inspector, to *sample) error {
	if err := keep(&to.Holders)(in.Slots.Holders(ctx)); err != nil {
		return err
	}
	to.Slots = in.Slots.Count(to.Holders)
	return nil
}

// readRunning reads the running jobs.
func readRunning(ctx context.Context, in *inspect.Inspector, to *sample) error {
	return keep(&to.Jobs)(in.Jobs.Running(ctx, maxJobs))
}

// readDelayed reads retries and delayed ids.
func readDelayed(ctx context.Context, in *inspect.Inspector, to *sample) error {
	found, err := in.Delayed.List(ctx, func(inspect.Delayed) bool { return true }, maxJobs)
	if err != nil {
		return err
	}
	retries := slices.DeleteFunc(slices.Clone(found), func(d inspect.Delayed) bool { return !d.Retry() })
	if err := keep(&to.Failed)(in.Delayed.Failed(ctx, retries)); err != nil {
		return err
	}
	to.Later, to.Delayed = map[string][]inspect.Delayed{}, nil
	for _, d := range found {
		if d.Retry() {
			to.Later[d.ID] = append(to.Later[d.ID], d)
		} else if len(to.Delayed) < maxListed {
			to.Delayed = append(to.Delayed, d)
		}
	}
	return nil
}

// readTimers reads the timers.
func readTimers(ctx context.Context, in *inspect.Inspector, to *sample) error {
	return keep(&to.Timers)(in.Timers.List(ctx, func(string) bool { return true }, maxListed))
}

// readPauses reads what is paused.
func readPauses(ctx context.Context, in *inspect.Inspector, to *sample) error {
	return keep(&to.Pauses)(in.Pauses.List(ctx))
}

// readLimits reads the limits that people have set.
func readLimits(ctx context.Context, in *inspect.Inspector, to *sample) error {
	return keep(&to.Limits)(in.Limits.List(ctx))
}

// maxLanes is the maximum number of lanes in a sample.
const maxLanes = 50

// readLanes reads the lanes with the most jobs.
func readLanes(ctx context.Context, in *inspect.Inspector, to *sample) error {
	return keep(&to.Lanes)(in.Lanes.List(ctx, maxLanes))
}

// readMinutes reads what happened in the last hour.
func readMinutes(ctx context.Context, in *inspect.Inspector, to *sample) error {
	now := time.Now()
	return keep(&to.Minutes)(in.Tally.Read(ctx, now.Add(time.Minute-hour), now, time.Minute))
}
