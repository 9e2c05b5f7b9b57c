package operate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/trace"
)

// Dead changes the list of dead jobs.
type Dead struct{ in *inspect.Inspector }

// Sweep selects dead jobs.
type Sweep struct {
	Match  func(inspect.DeadJob) bool // which ones; nil: all
	Limit  int                        // maximum number of jobs; 0: all
	DryRun bool                       // change nothing, only count
	// FresherThan bounds what the jobs reuse, see job.FresherThan; empty: as their reports say.
	FresherThan string
	// Of says which jobs Match selects, for people; empty: all.
	Of string
	// Each is called after every page with the result so far; nil: not called.
	Each func(Swept)
}

// Swept is the result of a sweep.
type Swept struct {
	Would    int               `json:"would,omitempty"`
	Done     int               `json:"done"`
	Left     map[string]int    `json:"left,omitempty"` // number of unchanged jobs by reason
	ByReport map[string]int    `json:"by_report,omitempty"`
	Examples map[string]string `json:"examples,omitempty"` // an id for every report
}

// Retry runs dead jobs again whose records are still FAILED, the oldest of every partition first. A job
// that fails again meanwhile is not retried twice. On an error, Swept says what was done before it.
func (d Dead) Retry(ctx context.Context, s Sweep) (Swept, error) {
	return d.sweep(ctx, "retry", s, d.unableToRetry, func(ctx context.Context, page []inspect.DeadJob) ([]bool, error) {
		return d.retryPage(ctx, page, s.FresherThan)
	})
}

// Discard removes jobs from the list, whatever the status of their records, and does not change the
// records. On an error, Swept says what was done before it.
func (d Dead) Discard(ctx context.Context, s Sweep) (Swept, error) {
	return d.sweep(ctx, "discard", s, func(inspect.DeadJob) string { return "" }, d.discardPage)
}

// Remove removes one job from the list.
func (d Dead) Remove(ctx context.Context, id string) (err error) {
	act, err := begin(ctx, d.in, "discard", id)
	if err != nil {
		return err
	}
	defer act.end(ctx, &err)
	removed, err := scripts.DeadJobs(d.in.Scripts).Remove(ctx, id)
	if err == nil && !removed[0] {
		err = fault.NotFound.New("%s is not on the list of dead jobs", id)
	}
	return err
}

// sweep changes the selected jobs, a page at a time. Unable returns why a job cannot be changed; empty:
// it can. Change reports for every job whether it was changed, which also removes it from the list.
func (d Dead) sweep(ctx context.Context, name string, s Sweep, unable func(inspect.DeadJob) string,
	change func(context.Context, []inspect.DeadJob) ([]bool, error)) (result Swept, err error) {
	var changed []string
	if !s.DryRun {
		var a *act
		if a, err = begin(ctx, d.in, name); err != nil {
			return Swept{}, err
		}
		a.more = cmp.Or(s.Of, "all dead jobs")
		defer func() { a.endGroup(ctx, changed, &err) }()
	}
	result = Swept{Left: map[string]int{}, ByReport: map[string]int{}, Examples: map[string]string{}}
	stay, seen := 0, 0
	for page, err := range d.in.Dead.Pages(ctx, false, func([]inspect.DeadJob) int { return stay }) {
		if err != nil {
			return result, err
		}
		var able []inspect.DeadJob
		for _, j := range page {
			if s.Match != nil && !s.Match(j) || s.Limit > 0 && seen >= s.Limit {
				continue
			}
			if why := unable(j); why != "" {
				result.Left[why]++
				continue
			}
			able = append(able, j)
			seen++
		}
		var done []bool
		if stay = len(page); !s.DryRun && len(able) > 0 {
			if done, err = change(ctx, able); err != nil {
				return result, err
			}
		}
		for i, j := range able {
			switch {
			case s.DryRun:
				result.Would++
			case done[i]:
				result.Done++
				changed = append(changed, j.ID)
				stay--
			default:
				result.Left["the record was changed from outside"]++
				continue
			}
			result.ByReport[j.Report]++
			result.Examples[j.Report] = j.ID
		}
		if s.Each != nil {
			s.Each(Swept{result.Would, result.Done, maps.Clone(result.Left), maps.Clone(result.ByReport),
				maps.Clone(result.Examples)})
		}
		if s.Limit > 0 && seen >= s.Limit {
			break
		}
	}
	return result, nil
}

// unableToRetry returns why a dead job cannot run again. A PENDING one can: it may not have been
// pushed, and a second push has no effect.
func (d Dead) unableToRetry(j inspect.DeadJob) string {
	switch {
	case j.Status != report.Failed && j.Status != report.Pending:
		return j.Note
	case d.in.Config.Reports[j.Report] == nil:
		return "its report is not in the configuration"
	}
	return ""
}

// retryPage runs dead jobs again, with a few statements and one round trip for all.
func (d Dead) retryPage(ctx context.Context, page []inspect.DeadJob, fresherThan string) ([]bool, error) {
	runs := make([]engine.Run, len(page))
	for i, j := range page {
		runs[i] = engine.Run{ID: j.ID, Attempt: j.Attempt}
	}
	done, err := d.in.Records.RetryFailed(ctx, runs)
	if err != nil {
		return nil, err
	}
	var again []string
	for i, j := range page {
		if done[i] {
			again = append(again, j.ID)
		}
	}
	with := scripts.PushFields{Traceparent: trace.Parent(ctx), FresherThan: fresherThan}
	if err := scripts.DeadJobs(d.in.Scripts).PushAgain(ctx, with, again...); err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	return done, nil
}

func (d Dead) discardPage(ctx context.Context, page []inspect.DeadJob) ([]bool, error) {
	ids := make([]string, len(page))
	for i, j := range page {
		ids[i] = j.ID
	}
	if _, err := scripts.DeadJobs(d.in.Scripts).Remove(ctx, ids...); err != nil {
		return nil, fmt.Errorf("discard: %w", err)
	}
	return slices.Repeat([]bool{true}, len(page)), nil
}
