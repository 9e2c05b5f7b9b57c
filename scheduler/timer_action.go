package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	values map[string]string
}

// id is the firing's identity: the same each time that its action is tried.
func (f firing) id() string { return f.name + "/" + strconv.FormatInt(f.due, 10) }

// handle does what a timer that has fired asks for, and acknowledges it then.
func (t *Timers) handle(ctx context.Context, entry stream.Entry) {
	held, stop := stream.Keep(ctx, t.o.Lease, func(ctx context.Context) (bool, error) {
		return t.scripts.Hold(ctx, t.scripts.Fired(), t.o.Consumer, entry.ID)
	})
	defer stop()
	f, err := t.firing(entry)
	var more []string
	if err == nil {
		more, err = t.act(held, f)
	}
	outcome := "done"
	if err != nil {
		if held.Err() != nil {
			return // somebody else does it, now or after MinIdle
		}
		outcome, more = "failed", []string{"reason", err.Error()}
		t.log.Warn("timer failed", "timer", entry.Fields["name"], "due", entry.Fields["due"], "err", err)
		err := stream.Insist(held, t.log, "quarantine a timer", func() error {
			return t.scripts.Quarantine(held, t.scripts.Fired(), entry.ID, entry.Fields, more[1])
		})
		if err != nil {
			return
		}
	}
	// Also in a process that is about to stop: what is done need not be done again.
	quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTime)
	defer cancel()
	err = t.scripts.TimerDone(quick, entry.Fields["name"], entry.Fields["due"], outcome, more...)
	if err = errors.Join(err, t.scripts.Ack(quick, t.scripts.Fired(), entry.ID)); err != nil {
		t.log.Warn("left for later", "timer", entry.Fields["name"], "err", err)
	}
}

// ackTime is how long an acknowledgement is worth a stop's patience.
const ackTime = 5 * time.Second

// firing reads an entry.
func (t *Timers) firing(entry stream.Entry) (firing, error) {
	f := firing{name: entry.Fields["name"]}
	var err error
	if f.due, err = strconv.ParseInt(entry.Fields["due"], 10, 64); err != nil || !scripts.ValidTimer(f.name) {
		return f, errors.New("not a firing: name and due are needed")
	}
	var ok bool
	if f.Timer, f.values, ok = t.o.Timers.Match(f.name); !ok {
		return f, errors.New(reasonNoMatch)
	}
	return f, nil
}

// act does the action, and tries again as the definition says. It returns what
// the event tells of it.
func (t *Timers) act(ctx context.Context, f firing) ([]string, error) {
	var do func() ([]string, error)
	switch {
	case f.Submit != nil:
		do = func() ([]string, error) { return t.submit(ctx, f) }
	case f.Append != nil:
		do = func() ([]string, error) { return nil, t.append(ctx, f) }
	default:
		do = func() ([]string, error) { return nil, t.call(ctx, f) }
	}
	tries := 0
	more, err := backoff.Retry(ctx, func() ([]string, error) {
		tries++
		return do()
	},
		backoff.WithBackOff(&delays{retry: f.Retry}),
		backoff.WithMaxTries(uint(f.Retry.Retries)+1),
		backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, wait time.Duration) {
			t.log.Info("timer is tried again", "timer", f.name, "wait", wait, "err", err)
		}),
	)
	if err != nil && tries > 1 {
		err = fmt.Errorf("after %d tries: %w", tries, err)
	}
	return more, err
}

// delays are those of a definition's retries.
type delays struct {
	retry report.Retry
	n     int
}

var _ backoff.BackOff = (*delays)(nil)

func (d *delays) NextBackOff() time.Duration {
	d.n++
	return d.retry.Before(d.n)
}

// Reset is called when a server has said how long to wait; the tries count on.
func (d *delays) Reset() {}

// outage calls f until it says something else than that a server is away.
func (t *Timers) outage(ctx context.Context, what string, f func() error) error {
	return stream.Insist(ctx, t.log, what, func() error {
		if err := f(); err != nil && !errors.Is(err, ErrOutage) {
			return stream.Final(err)
		} else {
			return err
		}
	})
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
	var id string
	err = t.outage(ctx, "insert a timer's record", func() error {
		id, err = t.o.Submitter.Submit(ctx, f.name, f.due, f.Submit.Report, text)
		return err
	})
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
