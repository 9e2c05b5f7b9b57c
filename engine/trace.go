package engine

import (
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/trace"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// traced returns what the spans of a job need to know of it.
func traced(s *job.State) trace.Job {
	return trace.Job{ID: s.ID, Attempt: s.Attempt, Report: s.Report, Trace: s.Trace}
}

// endSpan ends a span, with the reason if its work failed.
func endSpan(span *trace.Span, err error) {
	reason := ""
	if span != nil && err != nil {
		reason = Reason(err)
	}
	span.End(reason)
}

// beginTrace returns the trace of a job that is about to start.
func (e *Engine) beginTrace(p *push) job.Trace {
	if e.o.Trace == nil {
		return job.Trace{}
	}
	pushed := p.began
	if len(p.entries) > 0 {
		at, _, _ := strings.Cut(p.entries[0], "-")
		if ms, err := strconv.ParseInt(at, 10, 64); err == nil {
			pushed = time.UnixMilli(ms)
		}
	}
	return e.o.Trace.Begin(p.trace, pushed)
}

// job returns what the spans of a push need to know of its job.
func (p *push) job() trace.Job {
	return trace.Job{ID: p.id, Attempt: p.run.Attempt, Report: p.record.Report, Trace: p.traced}
}

// traceUnstarted sends the spans of a job that failed before it could start.
func (e *Engine) traceUnstarted(p *push, why string) {
	p.traced = e.beginTrace(p)
	e.o.Trace.Trigger(p.job(), p.began, why)
	e.o.Trace.End(p.job(), string(report.Failed), why)
}

// count counts a job that has ended, and ends its trace.
func (e *Engine) count(s *job.State, end ending) {
	e.jobs.finished.WithLabelValues(s.Report, end.status).Inc()
	reason := ""
	if end.status == string(report.Failed) {
		reason = end.detail
	}
	e.o.Trace.End(traced(s), end.status, reason)
}
