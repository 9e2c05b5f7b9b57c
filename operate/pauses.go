package operate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/moment"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Terms are why something is changed for a time, and until when. Without For and Until, it is until somebody changes it
// back.
type Terms struct {
	Reason string
	For    time.Duration // by Redis's clock
	Until  time.Time
}

// maxYears is the maximum time until Terms end. Lua in Redis writes the milliseconds of much later times in a form that
// is not a whole number.
const maxYears = 1000

// maxReason is the maximum number of characters of a reason.
const maxReason = 200

// TermsOf parses Terms: a duration such as 2h, or a time, which texts without a zone have in this machine's zone.
func TermsOf(reason, length, until string) (t Terms, err error) {
	t.Reason = report.ShortenTo(strings.TrimSpace(reason), maxReason)
	if length, until = strings.TrimSpace(length), strings.TrimSpace(until); length != "" && until != "" {
		return t, fault.Input.New("give either how long or until when, not both")
	}
	if length != "" {
		if t.For, err = moment.ParseDuration(length); err == nil && t.For <= 0 {
			err = moment.ErrDuration
		}
	}
	if until != "" {
		t.Until, err = moment.Parse(until, time.Local)
	}
	if err != nil {
		return t, fault.Input.New("%s: %w", cmp.Or(length, until), err)
	}
	return t, nil
}

// end returns when the terms end; zero: never.
func (t Terms) end(ctx context.Context, in *inspect.Inspector) (time.Time, error) {
	if t.For == 0 && t.Until.IsZero() {
		return time.Time{}, nil
	}
	now, err := in.Scripts.First().Now(ctx)
	if err != nil {
		return time.Time{}, err
	}
	end := t.Until
	if t.For > 0 {
		end = now.Add(t.For)
	}
	switch {
	case !end.After(now):
		return end, fault.Input.New("%s is over: it is %s", words.Stamp(end), words.Stamp(now))
	case end.After(now.AddDate(maxYears, 0, 0)):
		return end, fault.Input.New("%s is in more than %d years: without an end, it is until somebody changes it back",
			words.Stamp(end), maxYears)
	}
	return end, nil
}

// text is the terms for the audit.
func (t Terms) text(end time.Time) string {
	if end.IsZero() {
		return t.Reason
	}
	return strings.TrimPrefix(t.Reason+", until "+words.Stamp(end), ", ")
}

// whoOf names an actor where it is shown: the login, or the face.
func whoOf(by *audit.Actor) string { return cmp.Or(by.Who, by.By) }

// Pauses pauses and resumes sources, listeners and reports.
type Pauses struct{ in *inspect.Inspector }

// Pause pauses what scripts.PausedSource, PausedListener or PausedReport names: no process starts its tasks or its
// jobs, and running ones continue. What is paused already keeps the start of its pause, and gets the new terms.
func (p Pauses) Pause(ctx context.Context, what string, of Terms) (pause inspect.Pause, err error) {
	act, err := begin(ctx, p.in, "pause", what)
	if err != nil {
		return pause, err
	}
	defer act.end(ctx, &err)
	if err := p.Check(what); err != nil {
		return pause, err
	}
	one := scripts.Hold{Who: whoOf(act.by), Reason: of.Reason}
	if one.Until, err = of.end(ctx, p.in); err != nil {
		return pause, err
	}
	act.more = of.text(one.Until)
	one.Since, err = p.in.Scripts.Hold(ctx, what, one)
	if err != nil && !one.Since.IsZero() {
		err = fmt.Errorf("%s is paused in the other partitions; pause it again once this one answers: %w", what, err)
	}
	return p.in.Pauses.Of(what, one), err
}

// Explain sets the reason of a pause that holds. Its start, its end and who made it stay.
func (p Pauses) Explain(ctx context.Context, what, reason string) (err error) {
	act, err := begin(ctx, p.in, "pause reason", what)
	if err != nil {
		return err
	}
	defer act.end(ctx, &err)
	held, err := p.in.Scripts.Holds(ctx)
	if err != nil {
		return err
	}
	one, ok := held.Pauses()[what]
	if !ok {
		return fault.NotFound.New("%s is not paused: the pause has ended", what)
	}
	one.Reason = report.ShortenTo(strings.TrimSpace(reason), maxReason)
	act.more = one.Reason
	_, err = p.in.Scripts.Hold(ctx, what, one)
	return err
}

// Check checks that something exists and can be paused.
func (p Pauses) Check(what string) error {
	kind, name, _ := strings.Cut(what, "/")
	names := map[string]string{}
	switch kind {
	case "source":
		for source := range p.in.Config.Sources {
			names[source] = ""
		}
	case "listener":
		for _, r := range p.in.Config.Reports {
			for _, l := range r.Listeners() {
				names[l.Name] = l.Kind
			}
		}
	case "report":
		_, err := reportOf(p.in, name)
		return err
	}
	switch of, ok := names[name]; {
	case !ok:
		return fault.Input.New("unknown %s %q. %s", kind, name,
			report.DidYouMean(name, slices.Sorted(maps.Keys(names))))
	case of == report.External:
		return fault.Input.New("listener %s is external and cannot be paused: stop the service that reads %s instead",
			name, p.in.Scripts.First().Keys.Task(name))
	}
	return nil
}

// Resume ends a pause. It returns whether there was one, and how many waiting ids of a report it released. It accepts
// any name, because what is paused may have been removed from the configuration.
func (p Pauses) Resume(ctx context.Context, what string) (was bool, released int, err error) {
	act, err := begin(ctx, p.in, "resume", what)
	if err != nil {
		return false, 0, err
	}
	defer act.end(ctx, &err)
	name, _ := strings.CutPrefix(what, scripts.PausedReport(""))
	r := p.in.Config.Reports[name]
	return p.in.Scripts.Unhold(ctx, what, r != nil && r.Running > 0)
}
