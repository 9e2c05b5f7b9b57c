package fanin

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// fanInBatch is the maximum number of small jobs in a batch: one round trip reads them, one
// publishes them, and one settles them.
const fanInBatch = 64

// FanIn sends jobs to their next stage, or makes their files and ends them.
type FanIn struct {
	*engine.Engine
	files       *files.Files
	definitions map[string]*report.Report // by hash
	known       []string                  // their hashes
	claims      atomic.Int64              // makes worker names unique
	columns     columns
	leases      step.Leases // leases of claimed jobs
	handed      sync.Map    // definitions of jobs that were handed back; each is logged once
	requeued    *prometheus.CounterVec
}

// New returns a FanIn. It does no I/O.
func New(e *engine.Engine, f *files.Files) *FanIn {
	fanIn := &FanIn{Engine: e, files: f, definitions: map[string]*report.Report{}, requeued: newRequeued(e.Metrics)}
	for _, r := range e.Reports {
		hash := r.Hash()
		fanIn.definitions[hash] = r
		fanIn.known = append(fanIn.known, hash)
	}
	return fanIn
}

// Run reads jobs until ctx ends, and then returns nil. It waits for the end of an outage of Redis.
func (e *FanIn) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		step.Listen(ctx, e.Redis, e.Scripts.Keys.Cancelled, e.leases.Hint)
		return nil
	})
	group.Go(func() error { return e.reader().Run(ctx) })
	group.Go(func() error { return e.largeReader().Run(ctx) })
	return group.Wait()
}

func (e *FanIn) reader() *step.Reader {
	return step.New(step.Options{
		Redis: e.Redis, Stream: e.Scripts.Keys.FanIn, Scripts: e.Scripts, Consumer: e.Consumer,
		Slots: fanInBatch, Batch: true, Alone: alone, MinIdle: e.Limits.Lease, Log: e.Log,
		Handle: e.fanIn, KeepAlive: true,
		Patience: e.Limits.Stop,
	})
}

// largeReader reads at most as many large jobs as may be folded at once. They have their own
// stream, so that no other job waits for them.
func (e *FanIn) largeReader() *step.Reader {
	large := folds{FanIn: e, stream: e.Scripts.Keys.FanInLarge}
	return step.New(step.Options{
		Redis: e.Redis, Stream: large.stream, Scripts: e.Scripts, Consumer: e.Consumer,
		Slots: e.Limits.Folds, Batch: true, Alone: func(step.Entry) bool { return true }, MinIdle: e.Limits.Lease, Log: e.Log,
		Handle:   step.Singles(large, e.Limits.Lease, &e.leases),
		Patience: e.Limits.Stop,
	})
}

// barrier is an entry of the fan-in stream: a job whose barrier was reached, or that must end.
type barrier struct {
	scripts.Message
	stage  int64 // 0: any
	bytes  int64 // size of the job's data; 0: unknown
	silent bool  // it was delivered before, so its worker fell silent
	entry  step.Entry
}

func parseBarrier(entry step.Entry) (b barrier, ok bool) {
	b = barrier{entry: entry, silent: entry.Deliveries > 1}
	b.Message, ok = scripts.ParseMessage(entry.Fields)
	b.stage, _ = strconv.ParseInt(entry.Fields["stage"], 10, 64)
	b.bytes, _ = strconv.ParseInt(entry.Fields["bytes"], 10, 64)
	return b, ok
}

// needsClaim tells whether a job must not be folded in a batch, because it is large or this is not
// its first delivery.
func (b barrier) needsClaim() bool {
	return b.stage == 0 || b.bytes == 0 || b.bytes > scripts.MaxSmall || b.silent
}

// alone tells whether an entry gets its own call.
func alone(entry step.Entry) bool {
	b, ok := parseBarrier(entry)
	return !ok || b.needsClaim()
}

// fanIn handles entries of the fan-in stream: small ones together, others one at a time.
func (e *FanIn) fanIn(ctx context.Context, entries []step.Entry) []step.Result {
	results := make([]step.Result, len(entries))
	var small []*draft
	for i, entry := range entries {
		if b, ok := parseBarrier(entry); ok && !b.needsClaim() {
			small = append(small, &draft{barrier: b, result: &results[i]})
		} else {
			results[i] = e.foldAlone(ctx, entry, nil)
		}
	}
	if len(small) > 0 {
		e.foldSmall(ctx, small)
	}
	return results
}

// foldAlone claims a job and takes it to its next stage or to its end; failed is the error of an
// earlier try without a claim.
func (e *FanIn) foldAlone(ctx context.Context, entry step.Entry, failed error) step.Result {
	return step.Single(ctx, folds{e, e.Scripts.Keys.FanIn, failed}, entry, e.Limits.Lease, &e.leases)
}

// handBack leaves a job to a process that has its definition. A published job whose record is final
// needs no definition: it is ended here, because the process that made its file may have been the
// last with that version.
func (e folds) handBack(ctx context.Context, b barrier) step.Result {
	state, err := e.Scripts.Jobs.Read(ctx, b.ID)
	if err == nil && state.Attempt == b.Attempt && state.Status == job.StatusPublishing {
		f, err := e.foreign(ctx, state)
		if err != nil {
			return step.Result{Kind: step.Elsewhere, Err: err}
		}
		if !f.running {
			_, fold, err := e.Scripts.Folds.Claim(ctx, scripts.Claim{
				Message: b.Message, Worker: e.Consumer, Known: []string{state.Definition}, Silent: b.silent, Entry: e.message(b),
			})
			if err != nil || fold == nil {
				return step.Result{Kind: step.Elsewhere, Err: err}
			}
			c := e.newClaimed(fold)
			end, err := e.finishForeign(ctx, fold, true)
			result := step.Conclude(ctx, e, c, e.conclude(ctx, c, end, err))
			if result.Kind == step.Done {
				result.Kind = step.Moved
			}
			return result
		}
	}
	if state != nil {
		if _, said := e.handed.LoadOrStore(state.Definition, true); !said {
			e.Log.Info("handing back jobs: their definition is not in this configuration", "report", state.Report, "definition", state.Definition, "first", b.ID)
		}
	}
	if err := e.Insist(ctx, "hand back", func() error { return e.Scripts.Folds.HandBack(ctx, b.Message, e.message(b)) }); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{Kind: step.Moved}
}

// errElsewhere ends work on a job that this claim does not own, or no longer owns.
var errElsewhere = errors.New("engine: the job is claimed elsewhere")

// finally runs the last script of an entry, which acknowledges it. It returns errElsewhere if
// another claim owns the job: that worker has the same entry, and may die.
func (e *FanIn) finally(ctx context.Context, what string, script func() (scripts.Outcome, error)) error {
	var outcome scripts.Outcome
	err := e.Insist(ctx, what, func() (err error) {
		if outcome, err = script(); errors.Is(err, scripts.ErrFull) {
			// Waiting would block the jobs that free memory when they end.
			return step.Final(err)
		}
		return err
	})
	if err == nil && outcome == scripts.Busy {
		return errElsewhere
	}
	return err
}

// forward sends a claimed job to its next stage, or makes its file.
func (e *FanIn) forward(ctx context.Context, f *scripts.Fold) (ending, error) {
	r := e.definitions[f.Definition]
	if int(f.Stage) >= len(r.Stages) {
		return e.fold(ctx, r, f)
	}
	return ending{}, e.advance(ctx, r, f)
}

// advance sends a job to its next stage.
func (e *FanIn) advance(ctx context.Context, r *report.Report, f *scripts.Fold) error {
	return e.finally(ctx, "advance job", func() (scripts.Outcome, error) {
		return f.Advance(ctx, r.Stages[f.Stage].Names())
	})
}
