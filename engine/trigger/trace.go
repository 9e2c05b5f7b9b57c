package trigger

import (
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/trace"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// beginTrace returns the trace of a job that is about to start.
func (t *Trigger) beginTrace(p *push) job.Trace {
	if t.Trace == nil {
		return job.Trace{}
	}
	pushed := p.began
	if len(p.entries) > 0 {
		at, _, _ := strings.Cut(p.entries[0], "-")
		if ms, err := strconv.ParseInt(at, 10, 64); err == nil {
			pushed = time.UnixMilli(ms)
		}
	}
	return t.Trace.Begin(p.trace, pushed)
}

// job returns what the spans of a push need to know of its job.
func (p *push) job() trace.Job {
	return trace.Job{ID: p.id, Attempt: p.run.Attempt, Report: p.record.Report, Trace: p.traced}
}

// traceUnstarted sends the spans of a job that failed before it could start.
func (t *Trigger) traceUnstarted(p *push, why string) {
	p.traced = t.beginTrace(p)
	t.Trace.Trigger(p.job(), p.began, why)
	t.Trace.End(p.job(), string(report.Failed), why)
}
