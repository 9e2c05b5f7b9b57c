package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// fold makes the file of a claimed job and gives the record its final status.
// Everything may run again after a crash: the chunks are the same, so the file
// is the same, and the object that is there already is adopted.
func (e *Engine) fold(ctx context.Context, r *report.Report, state *scripts.State) error {
	published := state.Status == scripts.StatusPublishing // by an earlier claim
	if published {
		// Most often the records were away, and still are: that is cheaper to know first.
		if _, err := e.foreign(ctx, state); err != nil {
			return err
		}
	}
	w, made, err := e.write(ctx, r.Without(slices.Collect(maps.Keys(state.Omitted()))), state)
	switch {
	case ctx.Err() != nil || errors.Is(err, errOutage):
		return errors.Join(err, context.Cause(ctx))
	case lastTry(r, state, err):
		return e.fail(ctx, state, tried(r, state, err), published)
	case errors.Is(err, errSink), errors.Is(err, errScratch):
		return err // where it was published it may be there: it must be found, or made
	case err != nil:
		// One that was published cannot be made any more, and may be there.
		return e.fail(ctx, state, Reason(err), published)
	}
	defer w.Abort()

	var outcome scripts.Outcome
	if err := e.insist(ctx, "publish job", func() (err error) {
		outcome, err = e.o.Scripts.Publish(ctx, state)
		return err
	}); err != nil {
		return err
	}
	switch outcome {
	case scripts.Late:
		return e.fail(ctx, state, "deadline passed while the file was being made", false)
	case scripts.Busy:
		return errElsewhere
	case scripts.Gone:
		return nil
	}
	committed, err := w.Commit()
	if errors.Is(err, sink.ErrConflict) {
		// That file is not ours.
		return e.fail(ctx, state, Reason(ofSink(err))+". fanfold retry "+state.ID+" makes the file under another name. A file that lies here is deleted then, or by the daily sweep: move it first if it is yours", false)
	}
	if lastTry(r, state, err) {
		return e.fail(ctx, state, tried(r, state, ofSink(err)), true)
	}
	if err != nil {
		return ofSink(err)
	}
	// Where the job was lost, or the process stops, right at the commit: see to it
	// that the record points to the file, or remove it.
	ctx, cancel := lasting(ctx)
	defer cancel()
	return e.succeed(ctx, r, state, made, committed)
}

// write folds into a new object that is not yet committed. An error that is none
// of errOutage, errSink and errScratch would come again.
func (e *Engine) write(ctx context.Context, r *report.Report, state *scripts.State) (sink.Writer, format.Made, error) {
	sets, err := e.datasets(ctx, r, state)
	if err != nil {
		return nil, format.Made{}, err
	}
	plan, err := fold.NewPlan(r, sets)
	if err != nil {
		return nil, format.Made{}, fmt.Errorf("make file: %w", err)
	}
	w, err := e.create(ctx, r, state)
	if err != nil {
		return nil, format.Made{}, ofSink(err)
	}
	made, err := e.writeRows(ctx, r, plan, w)
	if err != nil {
		w.Abort()
		if found, ok := errors.AsType[*sinkError](err); ok {
			return nil, format.Made{}, found // where it was being written says nothing more
		}
		return nil, format.Made{}, fmt.Errorf("make file: %w", err)
	}
	return w, made, nil
}

// create begins the object of a job's file.
func (e *Engine) create(ctx context.Context, r *report.Report, state *scripts.State) (sink.Writer, error) {
	parameters := sha256.Sum256(state.Parameters)
	metadata := map[string]string{
		"fanfold-record":     state.ID,
		"fanfold-attempt":    strconv.FormatInt(state.Attempt, 10),
		"fanfold-definition": state.Definition,
		"fanfold-parameters": hex.EncodeToString(parameters[:]),
	}
	if e.o.Installation != "" {
		metadata["fanfold-installation"] = e.o.Installation
	}
	return e.o.Sink.Create(ctx, sink.Object{Name: e.objectName(state, r), ContentType: contentType(r), Metadata: metadata})
}

// writeRows writes the rows of a plan.
func (e *Engine) writeRows(ctx context.Context, r *report.Report, plan *fold.Plan, w sink.Writer) (format.Made, error) {
	file, err := format.NewCSV(&r.CSV, plan.Columns(), sinkWriter{w})
	if err != nil {
		return format.Made{}, err
	}
	defer file.Abort()
	if err := plan.Fold(file, e.budget(ctx)); err != nil {
		return format.Made{}, err
	}
	return file.Close()
}

// errSink matches an error of the sink.
var errSink = errors.New("sink")

// sinkError is an error of the sink. Its text is the sink's own, which says what it could
// not do and what helps.
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

// sinkWriter marks what the sink does not take.
type sinkWriter struct{ io.Writer }

func (w sinkWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	return n, ofSink(err)
}

// succeed gives the record the file that is now in the sink. Files of earlier attempts
// are deleted after that.
func (e *Engine) succeed(ctx context.Context, r *report.Report, state *scripts.State, made format.Made, committed sink.Committed) error {
	file := e.o.Sink.URL(e.objectName(state, r))
	if err := e.writeManifest(ctx, r, state, made, committed); err != nil {
		return err
	}
	var ok bool
	status, run, omitted := report.Success, Run{state.ID, state.Attempt}, state.Omitted()
	if len(omitted) > 0 {
		status = report.Partial
	}
	if err := e.onRecord(ctx, "finish record", func() (err error) {
		if status == report.Partial {
			ok, err = e.o.Records.SucceedPartly(ctx, run, file, made.Rows, withoutThese(omitted))
		} else {
			ok, err = e.o.Records.Succeed(ctx, run, file, made.Rows)
		}
		return err
	}); errors.Is(err, ErrRefused) {
		return e.fail(ctx, state, Reason(err), true)
	} else if err != nil {
		return err
	}
	if !ok {
		return e.finishForeign(ctx, state, true)
	}
	e.noteLeft(state, state.Attempt)
	e.log.Info("job finished", "job", state.ID, "attempt", state.Attempt, "report", state.Report, "status", status, "rows", made.Rows, "bytes", committed.Bytes)
	return e.settle(ctx, state, string(status), file)
}

// withoutThese says which listeners a job has gone on without, and why.
func withoutThese(omitted map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(omitted)) {
		all = append(all, "without listener "+name+": "+omitted[name])
	}
	return strings.Join(all, "; ")
}

// fail fails a claimed job and ends it; with remove, its file may be there and
// goes. Nothing is removed before the record has taken the failure: a claim that
// was lost without noticing must not touch the file of the one that succeeded.
func (e *Engine) fail(ctx context.Context, state *scripts.State, reason string, remove bool) error {
	var outcome scripts.Outcome
	if err := e.insist(ctx, "fail job", func() (err error) {
		outcome, err = e.o.Scripts.FailFold(ctx, state, reason, remove)
		return err
	}); err != nil {
		return err
	}
	switch outcome {
	case scripts.OK, scripts.Already:
		state.Reason, state.Remove = reason, remove
		return e.finishFailed(ctx, state)
	case scripts.Gone:
		return nil
	}
	return errElsewhere
}
