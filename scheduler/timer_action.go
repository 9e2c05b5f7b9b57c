package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// actions executes the firings of a stream: fired timers, or ends of jobs.
type actions struct {
	*Timers
	stream string
}

// firing is a fired timer with its definition.
type firing struct {
	*report.Timer
	name   string
	due    int64 // ms
	tries  int   // that were made before
	values map[string]string
	notice *notice // it is the end of a job; nil: it is a timer
	entry  step.Entry
	of     actions
}

var (
	_ step.Handler[*firing] = actions{}
	_ step.Step             = (*firing)(nil)
)

// id identifies the firing, in every try of its action.
func (f *firing) id() string { return f.name + "/" + strconv.FormatInt(f.due, 10) }

func (f *firing) Job() string { return f.name }

func (f *firing) Renew(ctx context.Context) (bool, error) {
	return f.of.scripts.Streams.Renew(ctx, f.of.stream, f.of.o.Consumer, f.entry.ID)
}

func (f *firing) Tries() (int64, report.Retry, string) { return int64(f.tries) + 1, f.Retry, "" }

// Claim reads an entry. A firing without a definition here is left to other processes for a while.
func (t actions) Claim(ctx context.Context, entry step.Entry) (*firing, step.Result) {
	f := &firing{name: entry.Fields["name"], entry: entry, of: t}
	var err error
	receipt, ok := job.ParseReceipt(f.name)
	if f.due, err = strconv.ParseInt(entry.Fields["due"], 10, 64); err != nil || !ok && !report.ValidTimer(f.name) {
		return f, t.failed(ctx, f, errors.New("not a firing: the fields name and due are required"))
	}
	f.tries, _ = strconv.Atoi(entry.Fields["try"])
	if ok {
		return f, t.receipt(ctx, f, receipt)
	}
	if id, attempt, ok := job.ParseEnd(f.name); ok {
		return f, t.end(ctx, f, id, attempt)
	}
	if f.Timer, f.values, ok = t.o.Timers.Match(f.name); ok {
		return f, step.Result{}
	}
	if !t.leaves(f.age()) {
		return f, t.failed(ctx, f, errors.New(reasonNoMatch))
	}
	return f, t.later(ctx, f, scripts.Requeue{Delay: strangeWait + rand.N(strangeWait), Error: reasonNoMatch})
}

// Work executes the action.
func (t actions) Work(ctx context.Context, f *firing) step.Result {
	more, err := t.act(ctx, f)
	if err == nil {
		quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), doneTime)
		defer cancel()
		if err := t.scripts.Timers.Done(quick, f.name, strconv.FormatInt(f.due, 10), "done", more...); errors.Is(err, scripts.ErrFull) {
			t.log.Warn("could not record the event of a timer: Redis is full", "timer", f.name) // the action must not be repeated
		} else if err != nil {
			return step.Result{Kind: step.Elsewhere, Err: err}
		}
		return step.Result{Kind: step.Void}
	}
	r := step.Result{Kind: step.Retry, Err: err}
	asked := (*backoff.RetryAfterError)(nil)
	switch {
	case errors.Is(err, ErrOutage):
		r.Kind, r.After = step.Outage, outageWait
	case errors.As(err, new(*backoff.PermanentError)), errors.Is(err, ErrRefused):
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
	e := scripts.FiredEntry{Name: f.name, Due: f.entry.Fields["due"], Late: f.entry.Fields["late"], Try: f.tries}
	if a.Counts {
		e.Try++
	}
	if _, err := t.scripts.Timers.FireLater(ctx, t.stream, t.o.Consumer, f.entry.ID, e, a.Delay); err != nil {
		return step.Result{Kind: step.Elsewhere, Err: err}
	}
	t.log.Debug("the action of a timer waits", "timer", f.name, "wait", a.Delay, "err", a.Error)
	t.bringLater.Ring()
	return step.Result{Kind: step.Moved}
}

// maxText is how many characters of a foreign text an event has.
const maxText = 1024

// age is the time since the firing, by the clock of Redis, which is in the entry's id.
func (f *firing) age() time.Duration {
	text, _, _ := strings.Cut(f.entry.ID, "-")
	now, _ := strconv.ParseInt(text, 10, 64)
	late, _ := strconv.ParseInt(f.entry.Fields["late"], 10, 64)
	return time.Duration(now-f.due-late) * time.Millisecond
}

// act executes the action. It returns fields for the event.
func (t *Timers) act(ctx context.Context, f *firing) (more []string, err error) {
	switch {
	case f.notice != nil:
		return nil, t.notify(ctx, f)
	case f.Submit != nil:
		return t.submit(ctx, f)
	case f.Append != nil:
		return nil, t.append(ctx, f)
	}
	return nil, t.call(ctx, f)
}

// submit inserts a record, once per firing, and pushes its id.
func (t *Timers) submit(ctx context.Context, f *firing) ([]string, error) {
	parameters := map[string]string{}
	for name, template := range f.Submit.Parameters {
		parameters[name] = template.Fill(f.values, nil)
	}
	text, err := json.Marshal(parameters)
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	id, err := t.o.Submitter.Submit(ctx, f.name, f.due, f.Submit.Report, text)
	if err != nil {
		return nil, err
	}
	err = step.Ensure(ctx, t.log, "push a timer's record", func() error {
		return final(t.scripts.Streams.Append(ctx, t.scripts.Keys.Jobs, 0, "id", id))
	})
	return []string{"record", id}, err
}

// appended is the approximate cap of a stream to which timers append.
const appended = 100_000

func (t *Timers) append(ctx context.Context, f *firing) error {
	fields := []string{"timer", f.name, "due", strconv.FormatInt(f.due, 10)}
	for _, name := range slices.Sorted(maps.Keys(f.Append.Fields)) {
		fields = append(fields, name, f.Append.Fields[name].Fill(f.values, nil))
	}
	err := t.scripts.Streams.Append(ctx, f.Append.Stream, appended, fields...)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, scripts.ErrBroken):
		return backoff.Permanent(err)
	}
	// The stream may be on another server: an action that waits for it uses no slot.
	return fmt.Errorf("%w: %w", ErrOutage, err)
}

// final marks an error of Redis that would repeat.
func final(err error) error {
	if errors.Is(err, scripts.ErrBroken) {
		return backoff.Permanent(err)
	}
	return err
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
