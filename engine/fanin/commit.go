package fanin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/step"
	"github.com/fanfold/fanfold/trace"
)

// commit makes the file of a published job visible and gives the record its final status.
func (f *finisher) commit(ctx context.Context, w *work) step.Result {
	_, span := f.Trace.Start(ctx, trace.Upload, traced(w.State))
	committed, err := w.file.writer.Commit()
	span.Number(trace.Bytes, committed.Bytes)
	endSpan(span, err)
	switch {
	case errors.Is(err, sink.ErrConflict): // the existing file is not ours
		reason := err.Error() + ". fanfold retry " + w.ID + " makes the file under another name. " +
			"The existing file is then deleted, or by the daily sweep: move it first if it is yours"
		return f.fail(ctx, w, reason, job.BlameSink, false)
	case err != nil:
		return resultOf(err)
	}
	// Even if the job was lost or the process is stopping: make the record point to the file, or
	// remove it.
	ctx, cancel := step.Lasting(ctx)
	defer cancel()
	return f.succeed(ctx, w, committed)
}

// succeed gives the record the committed file. Then it removes the files of earlier attempts.
func (f *finisher) succeed(ctx context.Context, w *work, committed sink.Committed) step.Result {
	url, run := "", engine.Run{ID: w.ID, Attempt: w.Attempt}
	if !w.file.skipped() {
		if err := f.writeManifest(ctx, w, committed); err != nil {
			return resultOf(err)
		}
		url = f.files.URL(w.report, w.State)
	}
	status, missing := report.Success, missingOf(w.State, report.Location(w.report.TimeZone))
	if missing != "" {
		status = report.Partial
	}
	run.Did = engine.HistoryOf(w.State, w.report, status)
	run.Did.Rows, run.Did.Bytes, run.Did.Reason = w.file.Rows, committed.Bytes, missing
	changed, err := onRecord(ctx, f, w.State, "finish record", func() (bool, error) {
		if status == report.Partial {
			return f.Records.SucceedPartly(ctx, run, url, w.file.Rows, missing)
		}
		return f.Records.Succeed(ctx, run, url, w.file.Rows)
	})
	switch {
	case errors.Is(err, engine.ErrRefused):
		return f.fail(ctx, w, err.Error(), job.BlameRecords, true)
	case err != nil:
		return resultOf(err)
	case !changed:
		return f.finishForeign(ctx, w, true)
	}
	f.files.SweepAttempts(ctx, w.State, w.Attempt, string(status))
	f.Log.Info("job finished", "job", w.ID, "attempt", w.Attempt, "report", w.Report, "status", status,
		"rows", w.file.Rows, "bytes", committed.Bytes)
	w.end = scripts.End{Status: string(status), Detail: url}
	return step.Result{}
}

// missingOf says which listeners of a job have failed, why, and what its file has instead of their rows, in the order
// of their names.
func missingOf(state *job.State, zone *time.Location) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(state.Tasks)) {
		switch t := state.Tasks[name]; {
		case t.Policy != "":
			all = append(all, "without listener "+name+": "+t.Failed)
		case !t.StaleAt.IsZero():
			all = append(all, fmt.Sprintf("listener %s: data of %s (%s old), because %s", name,
				t.StaleAt.In(zone).Format("2006-01-02 15:04 MST"), words.Short(t.DoneAt.Sub(t.StaleAt)), t.Failed))
		}
	}
	return strings.Join(all, "; ")
}
