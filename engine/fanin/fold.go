package fanin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/step"
	"github.com/fanfold/fanfold/trace"
)

// file is a file that is written but not committed.
type file struct {
	writer sink.Writer
	format.Made
	matches []fold.Match
	steps   []fold.Step
	columns []dataset.Column
	of      *report.Report // with the columns that the job chose
}

// errEmpty fails a job without rows.
var errEmpty = errors.New("the result has no rows (file.empty: fail): change the parameters")

// empty applies the policy for a file without rows.
func (f *file) empty(policy report.Empty) error {
	switch policy {
	case report.EmptyFail:
		return errEmpty
	case report.EmptySkip:
		f.writer.Abort()
		f.writer = noFile{}
	}
	return nil
}

// noFile is the writer of a file that is not made.
type noFile struct{}

func (noFile) Write(p []byte) (int, error)     { return len(p), nil }
func (noFile) Commit() (sink.Committed, error) { return sink.Committed{}, nil }
func (noFile) Abort()                          {}

// skipped reports whether no file is made.
func (f file) skipped() bool { return f.writer == noFile{} }

func (f file) abort() {
	if f.writer != nil {
		f.writer.Abort()
	}
}

// create begins the object of a job's file: Files.Create, or createLater.
type create func(ctx context.Context, r *report.Report, state *job.State) (sink.Writer, error)

// make writes the file of a job into a new object that is not committed yet. Its error is a
// step.Failure.
func (f *finisher) make(ctx context.Context, w *work, begin create) (made file, err error) {
	ctx, span := f.Trace.Start(ctx, trace.Fold, traced(w.State))
	defer func() {
		span.Number(trace.Rows, made.Rows)
		endSpan(span, err)
	}()
	if !json.Valid(w.Parameters) { // the manifest contains them
		return file{}, broken(errors.New(
			"the field parameters of the job's state in Redis is not JSON: another program overwrote it"))
	}
	if made.of, err = report.Chosen(w.report, w.Parameters); err != nil {
		return file{}, broken(err)
	}
	r := made.of.Without(slices.Collect(maps.Keys(w.Omitted())))
	sets, err := f.datasets(ctx, w)
	if err != nil {
		return file{}, broken(err)
	}
	plans := &fold.Plans{}
	if r == w.report {
		plans = &f.folds[r].plans
	}
	plan, err := Plan(plans, r, sets, w.Parameters)
	if err != nil {
		return file{}, broken(fmt.Errorf("make file: %w", err))
	}
	defer plans.Put(plan)
	made.columns = plan.Columns()
	if made.writer, err = begin(ctx, r, w.State); err != nil {
		return file{}, err
	}
	budget := fold.Budget{
		Bytes: f.Limits.FoldMemory, Scratch: func() (fold.Scratch, error) { return files.NewScratch(ctx) },
	}
	out, err := f.files.Begin(r, w.State, plan.Columns(), made.writer)
	if err == nil {
		made.Made, made.matches, err = Write(ctx, plan, out, budget)
		made.steps = plan.Steps()
	}
	if err == nil && made.Rows == 0 {
		err = made.empty(r.File.Empty)
	}
	if err != nil {
		made.writer.Abort()
		return file{}, broken(fmt.Errorf("make file: %w", err))
	}
	return made, nil
}

// Plan returns a plan of a report's fold. parameters are those of the job's state: see report.Canonical.
func Plan(
	plans *fold.Plans, r *report.Report, sets map[string]fold.Dataset, parameters []byte,
) (*fold.Plan, error) {
	if r.Fold == "" {
		return plans.Get(r, sets, nil) // a join has no parameters
	}
	values, err := r.Decode(parameters)
	if err != nil {
		return nil, err
	}
	return plans.Get(r, sets, values)
}

// Write writes the rows of a plan into a file that was begun for its columns, and closes the file.
func Write(
	ctx context.Context, plan *fold.Plan, out *format.File, budget fold.Budget,
) (format.Made, []fold.Match, error) {
	defer out.Abort()
	matches, err := plan.Fold(ctx, out, budget)
	if cause := context.Cause(ctx); err != nil && errors.Is(err, cause) {
		return format.Made{}, nil, &step.Failure{Result: resultOf(cause)} // it is not the report's fault
	}
	if err != nil {
		return format.Made{}, nil, err
	}
	made, err := out.Close()
	return made, matches, err
}

// createLater is a create that buffers the text until the commit: an open object may hold megabytes,
// and a batch has many.
func (f *finisher) createLater(ctx context.Context, r *report.Report, state *job.State) (sink.Writer, error) {
	return &laterWriter{begin: func() (sink.Writer, error) { return f.files.Create(ctx, r, state) }}, nil
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
