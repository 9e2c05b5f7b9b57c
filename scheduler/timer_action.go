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

	"github.com/fanfold/fanfold/internal/stream"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// firing is a timer that has fired, with its definition.
type firing struct {
	*report.Timer
	name   string
	due    int64 // ms
	tries  int   // that were made before
	values map[string]string
}

// id is the firing's identity: the same each time that its action is tried.
func (f firing) id() string { return f.name + "/" + strconv.FormatInt(f.due, 10) }

// handle does what a timer that has fired asks for, and acknowledges it then, or
// puts it where it waits for its next try.
func (t *Timers) handle(ctx context.Context, stopping <-chan struct{}, entry stream.Entry) {
	held, stop := stream.Keep(ctx, t.o.Lease, func(ctx context.Context) (bool, error) {
		return t.scripts.Hold(ctx, t.scripts.Fired(), t.o.Consumer, entry.ID)
	})
	defer stop()
	f, err := t.firing(entry)
	var more []string
	if err == nil {
		more, err = t.act(held, stopping, f)
	}
	outcome := "done"
	if err != nil {
		if held.Err() != nil {
			return // somebody else does it, now or after MinIdle
		}
		if again := (*postponed)(nil); errors.As(err, &again) {
			t.postpone(ctx, entry, again)
			return
		}
		reason := cut(err.Error())
		outcome, more = "failed", []string{"reason", reason}
		t.log.Warn("timer failed", "timer", cut(entry.Fields["name"]), "due", cut(entry.Fields["due"]), "err", err)
		err := stream.Insist(held, t.log, "quarantine a timer", func() error {
			return t.scripts.Quarantine(held, t.scripts.Fired(), entry.ID, entry.Fields, reason)
		})
		if err != nil {
			return
		}
	}
	// Also in a process that is about to stop: what is done need not be done again.
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
	defer cancel()
	err = t.scripts.TimerDone(quick, cut(entry.Fields["name"]), cut(entry.Fields["due"]), outcome, more...)
	if err = errors.Join(err, t.scripts.Ack(quick, t.scripts.Fired(), entry.ID)); err != nil {
		t.log.Warn("left for later", "timer", cut(entry.Fields["name"]), "err", err)
	}
}

// ackTime is how long an acknowledgement is worth a stop's patience.
const ackTime = 5 * time.Second

// cut keeps so much of a foreign text as an event has room for.
func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), 1024)], "\uFFFD") }

// firing reads an entry.
func (t *Timers) firing(entry stream.Entry) (firing, error) {
	f := firing{name: entry.Fields["name"]}
	var err error
	if f.due, err = strconv.ParseInt(entry.Fields["due"], 10, 64); err != nil || !scripts.ValidTimer(f.name) {
		return f, errors.New("not a firing: name and due are needed")
	}
	f.tries, _ = strconv.Atoi(entry.Fields["try"])
	var ok bool
	if f.Timer, f.values, ok = t.o.Timers.Match(f.name); ok {
		return f, nil
	}
	if !t.leaves(f.age(entry)) {
		return f, errors.New(reasonNoMatch)
	}
	return f, &postponed{error: errors.New(reasonNoMatch), wait: strangeWait + rand.N(strangeWait), tries: f.tries}
}

// age is how long ago the timer fired, by the clock of Redis, which has just put
// the time into the entry's id.
func (f firing) age(entry stream.Entry) time.Duration {
	text, _, _ := strings.Cut(entry.ID, "-")
	now, _ := strconv.ParseInt(text, 10, 64)
	late, _ := strconv.ParseInt(entry.Fields["late"], 10, 64)
	return time.Duration(now-f.due-late) * time.Millisecond
}

// act does the action, and tries again as the definition says. It returns what
// the event tells of it.
func (t *Timers) act(ctx context.Context, stopping <-chan struct{}, f firing) (more []string, err error) {
	for {
		switch {
		case f.Submit != nil:
			more, err = t.submit(ctx, f)
		case f.Append != nil:
			more, err = nil, t.append(ctx, f)
		default:
			more, err = nil, t.call(ctx, f)
		}
		switch {
		case err == nil:
			return more, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, ErrOutage):
			return nil, &postponed{error: err, wait: outageWait, tries: f.tries}
		}
		f.tries++
		if permanent := (*backoff.PermanentError)(nil); errors.As(err, &permanent) || errors.Is(err, ErrRefused) || f.tries > f.Retry.Retries {
			if f.tries > 1 {
				err = fmt.Errorf("after %d tries: %w", f.tries, err)
			}
			return nil, err
		}
		wait := f.wait(err)
		t.log.Info("timer is tried again", "timer", f.name, "wait", wait, "err", err)
		if wait > shortWait || !waited(stopping, wait) {
			return nil, &postponed{error: err, wait: wait, tries: f.tries}
		}
	}
}

// wait is how long it is until the next try: the definition says it, and the
// server can ask for more.
func (f firing) wait(err error) time.Duration {
	wait := f.Retry.Before(f.tries)
	if asked := (*backoff.RetryAfterError)(nil); errors.As(err, &asked) {
		wait = max(wait, asked.Duration)
	}
	return wait
}

// submit inserts a record, once for each firing, and pushes its id.
func (t *Timers) submit(ctx context.Context, f firing) ([]string, error) {
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
	err = stream.Insist(ctx, t.log, "push a timer's record", func() error {
		return final(t.scripts.AppendEntry(ctx, t.scripts.Jobs(), 0, "id", id))
	})
	return []string{"record", id}, err
}

// appended is about how many entries a stream keeps to which timers append.
const appended = 100_000

func (t *Timers) append(ctx context.Context, f firing) error {
	fields := []string{"timer", f.name, "due", strconv.FormatInt(f.due, 10)}
	for _, name := range slices.Sorted(maps.Keys(f.Append.Fields)) {
		fields = append(fields, name, f.Append.Fields[name].Fill(f.values, nil))
	}
	return stream.Insist(ctx, t.log, "append for a timer", func() error {
		return final(t.scripts.AppendEntry(ctx, f.Append.Stream, appended, fields...))
	})
}

// final says of an error of Redis whether the same would fail again.
func final(err error) error {
	if errors.Is(err, scripts.ErrBroken) {
		return stream.Final(backoff.Permanent(err))
	}
	return err
}
