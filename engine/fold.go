package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// contentType is that of every file.
const contentType = "text/csv; charset=utf-8"

// fold makes the file of a claimed job and gives the record its final status.
// Everything may run again after a crash: the chunks are the same, so the file
// is the same, and the object that is there already is adopted.
func (e *Engine) fold(ctx context.Context, r *report.Report, state *scripts.State) error {
	w, rows, err := e.write(ctx, r, state)
	switch {
	case ctx.Err() != nil || errors.Is(err, errOutage):
		return errors.Join(err, context.Cause(ctx))
	case err != nil:
		return e.fail(ctx, state, err.Error())
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
		return e.fail(ctx, state, "deadline passed while the file was being made")
	case scripts.Busy:
		return errElsewhere
	case scripts.Gone:
		return nil
	}
	committed, err := w.Commit()
	if errors.Is(err, sink.ErrConflict) {
		return e.fail(ctx, state, err.Error())
	}
	if err != nil {
		return fmt.Errorf("commit file: %w", err)
	}
	return e.succeed(ctx, state, rows, committed)
}

// write folds into a new object that is not yet committed. An error that is not
// errOutage would come again.
func (e *Engine) write(ctx context.Context, r *report.Report, state *scripts.State) (sink.Writer, int64, error) {
	sets, err := e.datasets(ctx, r, state)
	if err != nil {
		return nil, 0, err
	}
	parameters := sha256.Sum256(state.Parameters)
	w, err := e.o.Sink.Create(ctx, sink.Object{
		Name: objectName(state), ContentType: contentType,
		Metadata: map[string]string{
			"fanfold-record":     state.ID,
			"fanfold-attempt":    strconv.FormatInt(state.Attempt, 10),
			"fanfold-definition": state.Definition,
			"fanfold-parameters": hex.EncodeToString(parameters[:]),
		},
	})
	if err != nil {
		return nil, 0, fmt.Errorf("create file: %w", err)
	}
	rows, err := r.Fold(sets, w)
	if err != nil {
		w.Abort()
		return nil, 0, fmt.Errorf("make file: %w", err)
	}
	return w, rows, nil
}

// succeed gives the record the file that is now in the sink. The file of an
// earlier attempt, to which the record points until then, is removed.
func (e *Engine) succeed(ctx context.Context, state *scripts.State, rows int64, committed sink.Committed) error {
	file := e.o.Sink.URL(objectName(state))
	if err := e.writeManifest(ctx, state, rows, committed, file); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := e.removeEarlier(ctx, state, file); err != nil {
		return fmt.Errorf("remove the file of an earlier attempt: %w", err)
	}
	var ok bool
	if err := e.insist(ctx, "finish record", func() (err error) {
		ok, err = e.o.Records.Succeed(ctx, Run{state.ID, state.Attempt}, file, rows)
		return err
	}); err != nil {
		return err
	}
	if !ok {
		return e.finishForeign(ctx, state, true)
	}
	e.log.Info("job finished", "job", state.ID, "attempt", state.Attempt, "report", state.Report, "rows", rows, "bytes", committed.Bytes)
	return e.settle(ctx, state, string(Success), file)
}

// removeEarlier removes the file that the record has from an earlier attempt.
func (e *Engine) removeEarlier(ctx context.Context, state *scripts.State, file string) error {
	if state.Attempt == 1 {
		return nil
	}
	records, err := e.o.Records.Read(ctx, []string{state.ID})
	if err != nil {
		return err
	}
	r, ok := records[state.ID]
	if !ok || r.File == "" || r.File == file || r.Status != Processing || r.Attempt != state.Attempt {
		return nil
	}
	name, ok := e.o.Sink.Name(r.File)
	if !ok {
		return nil // of another sink
	}
	return e.removeObject(ctx, name)
}

// fail fails a claimed job and ends it.
func (e *Engine) fail(ctx context.Context, state *scripts.State, reason string) error {
	var outcome scripts.Outcome
	if err := e.insist(ctx, "fail job", func() (err error) {
		outcome, err = e.o.Scripts.FailFold(ctx, state, reason)
		return err
	}); err != nil {
		return err
	}
	switch outcome {
	case scripts.OK, scripts.Already:
		state.Reason = reason
		return e.finishFailed(ctx, state)
	case scripts.Gone:
		return nil
	}
	return errElsewhere
}
