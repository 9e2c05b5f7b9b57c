package scheduler

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// actions executes the firings of a stream: fired timers, or ends of jobs.
type actions struct {
	*Timers
	stream string
}

// firing is a fired timer with its definition, or the end of a job.
type firing struct {
	action.Firing
	tries int // that were made before
	act   func(context.Context, action.Tools, action.Firing) (event []string, err error)
	entry step.Entry
	of    actions
}

var (
	_ step.Handler[*firing] = actions{}
	_ step.Step             = (*firing)(nil)
)

func (f *firing) Job() string { return f.Name }

func (f *firing) Renew(ctx context.Context) (bool, error) {
	return f.of.scripts.Streams.Renew(ctx, f.of.stream, f.of.o.Consumer, f.entry.ID)
}

func (f *firing) Tries() (int64, report.Retry, string) { return int64(f.tries) + 1, f.Retry, "" }

// Claim reads an entry. A firing without a definition here is left to other processes for a while.
func (t actions) Claim(ctx context.Context, entry step.Entry) (*firing, step.Result) {
	f := &firing{Firing: action.Firing{Name: entry.Fields["name"]}, entry: entry, of: t}
	var err error
	receipt, ok := job.ParseReceipt(f.Name)
	if f.Due, err = strconv.ParseInt(entry.Fields["due"], 10, 64); err != nil || !ok && !report.ValidTimer(f.Name) {
		return f, t.failed(ctx, f, errors.New("not a firing: the fields name and due are required"))
	}
	late, _ := strconv.ParseInt(entry.Fields["late"], 10, 64)
	f.At = time.UnixMilli(f.Due + late)
	f.tries, _ = strconv.Atoi(entry.Fields["try"])
	if ok {
		return f, t.receipt(ctx, f, receipt)
	}
	if id, attempt, ok := job.ParseEnd(f.Name); ok {
		return f, t.end(ctx, f, id, attempt)
	}
	if f.Timer, f.Values, ok = t.o.Timers.Match(f.Name); ok {
		kind, _ := t.o.Actions.Of(f.Action)
		if f.act = kind.Act; f.Schedule != nil {
			f.act = action.Scheduled
		}
		return f, step.Result{}
	}
	if !t.leaves(f.age()) {
		return f, t.failed(ctx, f, errors.New(report.WhyUndefined(f.Name)))
	}
	why := report.WhyUndefined(f.Name)
	return f, t.later(ctx, f, scripts.Requeue{Delay: strangeWait + rand.N(strangeWait), Error: why})
}

// Work executes the action.
func (t actions) Work(ctx context.Context, f *firing) step.Result {
	more, err := f.act(ctx, t.tools, f.Firing)
	if err == nil {
		quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), doneTime)
		defer cancel()
		err := t.scripts.Timers.Done(quick, f.Name, strconv.FormatInt(f.Due, 10), "done", more...)
		if errors.Is(err, scripts.ErrFull) {
			// the action must not be repeated
			t.log.Warn("could not record the event of a timer: Redis is full", "timer", f.Name)
		} else if err != nil {
			return step.Result{Kind: step.Elsewhere, Err: err}
		}
		return step.Result{Kind: step.Void}
	}
	r := step.Result{Kind: step.Retry, Err: err}
	asked := (*backoff.RetryAfterError)(nil)
	switch {
	case errors.Is(err, action.ErrOutage):
		r.Kind, r.After = step.Outage, outageWait
	case errors.Is(err, action.ErrPermanent):
		r.Kind = step.Permanent
	case errors.As(err, &asked):
		r.After = asked.Duration
	}
	return r
}

// End requeues a firing, or gives it up.
func (t actions) End(ctx context.Context, f *firing, v step.Verdict) step.Result {
	if v.Act == step.GiveUp {
		return t.failed(ctx, f, v.Err)
	}
	return t.later(ctx, f, v.Again)
}

// doneTime bounds the event of an action in a process that is stopping.
const doneTime = 5 * time.Second

// failed reports that an action is given up; its entry is quarantined then.
func (t actions) failed(ctx context.Context, f *firing, why error) step.Result {
	reason := report.ShortenTo(why.Error(), maxText)
	name, due := report.ShortenTo(f.entry.Fields["name"], maxText), report.ShortenTo(f.entry.Fields["due"], maxText)
	t.log.Warn("timer failed", "timer", name, "due", due, "err", why)
	if err := t.scripts.Timers.Done(ctx, name, due, "failed", "reason", reason); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	return step.Result{Kind: step.Unusable, Err: errors.New(reason)}
}

// later moves a firing to the set of waiting firings, where it uses no slot, and acknowledges its
// entry. If that fails, the entry is taken over after the lease.
func (t actions) later(ctx context.Context, f *firing, a scripts.Requeue) step.Result {
	e := scripts.FiredEntry{Name: f.Name, Due: f.entry.Fields["due"], Late: f.entry.Fields["late"], Try: f.tries}
	if a.Counts {
		e.Try++
	}
	if _, err := t.scripts.Timers.FireLater(ctx, t.stream, t.o.Consumer, f.entry.ID, e, a.Delay); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	t.log.Debug("the action of a timer waits", "timer", f.Name, "wait", a.Delay, "err", a.Error)
	t.bringLater.Ring()
	return step.Result{Kind: step.Moved}
}

// maxText is how many characters of a foreign text an event has.
const maxText = 1024

// age is the time since the firing, by the clock of Redis, which is in the entry's id.
func (f *firing) age() time.Duration {
	text, _, _ := strings.Cut(f.entry.ID, "-")
	now, _ := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(now).Sub(f.At)
}

const (
	// outageWait is the time between two tries while a server is unavailable.
	outageWait = 3 * time.Second
	// strangeWait is the minimum time after which another process may read a firing
	// that no definition here matches, and a half of the most: with the same time
	// always, it could be the same process that reads it again every time.
	strangeWait = time.Second
)

// bringBack returns firings to their stream that have waited long enough, and returns the time
// until the next one.
func (t *Timers) bringBack(ctx context.Context) (time.Duration, error) {
	wait, err := t.scripts.Timers.FireAgain(ctx, most)
	if wait < 0 {
		wait = pause
	}
	return wait, err
}
