package listeners

import (
	"context"

	"github.com/fanfold/fanfold/step"
	"github.com/fanfold/fanfold/trace"
)

// span begins the span of a try, if the job is traced.
func (r *tasks) span(ctx context.Context, t *task) (context.Context, *trace.Span) {
	if r.o.Trace == nil {
		return ctx, nil
	}
	ctx, span := r.o.Trace.Start(ctx, trace.Listener, trace.Job{
		ID: t.ID, Attempt: t.Attempt, Report: t.own.Report, Trace: r.o.Trace.Read(ctx, r.o.Scripts.Hashes, t.ID),
	})
	span.Text(trace.ListenerName, r.listener)
	span.Number(trace.Try, t.own.Tries)
	return ctx, span
}

// results are the words of a span for how a try ended.
var results = map[step.Kind]string{
	step.Done: "done", step.Void: "ended", step.Retry: "retry", step.Permanent: "failed", step.Outage: "outage",
	step.Waiting:   "waits",
	step.Elsewhere: "left", step.Stopping: "left",
}

// endSpan ends the span of a try. Of one that waits for a job elsewhere nothing has failed.
func endSpan(ctx context.Context, span *trace.Span, t *task, result step.Result) {
	if span == nil {
		return
	}
	if interrupted, ok := step.Interrupted(ctx); ok && result.Kind != step.Done && result.Kind != step.Void {
		result = interrupted
	}
	span.Text(trace.Result, results[result.Kind])
	span.Number(trace.Rows, t.rows)
	reason := ""
	switch result.Kind {
	case step.Retry, step.Permanent, step.Outage:
		reason = result.Err.Error()
	}
	span.End(reason)
}
