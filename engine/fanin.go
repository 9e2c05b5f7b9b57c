package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/fanfold/fanfold/internal/stream"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// fanInBatch is how many small jobs are folded as one batch: one round trip reads them, one
// takes them over the point of no return, and one ends them.
const fanInBatch = 64

// barrier is an entry of the fan-in stream: a job whose barrier was reached, or that is to
// end.
type barrier struct {
	scripts.Message
	stage  int64 // 0: any
	bytes  int64 // of the job's data; 0: not known
	silent bool  // it was delivered before
	entry  stream.Entry
}

func parseBarrier(entry stream.Entry) (b barrier, ok bool) {
	b = barrier{entry: entry, silent: entry.Deliveries > 1}
	b.Message, ok = scripts.ParseMessage(entry.Fields)
	b.stage, _ = strconv.ParseInt(entry.Fields["stage"], 10, 64)
	b.bytes, _ = strconv.ParseInt(entry.Fields["bytes"], 10, 64)
	return b, ok
}

// small tells whether the job can be folded in a batch, without a claim.
func (b barrier) small() bool {
	return b.stage > 0 && b.bytes > 0 && b.bytes <= scripts.MaxSmall && !b.silent
}

// alone tells whether an entry is handled by itself.
func alone(entry stream.Entry) bool {
	b, ok := parseBarrier(entry)
	return !ok || !b.small()
}

func (e *Engine) message(b barrier) scripts.Entry {
	return scripts.Entry{Stream: e.o.Scripts.FanIn(), Group: scripts.Group, Consumer: e.o.Consumer, ID: b.entry.ID}
}

// fanIn handles entries of the fan-in stream: small ones together, others one at a time.
func (e *Engine) fanIn(ctx context.Context, entries []stream.Entry) {
	var small []barrier
	for _, entry := range entries {
		b, ok := parseBarrier(entry)
		switch {
		case !ok:
			e.quarantine(ctx, e.o.Scripts.FanIn(), entry, "not a job: id and attempt are needed")
		case b.small():
			small = append(small, b)
		default:
			e.foldAlone(ctx, b)
		}
	}
	if len(small) > 0 {
		e.foldSmall(ctx, small)
	}
}

// foldAlone claims a job and brings it on. While as many as limits.folds are under way
// here, it is left to another process.
func (e *Engine) foldAlone(ctx context.Context, b barrier) {
	select {
	case e.folds <- struct{}{}:
		defer func() { <-e.folds }()
	default:
		if !b.silent {
			e.putBack(ctx, b)
			return
		}
		select {
		case e.folds <- struct{}{}:
			defer func() { <-e.folds }()
		case <-ctx.Done():
			return
		}
	}
	if err := e.claim(ctx, b); err != nil && ctx.Err() == nil && !errors.Is(err, errElsewhere) {
		e.log.Warn("left for later", "job", b.ID, "attempt", b.Attempt, "err", err)
	}
}

// putBack leaves a job that nothing was done for to another process.
func (e *Engine) putBack(ctx context.Context, b barrier) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if err := e.insist(ctx, "put job back", func() error {
		return e.o.Scripts.PutBack(ctx, e.o.Scripts.FanIn(), b.entry.ID, b.entry.Fields)
	}); err != nil {
		e.log.Warn("left for later", "job", b.ID, "err", err)
	}
}

// claim claims a job and brings it on.
func (e *Engine) claim(ctx context.Context, b barrier) error {
	var outcome scripts.Outcome
	var f *scripts.Fold
	worker := e.o.Consumer + "/" + strconv.FormatInt(e.claims.Add(1), 10)
	if err := e.insist(ctx, "claim job", func() (err error) {
		outcome, f, err = e.o.Scripts.Claim(ctx, scripts.Claim{
			Message: b.Message, Stage: b.stage, Worker: worker, Known: e.known, Silent: b.silent, Entry: e.message(b),
		})
		return err
	}); err != nil {
		if errors.Is(err, scripts.ErrBroken) {
			e.quarantine(ctx, e.o.Scripts.FanIn(), b.entry, err.Error())
			return nil
		}
		return err
	}
	switch outcome {
	case scripts.OK, scripts.ToFail:
		held, stop := e.holds.Keep(ctx, b.ID, e.o.Limits.Lease, func(ctx context.Context) (bool, error) {
			kept, err := f.Keep(ctx)
			return kept == scripts.OK, err
		})
		defer stop()
		bring := e.forward
		if outcome == scripts.ToFail {
			bring = e.finishFailed
		}
		return e.end(held, f, bring)
	case scripts.Unknown:
		return e.handBack(ctx, b)
	case scripts.Busy:
		return errElsewhere // its worker may die: the entry is delivered again
	case scripts.Gone:
		if report := b.entry.Fields["report"]; report != "" {
			e.ended.note(report, b.ID, b.Attempt) // cancelled without a job
		}
	}
	e.ack(ctx, e.o.Scripts.FanIn(), b.entry.ID)
	return nil
}

// end brings a claimed job on. It ends the job if that brought it to its end, and gives it
// up for a while if it failed.
func (e *Engine) end(ctx context.Context, f *scripts.Fold, bring func(context.Context, *scripts.Fold) (ending, error)) error {
	end, err := bring(ctx, f)
	switch {
	case err == nil && end.status == "":
		return nil
	case err == nil:
		err = e.settle(ctx, f, end)
	}
	if err == nil || errors.Is(err, errElsewhere) || errors.Is(context.Cause(ctx), stream.ErrLost) {
		return err
	}
	return e.giveUp(ctx, f, err)
}

// handBack leaves a job to a process that has its definition. One that was
// published and whose record is final needs none: it is ended here, since the
// process that made its file may have been the last of its version.
func (e *Engine) handBack(ctx context.Context, b barrier) error {
	state, err := e.o.Scripts.Read(ctx, b.ID)
	if err == nil && state.Attempt == b.Attempt && state.Status == scripts.StatusPublishing {
		f, err := e.foreign(ctx, state)
		if err != nil {
			return err
		}
		if !f.running {
			_, claimed, err := e.o.Scripts.Claim(ctx, scripts.Claim{
				Message: b.Message, Worker: e.o.Consumer, Known: []string{state.Definition}, Silent: b.silent, Entry: e.message(b),
			})
			if err != nil || claimed == nil {
				return errors.Join(errElsewhere, err)
			}
			return e.end(ctx, claimed, func(ctx context.Context, f *scripts.Fold) (ending, error) { return e.finishForeign(ctx, f, true) })
		}
	}
	if state != nil {
		if _, said := e.handed.LoadOrStore(state.Definition, true); !said {
			e.log.Info("jobs are handed back: their definition is not in this configuration", "report", state.Report, "definition", state.Definition, "first", b.ID)
		}
	}
	return e.insist(ctx, "hand back", func() error { return e.o.Scripts.HandBackFold(ctx, b.Message, e.message(b)) })
}

// errElsewhere ends work on a job that is not, or no longer, this claim's.
var errElsewhere = errors.New("engine: the job is claimed elsewhere")

// finally runs the last script for an entry, which acknowledges it. If another
// claim has the job, it is errElsewhere: that worker has the same entry, and may die.
func (e *Engine) finally(ctx context.Context, what string, script func() (scripts.Outcome, error)) error {
	var outcome scripts.Outcome
	err := e.insist(ctx, what, func() (err error) {
		if outcome, err = script(); errors.Is(err, scripts.ErrFull) {
			// Waiting here would keep others from ending, who make room.
			return stream.Final(err)
		}
		return err
	})
	if err == nil && outcome == scripts.Busy {
		return errElsewhere
	}
	return err
}

// forward sends a claimed job into its next stage, or makes its file.
func (e *Engine) forward(ctx context.Context, f *scripts.Fold) (ending, error) {
	r := e.definitions[f.Definition]
	if f.Status != scripts.StatusPublishing && f.Fold.Tries > int64(r.Retry.Retries)+1 {
		// None of its workers lived to say why.
		return e.fail(ctx, f, fmt.Sprintf("fan-in: given up after %d tries: %s", f.Fold.Tries-1, f.Fold.Error), scripts.BlameSink, false)
	}
	if int(f.Stage) >= len(r.Stages) {
		return e.fold(ctx, r, f)
	}
	return ending{}, e.finally(ctx, "advance job", func() (scripts.Outcome, error) {
		return f.Advance(ctx, names(r.Stages[f.Stage]))
	})
}

// draft is a small job on its way.
type draft struct {
	barrier
	fold *scripts.Fold
	made made
	end  ending
	left bool // it is brought on by a claim, which knows what to do with it
}

// foldSmall brings on small jobs without a claim: they are folded in memory, and one script
// claims and publishes them. What goes wrong before that point, a claim repeats.
func (e *Engine) foldSmall(ctx context.Context, barriers []barrier) {
	jobs := make([]scripts.Small, len(barriers))
	for i, b := range barriers {
		jobs[i] = scripts.Small{Message: b.Message, Stage: b.stage, Entry: e.message(b)}
	}
	var folds []*scripts.Fold
	if err := e.insist(ctx, "read jobs", func() (err error) {
		folds, err = e.o.Scripts.Open(ctx, jobs)
		return err
	}); err != nil {
		return
	}
	drafts := make([]*draft, len(barriers))
	for i, b := range barriers {
		drafts[i] = &draft{barrier: b, fold: folds[i], left: folds[i] == nil || e.definitions[folds[i].Definition] == nil}
	}
	each(drafts, func(d *draft) {
		if !d.left {
			d.left = e.write(ctx, d) != nil
		}
	})
	defer func() {
		for _, d := range drafts {
			d.made.abort()
		}
	}()
	e.publish(ctx, drafts)
	each(drafts, func(d *draft) {
		switch {
		case d.left && ctx.Err() == nil:
			e.foldAlone(ctx, d.barrier)
		case d.left:
			e.putBack(ctx, d.barrier)
		case d.made.writer != nil && !d.left:
			err := e.end(ctx, d.fold, func(ctx context.Context, f *scripts.Fold) (end ending, err error) {
				d.end, err = e.commit(ctx, e.definitions[f.Definition], f, d.made)
				return ending{}, err // all that have ended are settled together
			})
			if err != nil && ctx.Err() == nil && !errors.Is(err, errElsewhere) {
				e.log.Warn("left for later", "job", d.ID, "attempt", d.Attempt, "err", err)
			}
		}
	})
	e.settleAll(ctx, drafts)
}

// each calls f for every draft, some at once.
func each(drafts []*draft, f func(*draft)) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range min(foldsAtOnce, len(drafts)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(drafts)); i = next.Add(1) - 1 {
				f(drafts[i])
			}
		})
	}
	all.Wait()
}

// foldsAtOnce is how many files of a batch are written at once: some wait for the sink.
const foldsAtOnce = 16

// write makes the file of a draft, or sends it into its next stage.
func (e *Engine) write(ctx context.Context, d *draft) (err error) {
	r := e.definitions[d.fold.Definition]
	if int(d.fold.Stage) < len(r.Stages) {
		var outcome scripts.Outcome
		err = e.insist(ctx, "advance job", func() (err error) {
			outcome, err = d.fold.Advance(ctx, names(r.Stages[d.fold.Stage]))
			return err
		})
		if err == nil && outcome == scripts.Busy {
			err = errElsewhere
		}
		return err
	}
	d.made, err = e.make(ctx, r, d.fold)
	return err
}

// publish takes the drafts that have a file over the point of no return.
func (e *Engine) publish(ctx context.Context, drafts []*draft) {
	var folds []*scripts.Fold
	var of []*draft
	for _, d := range drafts {
		if d.made.writer != nil {
			folds, of = append(folds, d.fold), append(of, d)
		}
	}
	if len(folds) == 0 {
		return
	}
	var outcomes []scripts.Outcome
	err := e.insist(ctx, "publish jobs", func() (err error) {
		outcomes, err = e.o.Scripts.Publish(ctx, folds...)
		return err
	})
	for i, d := range of {
		if err != nil || outcomes[i] != scripts.OK {
			d.left = true
			d.made.abort()
		}
	}
}

// settleAll ends the drafts that have come to their end.
func (e *Engine) settleAll(ctx context.Context, drafts []*draft) {
	var ends []scripts.End
	for _, d := range drafts {
		if d.end.status != "" {
			ends = append(ends, scripts.End{Fold: d.fold, Status: d.end.status, Detail: d.end.detail})
		}
	}
	if len(ends) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	var outcomes []scripts.Outcome
	if err := e.insist(ctx, "settle jobs", func() (err error) {
		outcomes, err = e.o.Scripts.Settle(ctx, ends...)
		return err
	}); err != nil {
		e.log.Warn("left for later", "jobs", len(ends), "first", ends[0].ID, "err", err)
		return
	}
	for i, end := range ends {
		if outcomes[i] == scripts.OK {
			e.jobs.finished.WithLabelValues(end.Report, end.Status).Inc()
		}
	}
}

// names are those of a stage's listeners.
func names(s report.Stage) []string {
	var names []string
	for _, l := range s.Listeners {
		names = append(names, l.Name)
	}
	return names
}
