package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Pauses pauses listeners and reports, and resumes them.
type Pauses struct{ o Options }

// Listener pauses a listener, and returns since when it is: no process starts a new task of it.
func (p Pauses) Listener(ctx context.Context, name string) (since time.Time, err error) {
	names := map[string]report.ListenerKind{}
	for _, r := range p.o.Config.Reports {
		for _, l := range r.Listeners() {
			names[l.Name] = l.Kind
		}
	}
	switch kind, ok := names[name]; {
	case !ok:
		return time.Time{}, ErrInput.Because("unknown listener %q. %s", name, report.DidYouMean(name, slices.Sorted(maps.Keys(names))))
	case kind == report.External:
		return time.Time{}, ErrInput.Because("listener %s is external and cannot be paused: stop the service that reads %s instead", name, p.o.Scripts.Home().Keys.Task(name))
	}
	return p.pause(ctx, scripts.PausedListener(name))
}

// Report pauses a report, and returns since when it is: none of its jobs starts.
func (p Pauses) Report(ctx context.Context, name string) (since time.Time, err error) {
	if _, err := p.o.report(name); err != nil {
		return time.Time{}, err
	}
	return p.pause(ctx, scripts.PausedReport(name))
}

func (p Pauses) pause(ctx context.Context, member string) (since time.Time, err error) {
	since, err = p.o.Scripts.Pause(ctx, member)
	if err != nil && !since.IsZero() {
		err = fmt.Errorf("%s is paused in the other partitions; pause it again once this one answers: %w", member, err)
	}
	return since, err
}

// ResumeListener starts tasks of a listener again, and tells whether it was paused. Any name will
// do: a listener may have left the configuration while it was paused.
func (p Pauses) ResumeListener(ctx context.Context, name string) (was bool, err error) {
	return p.o.Scripts.ResumeListener(ctx, name)
}

// ResumeReport starts jobs of a report again, and tells whether it was paused and how many ids have
// waited.
func (p Pauses) ResumeReport(ctx context.Context, name string) (was bool, released int, err error) {
	return p.o.Scripts.ResumeReport(ctx, name)
}
