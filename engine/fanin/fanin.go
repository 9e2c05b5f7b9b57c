package fanin

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// batch is the maximum number of small jobs in a batch: one round trip reads them, one publishes
// them, and one settles them.
const batch = 64

// FanIn sends jobs to their next stage, or makes their files and ends them.
type FanIn struct {
	*finisher
	definitions map[string]*report.Report // by hash
	known       []string                  // their hashes
	claims      atomic.Int64              // makes worker names unique
	leases      step.Leases               // leases of claimed jobs
	handed      sync.Map                  // definitions of jobs that were handed back; each is logged once
	requeued    *prometheus.CounterVec
}

// New returns a FanIn. It does no I/O.
func New(e *engine.Engine, files *files.Files) *FanIn {
	f := &FanIn{
		finisher:    &finisher{Engine: e, files: files, folds: map[*report.Report]*definition{}},
		definitions: map[string]*report.Report{},
		requeued:    newRequeued(e.Metrics),
	}
	for _, r := range e.Reports {
		hash := r.Hash()
		f.definitions[hash], f.folds[r] = r, &definition{needed: fold.Needed(r)}
		f.known = append(f.known, hash)
	}
	return f
}

// Run reads jobs until ctx ends, and then returns nil. It waits for the end of an outage of Redis.
func (f *FanIn) Run(ctx context.Context) error {
	small := step.Options{
		Redis: f.Redis, Stream: f.Scripts.Keys.FanIn, Scripts: f.Scripts, Consumer: f.Consumer,
		Slots: batch, Batch: true, MinIdle: f.Limits.Lease, Log: f.Log, KeepAlive: true,
		Patience: f.Limits.ShutdownTimeout,
		Parse:    parse, Handle: f.handle,
	}
	// At most as many large jobs are read as may be folded at once. They have their own stream, so
	// that no other job waits for them.
	large := small
	large.Stream, large.Slots = f.Scripts.Keys.FanInLarge, f.Limits.LargeFiles
	large.Parse = func(entry step.Entry) (content any, leased bool) {
		content, _ = parse(entry)
		return content, true
	}
	large.Handle = step.Singles(claims{FanIn: f}, f.Limits.Lease, &f.leases)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		step.Listen(ctx, f.Redis, f.Scripts.Keys.Cancelled, f.leases.Hint)
		return nil
	})
	group.Go(func() error { return step.New(small).Run(ctx) })
	group.Go(func() error { return step.New(large).Run(ctx) })
	return group.Wait()
}

// parse returns the job of an entry, a scripts.Small, nil if it is none, and whether the job needs a
// claim: it is large, must end, or this is not its first delivery.
func parse(entry step.Entry) (content any, needsClaim bool) {
	message, ok := entry.Message()
	if !ok {
		return nil, true
	}
	j := scripts.Small{Message: message, Entry: entry.Entry}
	j.Stage, _ = strconv.ParseInt(entry.Fields["stage"], 10, 64) // 0: any
	bytes, _ := strconv.ParseInt(entry.Fields["bytes"], 10, 64)  // 0: unknown
	return j, j.Stage == 0 || bytes == 0 || bytes > scripts.MaxSmall || entry.Deliveries > 1
}
