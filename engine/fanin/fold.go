package fanin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/internal/trace"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// ending is the outcome of a job; without a status the job continues.
type ending struct {
	status string // a final status of the record, DELETED or SUPERSEDED
	detail string // the file or the reason
}

// made is a file that is written but not committed.
type made struct {
	writer sink.Writer
	format.Made
	matches []fold.Match
}

func (m made) abort() {
	if m.writer != nil {
		m.writer.Abort()
	}
}

// fold makes the file of a claimed job and gives the record its final status. All of it may be
// repeated after a crash: the chunks are the same, so the file is the same, and an object that
// already exists is adopted.
func (e *FanIn) fold(ctx context.Context, r *report.Report, f *scripts.Fold) (ending, error) {
	if f.Status == job.StatusPublishing { // by an earlier claim
		// Usually the records were unavailable, and still are: check them before making the file.
		found, err := e.foreign(ctx, f.State)
		if err != nil {
			return ending{}, err
		}
		if !found.running {
			return e.finishForeign(ctx, f, true)
		}
	}
	m, err := e.make(ctx, r, f, e.files.Create)
	defer m.abort()
	if err != nil {
		return ending{}, err // a published file may exist: it must be found or made
	}

	var outcomes []scripts.Outcome
	if err := e.Insist(ctx, "publish job", func() (err error) {
		outcomes, err = e.Scripts.Folds.Publish(ctx, f)
		return err
	}); err != nil {
		return ending{}, err
	}
	switch outcomes[0] {
	case scripts.Late:
		return e.fail(ctx, f, "the deadline passed while the file was being made", job.BlameReport, false)
	case scripts.OK:
		return e.commit(ctx, r, f, m)
	}
	return ending{}, errElsewhere
}

// commit makes the file of a published job visible and gives the record its final status.
func (e *FanIn) commit(ctx context.Context, r *report.Report, f *scripts.Fold, m made) (ending, error) {
	_, span := e.Trace.Start(ctx, trace.Upload, traced(f.State))
	committed, err := m.writer.Commit()
	span.Number(trace.Bytes, committed.Bytes)
	endSpan(span, err)
	if errors.Is(err, sink.ErrConflict) {
		// The existing file is not ours.
		return e.fail(ctx, f, engine.Reason(ofSink(err))+". fanfold retry "+f.ID+" makes the file under another name. The existing file is then deleted, or by the daily sweep: move it first if it is yours", job.BlameSink, false)
	}
	if err != nil {
		return ending{}, ofSink(err)
	}
	// Even if the job was lost or the process is stopping: make the record point to the file, or
	// remove it.
	ctx, cancel := step.Lasting(ctx)
	defer cancel()
	return e.succeed(ctx, r, f, m, committed)
}

// create begins the object of a job's file.
type create func(ctx context.Context, r *report.Report, state *job.State) (sink.Writer, error)

// make writes the file into a new object that is not committed yet. An error that every try would
// repeat is a brokenError.
func (e *FanIn) make(ctx context.Context, whole *report.Report, f *scripts.Fold, begin create) (made, error) {
	m, err := e.tryMake(ctx, whole, f, begin)
	switch {
	case err == nil, errors.Is(err, errOutage), errors.Is(err, errSink), errors.Is(err, files.ErrScratch):
		return m, err
	case ctx.Err() != nil:
		return m, context.Cause(ctx)
	}
	return m, brokenError{err}
}

func (e *FanIn) tryMake(ctx context.Context, whole *report.Report, f *scripts.Fold, begin create) (m made, err error) {
	ctx, span := e.Trace.Start(ctx, trace.Fold, traced(f.State))
	defer func() {
		span.Number(trace.Rows, m.Rows)
		endSpan(span, err)
	}()
	if !json.Valid(f.Parameters) { // the manifest contains them
		return made{}, errors.New("the field parameters of the job's state in Redis is not JSON: another program overwrote it")
	}
	r := whole.Without(slices.Collect(maps.Keys(f.Omitted())))
	sets, err := e.datasets(ctx, r, f)
	if err != nil {
		return made{}, err
	}
	plan, err := fold.NewPlan(r, sets)
	if err != nil {
		return made{}, fmt.Errorf("make file: %w", err)
	}
	if m.writer, err = begin(ctx, r, f.State); err != nil {
		return made{}, ofSink(err)
	}
	if m.Made, m.matches, err = e.writeRows(ctx, r, plan, m.writer); err != nil {
		m.writer.Abort()
		if found, ok := errors.AsType[*sinkError](err); ok {
			return made{}, found // its text is complete
		}
		return made{}, fmt.Errorf("make file: %w", err)
	}
	return m, nil
}

// writeRows writes the rows of a plan.
func (e *FanIn) writeRows(ctx context.Context, r *report.Report, plan *fold.Plan, w sink.Writer) (format.Made, []fold.Match, error) {
	file, err := format.NewCSV(&r.CSV, plan.Columns(), sinkWriter{w})
	if err != nil {
		return format.Made{}, nil, err
	}
	defer file.Abort()
	matches, err := plan.Fold(file, fold.Budget{
		Bytes: e.Limits.FoldBytes, Scratch: func() (fold.Scratch, error) { return files.NewScratch(ctx) },
	})
	if err != nil {
		return format.Made{}, nil, err
	}
	made, err := file.Close()
	return made, matches, err
}

// errSink matches an error of the sink.
var errSink = errors.New("sink")

// sinkError is an error of the sink. Its text, from the sink, says what failed and what to do.
type sinkError struct{ err error }

// ofSink marks an error of the sink; nil stays nil.
func ofSink(err error) error {
	if err == nil {
		return nil
	}
	return &sinkError{err}
}

func (s *sinkError) Error() string        { return "sink: " + strings.TrimPrefix(s.err.Error(), "sink: ") }
func (s *sinkError) Unwrap() error        { return s.err }
func (s *sinkError) Is(target error) bool { return target == errSink }

// sinkWriter marks errors of the sink.
type sinkWriter struct{ io.Writer }

func (w sinkWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	return n, ofSink(err)
}

// succeed gives the record the committed file. Then it removes the files of earlier attempts.
func (e *FanIn) succeed(ctx context.Context, r *report.Report, f *scripts.Fold, made made, committed sink.Committed) (ending, error) {
	state := f.State
	file := e.files.URL(r, state)
	if err := e.writeManifest(ctx, r, state, made, committed); err != nil {
		return ending{}, err
	}
	var ok bool
	status, run, omitted := report.Success, engine.Run{ID: state.ID, Attempt: state.Attempt}, state.Omitted()
	if len(omitted) > 0 {
		status = report.Partial
	}
	if err := e.onRecord(ctx, state, "finish record", func() (err error) {
		if status == report.Partial {
			ok, err = e.Records.SucceedPartly(ctx, run, file, made.Rows, withoutThese(omitted))
		} else {
			ok, err = e.Records.Succeed(ctx, run, file, made.Rows)
		}
		return err
	}); errors.Is(err, engine.ErrRefused) {
		return e.fail(ctx, f, engine.Reason(err), job.BlameRecords, true)
	} else if err != nil {
		return ending{}, err
	}
	if !ok {
		return e.finishForeign(ctx, f, true)
	}
	e.files.SweepAttempts(ctx, state, state.Attempt)
	e.Log.Info("job finished", "job", state.ID, "attempt", state.Attempt, "report", state.Report, "status", status, "rows", made.Rows, "bytes", committed.Bytes)
	return ending{string(status), file}, nil
}

// withoutThese says which listeners a job omitted, and why.
func withoutThese(omitted map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(omitted)) {
		all = append(all, "without listener "+name+": "+omitted[name])
	}
	return strings.Join(all, "; ")
}

// fail fails a claimed job and ends it. With remove, its file may exist and is deleted. Nothing is
// deleted before the record has accepted the failure: a worker that lost its claim without noticing
// must not touch the file of the one that succeeded.
func (e *FanIn) fail(ctx context.Context, f *scripts.Fold, reason string, blame job.Blame, remove bool) (ending, error) {
	var outcome scripts.Outcome
	if err := e.Insist(ctx, "fail job", func() (err error) {
		outcome, err = f.Fail(ctx, reason, blame, remove)
		return err
	}); err != nil {
		return ending{}, err
	}
	switch outcome {
	case scripts.OK, scripts.Already:
		f.Reason, f.Remove = reason, remove
		return e.finishFailed(ctx, f)
	}
	return ending{}, errElsewhere
}
