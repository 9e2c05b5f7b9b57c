package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Pauses pauses and resumes listeners and reports.
type Pauses struct{ in *inspect.Inspector }

// Listener pauses a listener: no process starts its tasks. It returns when the pause began.
func (p Pauses) Listener(ctx context.Context, name string) (since time.Time, err error) {
	act, err := begin(ctx, p.in, "pause", scripts.PausedListener(name))
	if err != nil {
		return time.Time{}, err
	}
	defer act.end(ctx, &err)
	names := map[string]string{}
	for _, r := range p.in.Config.Reports {
		for _, l := range r.Listeners() {
			names[l.Name] = l.Kind
		}
	}
	switch kind, ok := names[name]; {
	case !ok:
		return time.Time{}, fault.Input.New("unknown listener %q. %s", name,
			report.DidYouMean(name, slices.Sorted(maps.Keys(names))))
	case kind == report.External:
		return time.Time{}, fault.Input.New("listener %s is external and cannot be paused: stop the service that reads %s "+
			"instead", name, p.in.Scripts.First().Keys.Task(name))
	}
	return p.pause(ctx, scripts.PausedListener(name))
}

// Report pauses a report: its jobs do not start. It returns when the pause began.
func (p Pauses) Report(ctx context.Context, name string) (since time.Time, err error) {
	act, err := begin(ctx, p.in, "pause", scripts.PausedReport(name))
	if err != nil {
		return time.Time{}, err
	}
	defer act.end(ctx, &err)
	if _, err := reportOf(p.in, name); err != nil {
		return time.Time{}, err
	}
	return p.pause(ctx, scripts.PausedReport(name))
}

func (p Pauses) pause(ctx context.Context, member string) (since time.Time, err error) {
	since, err = p.in.Scripts.Pause(ctx, member)
	if err != nil && !since.IsZero() {
		err = fmt.Errorf("%s is paused in the other partitions; pause it again once this one answers: %w", member, err)
	}
	return since, err
}

// ResumeListener resumes a listener, and reports whether it was paused. It accepts any name, because a
// paused listener may have been removed from the configuration.
func (p Pauses) ResumeListener(ctx context.Context, name string) (was bool, err error) {
	act, err := begin(ctx, p.in, "resume", scripts.PausedListener(name))
	if err != nil {
		return false, err
	}
	defer act.end(ctx, &err)
	return p.in.Scripts.ResumeListener(ctx, name)
}

// ResumeReport resumes a report. It returns whether the report was paused, and how many waiting ids it
// released.
func (p Pauses) ResumeReport(ctx context.Context, name string) (was bool, released int, err error) {
	act, err := begin(ctx, p.in, "resume", scripts.PausedReport(name))
	if err != nil {
		return false, 0, err
	}
	defer act.end(ctx, &err)
	r := p.in.Config.Reports[name]
	return p.in.Scripts.ResumeReport(ctx, name, r != nil && r.Running > 0)
}
