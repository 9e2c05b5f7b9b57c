package trigger

import (
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/trace"
)

// beginTrace begins the trace of a job that is about to start.
func (p *push) beginTrace(tracer *trace.Tracer) {
	p.traced = job.Trace{}
	if tracer == nil {
		return
	}
	pushed := p.began
	if len(p.items) > 0 {
		at, _, _ := strings.Cut(p.items[0].ID, "-")
		if ms, err := strconv.ParseInt(at, 10, 64); err == nil {
			pushed = time.UnixMilli(ms)
		}
	}
	p.traced = tracer.Begin(p.trace, pushed)
}

// job returns what the spans of a push need to know of its job.
func (p *push) job() trace.Job {
	return trace.Job{ID: p.id, Attempt: p.run.Attempt, Report: p.record.Report, Trace: p.traced}
}

// traceUnstarted sends the spans of a job that failed before it could start.
func (p *push) traceUnstarted(tracer *trace.Tracer, why string) {
	p.beginTrace(tracer)
	tracer.Trigger(p.job(), p.began, why)
	tracer.End(p.job(), string(report.Failed), why)
}
