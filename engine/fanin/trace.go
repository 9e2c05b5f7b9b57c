package fanin

import (
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/trace"
)

// traced returns what the spans of a job need to know of it.
func traced(s *job.State) trace.Job {
	return trace.Job{ID: s.ID, Attempt: s.Attempt, Report: s.Report, Trace: s.Trace}
}

// endSpan ends a span, with the reason if its work failed.
func endSpan(span *trace.Span, err error) {
	reason := ""
	if span != nil && err != nil {
		reason = err.Error()
	}
	span.End(reason)
}

// count counts a job that has ended, and ends its trace.
func (f *finisher) count(w *work) {
	f.CountEnd(w.Report, w.end.Status)
	reason := ""
	if w.end.Status == string(report.Failed) {
		reason = w.end.Detail
	}
	f.Trace.End(traced(w.State), w.end.Status, reason)
}
