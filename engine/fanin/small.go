package fanin

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// draft is a small job that is being folded.
type draft struct {
	barrier
	fold   *scripts.Fold
	made   made
	end    ending
	left   bool         // a claim must continue it
	failed error        // why its file could not be made
	result *step.Result // of its entry
}

// foldSmall folds small jobs without a claim: they are folded in memory, and one script claims and
// publishes them. If anything fails before that point, a claim repeats it.
func (e *FanIn) foldSmall(ctx context.Context, drafts []*draft) {
	from := folds{FanIn: e, stream: e.Scripts.Keys.FanIn}
	if err := from.open(ctx, drafts); err != nil {
		for _, d := range drafts { // the process stops
			*d.result = e.putBack(ctx, d.barrier)
		}
		return
	}
	each(drafts, func(d *draft) {
		if d.left {
			return
		}
		if err := e.write(ctx, d); err != nil {
			d.left = true
			if !errors.Is(err, errElsewhere) {
				d.failed = err
			}
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
			*d.result = e.foldAlone(ctx, d.entry, d.failed)
		case d.left:
			*d.result = e.putBack(ctx, d.barrier)
		case d.made.writer != nil:
			*d.result = from.commitSmall(ctx, d)
		}
	})
	e.settleAll(ctx, drafts)
}

// putBack leaves an untouched job to another process.
func (e *FanIn) putBack(ctx context.Context, b barrier) step.Result {
	ctx, cancel := step.Lasting(ctx)
	defer cancel()
	if err := e.Insist(ctx, "put job back", func() error {
		return e.Scripts.Streams.PutBack(ctx, e.Scripts.Keys.FanIn, b.entry.ID, b.entry.Fields)
	}); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{Kind: step.Moved}
}

// open reads the states and data of small jobs.
func (e folds) open(ctx context.Context, drafts []*draft) error {
	jobs := make([]scripts.Small, len(drafts))
	for i, d := range drafts {
		jobs[i] = scripts.Small{Message: d.Message, Stage: d.stage, Entry: e.message(d.barrier)}
	}
	var folds []*scripts.Fold
	err := e.Insist(ctx, "read jobs", func() (err error) {
		folds, err = e.Scripts.Folds.Open(ctx, jobs)
		return err
	})
	for i, f := range folds {
		drafts[i].fold, drafts[i].left = f, f == nil || e.definitions[f.Definition] == nil
	}
	return err
}

// commitSmall makes the file of a small job visible, and updates its record.
func (e folds) commitSmall(ctx context.Context, d *draft) step.Result {
	c := e.newClaimed(d.fold)
	var err error
	d.end, err = e.commit(ctx, c.definition, c.Fold, d.made)
	return step.Conclude(ctx, e, c, resultOf(err, c)) // ended jobs are settled together
}

// each calls f for all drafts concurrently: some wait for the sink, and updates of records share
// statements.
func each(drafts []*draft, f func(*draft)) {
	var all sync.WaitGroup
	for _, d := range drafts {
		all.Go(func() { f(d) })
	}
	all.Wait()
}

// write makes the file of a draft, or sends it to its next stage.
func (e *FanIn) write(ctx context.Context, d *draft) (err error) {
	r := e.definitions[d.fold.Definition]
	if int(d.fold.Stage) < len(r.Stages) {
		return e.advance(ctx, r, d.fold)
	}
	d.made, err = e.make(ctx, r, d.fold, e.createLater)
	return err
}

// createLater is a create that buffers the text until the commit: an open object may hold
// megabytes, and a batch has many.
func (e *FanIn) createLater(ctx context.Context, r *report.Report, state *job.State) (sink.Writer, error) {
	return &laterWriter{begin: func() (sink.Writer, error) { return e.files.Create(ctx, r, state) }}, nil
}

type laterWriter struct {
	bytes.Buffer
	begin func() (sink.Writer, error)
}

var _ sink.Writer = (*laterWriter)(nil)

func (w *laterWriter) Commit() (sink.Committed, error) {
	object, err := w.begin()
	if err != nil {
		return sink.Committed{}, err
	}
	defer object.Abort()
	if _, err := object.Write(w.Bytes()); err != nil {
		return sink.Committed{}, err
	}
	return object.Commit()
}

func (w *laterWriter) Abort() {}

// publish publishes the drafts that have a file: from then on timeout and cancel lose.
func (e *FanIn) publish(ctx context.Context, drafts []*draft) {
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
	err := e.Insist(ctx, "publish jobs", func() (err error) {
		outcomes, err = e.Scripts.Folds.Publish(ctx, folds...)
		return err
	})
	for i, d := range of {
		if err != nil || outcomes[i] != scripts.OK {
			d.left = true
			d.made.abort()
		}
	}
}

// settleAll settles the drafts that have reached their end.
func (e *FanIn) settleAll(ctx context.Context, drafts []*draft) {
	var ends []scripts.End
	var settled []*draft
	for _, d := range drafts {
		if d.end.status != "" {
			settled, ends = append(settled, d), append(ends, scripts.End{Fold: d.fold, Status: d.end.status, Detail: d.end.detail, Tell: e.Notifies(d.fold.Report)})
		}
	}
	if len(ends) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	var outcomes []scripts.Outcome
	if err := e.Insist(ctx, "settle jobs", func() (err error) {
		outcomes, err = e.Scripts.Folds.Settle(ctx, ends...)
		return err
	}); err != nil {
		e.Log.Warn("could not settle jobs; another worker will", "jobs", len(ends), "first", ends[0].ID, "err", err)
	}
	ended := map[string][]string{} // by report
	defer func() { e.GivePlaces(ctx, ended) }()
	for i, d := range settled {
		switch {
		case outcomes == nil || outcomes[i] == scripts.Busy:
			*d.result = step.Result{Kind: step.Elsewhere}
		case outcomes[i] == scripts.OK:
			ended[d.fold.Report] = append(ended[d.fold.Report], d.fold.ID)
			e.count(d.fold.State, d.end)
		}
	}
}
