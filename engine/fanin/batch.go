package fanin

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/fanfold/fanfold/internal/processors"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// handle handles entries of the fan-in stream: a batch of small jobs, or one that needs a claim.
func (f *FanIn) handle(ctx context.Context, entries []step.Entry) []step.Result {
	if entries[0].Leased {
		return []step.Result{f.claim(ctx, entries[0], step.Result{})}
	}
	results := make([]step.Result, len(entries))
	jobs, err := f.open(ctx, entries)
	if err != nil { // the process stops
		for i, entry := range entries {
			results[i] = f.putBack(ctx, entry)
		}
		return results
	}
	// They are folded without a claim: one script claims and publishes them. If anything fails
	// before that, a claim repeats it.
	f.bring(ctx, jobs, f.createLater, func(i int, w *work) {
		if ctx.Err() != nil {
			results[i] = f.putBack(ctx, entries[i])
		} else {
			results[i] = f.claim(ctx, entries[i], w.result)
		}
	})
	each(jobs, func(i int, w *work) {
		if w.Claimed() {
			results[i] = step.Conclude(ctx, claims{FanIn: f}, w, w.result)
		}
	})
	return results
}

// claim claims a job and takes it to its next stage or to its end; failed is the result of an earlier
// try without a claim.
func (f *FanIn) claim(ctx context.Context, entry step.Entry, failed step.Result) step.Result {
	return step.Single(ctx, claims{f, failed}, entry, f.Limits.Lease, &f.leases)
}

// open reads the states and data of small jobs. Those that need a claim have the result Elsewhere.
func (f *FanIn) open(ctx context.Context, entries []step.Entry) ([]*work, error) {
	small := make([]scripts.Small, len(entries))
	for i, entry := range entries {
		small[i] = entry.Content.(scripts.Small)
	}
	folds, err := step.Insist(ctx, f.Log, "read jobs", func() ([]*scripts.Fold, error) {
		return f.Scripts.Folds.Open(ctx, small)
	})
	if err != nil {
		return nil, err
	}
	jobs := make([]*work, len(entries))
	processors.Small()
	for i, fold := range folds {
		jobs[i] = &work{Fold: fold, result: step.Result{Kind: step.Elsewhere}}
		if fold != nil && f.definitions[fold.Definition] != nil {
			jobs[i] = &work{Fold: fold, report: f.definitions[fold.Definition]}
		}
	}
	return jobs, nil
}

// putBack leaves an untouched job to another process.
func (f *FanIn) putBack(ctx context.Context, entry step.Entry) step.Result {
	ctx, cancel := step.Lasting(ctx)
	defer cancel()
	if err := step.Ensure(ctx, f.Log, "put job back", func() error {
		return f.Scripts.Streams.MoveToEnd(ctx, entry.Entry)
	}); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{Kind: step.Moved}
}

// each calls do for all jobs concurrently: some wait for the sink, and updates of records share
// statements. A goroutine whose job did not wait does the next one, because its stack has already
// grown. Otherwise its successor does, which begins as soon as this one waits.
func each(jobs []*work, do func(i int, w *work)) {
	var all sync.WaitGroup
	var begun atomic.Int64
	var some func()
	some = func() {
		i := int(begun.Add(1)) - 1
		if i+1 < len(jobs) {
			all.Go(some)
		}
		for ; i < len(jobs); i = int(begun.Add(1)) - 1 {
			do(i, jobs[i])
		}
	}
	some()
	all.Wait()
}
