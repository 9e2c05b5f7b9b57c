package engine

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// OnceEnd is the end of a job, or of the wait of a record.
type OnceEnd struct {
	// Of are the ID and Report of the job, and of one that made a file also Attempt, Definition and Parameters. An
	// empty Report is an unknown one.
	Of     *job.State
	Status report.Status // empty: no job has ended
}

// EndOnce tells those that share a run that jobs have ended, or the waits of records. If it fails, the trigger's sweep
// finds them.
func (e *Engine) EndOnce(ctx context.Context, ends ...OnceEnd) {
	var all []scripts.OnceEnd
	for _, end := range ends {
		if window, uses := e.OnceWindow(end.Of.Report); uses {
			all = append(all, end.Within(window))
		}
	}
	if len(all) == 0 {
		return
	}
	short, cancel := context.WithTimeout(ctx, SlotsTime)
	defer cancel()
	if err := scripts.EndOnce(short, e.Partitions, all...); err != nil {
		e.Log.Debug("could not tell those that share a run of its end; a sweep will", "jobs", len(all), "err", err)
	}
}

// Within returns the end for scripts.EndOnce.
func (end OnceEnd) Within(window time.Duration) scripts.OnceEnd {
	of, to := end.Of, scripts.OnceEnd{ID: end.Of.ID, Window: window}
	if end.Status.HasFile() {
		to.Attempt, to.Whole = of.Attempt, end.Status == report.Success
		to.Content = report.Content(of.Report, of.Definition, of.Parameters)
	}
	return to
}

// OnceWindow returns for how long jobs of a report share a file that is complete, and whether they share at all. For an
// empty report, it is the longest of all.
func (e *Engine) OnceWindow(of string) (window time.Duration, uses bool) {
	if of != "" {
		if r := e.Reports[of]; r != nil && r.Once != nil {
			return r.Once.Window, true
		}
		return 0, false
	}
	for _, r := range e.Reports {
		if r.Once != nil {
			window, uses = max(window, r.Once.Window), true
		}
	}
	return window, uses
}

// EndOfRecord returns the end of the job of a record, if nothing else is known of it. Its file counts only if the
// record asks for the same one now.
func (e *Engine) EndOfRecord(id string, r Record) OnceEnd {
	end := OnceEnd{&job.State{ID: id, Report: r.Report, Attempt: r.Attempt}, r.Status}
	of := e.Reports[r.Report]
	if of == nil {
		return OnceEnd{Of: end.Of}
	}
	parameters, err := of.Canonical(r.Parameters, time.Now())
	if err != nil {
		return OnceEnd{Of: end.Of}
	}
	end.Of.Definition, end.Of.Parameters = of.Hash(), parameters
	return end
}
