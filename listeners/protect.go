package listeners

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// Measured is a Connection whose server says how busy it is.
type Measured interface {
	// Measure asks the server for the measures that have a limit, without waiting for a query. An error has a
	// *report.Mistake if an operator can correct it: it matches fault.Denied if the account lacks a privilege, and is
	// ErrNoReplica if only a replica has the measure.
	Measure(ctx context.Context, limits report.Protect) (report.Health, error)
}

// ErrNoReplica is the error of a server that is asked for the lag of a replica and is none.
var ErrNoReplica error = &report.Mistake{
	Message: "the server is not a replica, and protect.replica_lag limits how far one is behind",
	Remedy:  "Write the DSN of the replica, or remove replica_lag",
}

const (
	// measureEvery is how long all processes use what one has measured.
	measureEvery = time.Second
	// measureTime is the timeout of a measurement. A server that does not answer in it counts as busy, at most for
	// maxUnanswered.
	measureTime   = 2 * time.Second
	maxUnanswered = time.Minute
	// idle is how long nobody asks here until it is forgotten that a server did not answer.
	idle = 10 * time.Minute
	// busyPoll is how often a task asks again that waits for a database, or for the process that measures it.
	busyPoll = 200 * time.Millisecond
)

// Guards keep queries from databases that are busy. All Runners of a process share them. They are safe for concurrent
// use.
type Guards struct {
	log *slog.Logger
	of  map[string]*guard // by source
}

// NewGuards returns the Guards of the sources that have limits. A source that is not Measured has none.
func NewGuards(sources map[string]Source, limits map[string]report.Protect, log *slog.Logger) *Guards {
	g := &Guards{log: log, of: map[string]*guard{}}
	if log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	for name, of := range limits {
		if server, ok := sources[name].(Measured); ok && of.Given() {
			g.of[name] = &guard{source: name, limits: of, server: server, log: g.log, timeout: measureTime,
				every: measureEvery}
		}
	}
	return g
}

// guard keeps queries from one database.
type guard struct {
	source         string
	limits         report.Protect
	server         Measured
	log            *slog.Logger
	timeout, every time.Duration // measureTime and measureEvery

	mu         sync.Mutex
	asked      time.Time // when a task last asked
	unanswered time.Time // since when the server has not answered; zero: it has
	said       bool      // the log says that it is not measured
}

// measurement is what all processes know of a source.
type measurement struct {
	report.Health
	Unanswered bool `json:"unanswered,omitempty"` // the server did not say how busy it is, and counts as busy
	Unknown    bool `json:"unknown,omitempty"`    // it counts as not busy
}

// busy is why no query begins.
type busy struct {
	reason string // a measure, or one of the others below
	text   string
}

// The reasons that are no measure.
const (
	reasonUnanswered = "unanswered" // the server does not say how busy it is
	reasonRefused    = "refused"    // the API refuses calls
)

// ask returns why no query begins now; nil: one may. Begins says that one then does, which counts until the next
// measurement. If another process measures the server, known is false.
func (g *guard) ask(ctx context.Context, health scripts.Health, begins bool) (why *busy, known bool, err error) {
	g.mu.Lock()
	if time.Since(g.asked) > idle {
		g.unanswered = time.Time{}
	}
	g.asked = time.Now()
	g.mu.Unlock()
	last, mine, err := health.Last(ctx, g.source, g.timeout+time.Second, begins)
	if err != nil || !mine && last.Text == "" {
		return nil, false, err
	}
	var m measurement
	if !mine {
		if json.Unmarshal([]byte(last.Text), &m) != nil {
			return nil, true, nil // of a newer version
		}
		return g.judge(m, last.Full && begins), true, nil
	}
	if m, err = g.measure(ctx); err != nil {
		return nil, false, err
	}
	why = g.judge(m, false)
	stored, err := json.Marshal(m)
	if err == nil {
		err = health.Set(ctx, g.source, string(stored), g.every, g.room(m, begins && why == nil))
	}
	return why, true, err
}

// room returns how many queries may begin before the next measurement, besides one that begins; nil: any number.
func (g *guard) room(m measurement, begins bool) *int {
	room, limited := g.limits.Room(m.Health)
	if !limited || m.Unknown {
		return nil
	}
	if begins {
		room--
	}
	return &room
}

// judge returns why no query begins; nil: one may. Full says that as many have begun as have room.
func (g *guard) judge(m measurement, full bool) *busy {
	if m.Unanswered {
		return &busy{reasonUnanswered, fmt.Sprintf("the database %s is busy: it did not say within %s how busy it is",
			g.source, g.timeout)}
	}
	reading, above := g.limits.Busy(m.Health)
	switch {
	case m.Unknown:
	case above:
		return &busy{string(reading.Measure), fmt.Sprintf("the database %s is busy: %s, and protect.%s is %s", g.source,
			reading.Text, reading.Measure, reading.Limit)}
	case full:
		return &busy{string(report.ThreadsRunning), fmt.Sprintf("the database %s is busy: with the queries that have "+
			"just begun, as many threads run as protect.threads_running allows", g.source)}
	}
	return nil
}

// measure measures the server. Its error is that of ctx.
func (g *guard) measure(ctx context.Context) (m measurement, err error) {
	limited, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	m.Health, err = g.server.Measure(limited, g.limits)
	late := limited.Err() != nil
	if ctx.Err() != nil {
		return m, context.Cause(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		if g.said {
			g.log.Info("it is measured again how busy a database is", "source", g.source)
		}
		g.unanswered, g.said = time.Time{}, false
		return m, nil
	}
	if late && g.unanswered.IsZero() {
		g.unanswered = time.Now()
	}
	if late && time.Since(g.unanswered) < maxUnanswered {
		return measurement{Unanswered: true}, nil
	}
	if !g.said {
		g.said = true
		g.log.Warn("cannot measure how busy a database is: its queries begin as if it were not", "source", g.source,
			"err", err)
	}
	return measurement{Unknown: true}, nil
}

// busy returns why no query of a task begins now; nil: one may. Begins is as in ask. It waits for a process that
// measures the server.
func (g *guard) busy(ctx context.Context, t *task, begins bool) (*busy, error) {
	for {
		known := false
		why, err := step.Insist(ctx, t.log, "read how busy a source is", func() (why *busy, err error) {
			why, known, err = g.ask(ctx, t.o.Scripts.Health, begins)
			return why, err
		}, step.UnlessFull)
		switch {
		case err != nil:
			return nil, away(err)
		case known:
			return why, nil
		}
		if err := step.Wait(ctx, busyPoll/8+rand.N(busyPoll/8)); err != nil {
			return nil, err
		}
	}
}

// guardOf returns the guard of a task's source; nil: its source has no limits.
func guardOf(t *task) *guard {
	if t.o.Guards == nil {
		return nil
	}
	return t.o.Guards.of[t.Listener.Source]
}

// wait waits while the database is too busy for another query, or returns a wait if patienceEnds. A nil guard does
// nothing.
func (g *guard) wait(ctx context.Context, r *tasks, t *task) error {
	if g == nil {
		return nil
	}
	counted := false
	for began := time.Now(); ; {
		back := t.slot.lend()
		why, err := g.busy(ctx, t, true)
		if err == nil && why != nil {
			err = say(ctx, t, why.text, job.BlameBusy)
		}
		if back(); err != nil || why == nil {
			return err
		}
		if !counted {
			why.count(t)
			counted = true
		}
		if r.patienceEnds(began) {
			return why.wait(slotPatience)
		}
		if err := r.stopped(ctx, t); err != nil {
			return err
		}
		if err := r.sleep(ctx, busyPoll/2+rand.N(busyPoll)); err != nil {
			return err
		}
	}
}

// puts puts a task off: it counts that, and returns a wait.
func (b *busy) puts(t *task, after time.Duration) error {
	b.count(t)
	return b.wait(after)
}

func (b *busy) wait(after time.Duration) error {
	return wait{after + rand.N(slotPatience), b.text, job.BlameBusy}
}

func (b *busy) count(t *task) { t.metrics.busy.WithLabelValues(t.Listener.Source, b.reason).Inc() }

// errBusy is whose fault it is if the server ends a transaction in a pause between two parts.
const errBusy fault.Kind = "the database was busy"

// rest waits between two parts while the database is too busy for another query. The transactions stay open, because
// they see the rows of one moment. After PatienceLater, it returns a wait.
func (d *divided) rest(ctx context.Context) error {
	g := guardOf(d.task)
	if g == nil {
		return nil
	}
	defer d.pause(&place{errBusy, "the database " + g.source, "busy", slow})()
	why, err := g.busy(ctx, d.task, false)
	if err != nil || why == nil {
		return err
	}
	why.count(d.task)
	d.log.Info("reading in parts pauses", "job", d.ID, "listener", d.Listener.Name, "because", why.text)
	if err := d.tellPause(ctx, 1, why.text); err != nil {
		return err
	}
	for end := time.Now().Add(PatienceLater); why != nil; {
		if time.Now().After(end) {
			return why.puts(d.task, slotPatience)
		}
		if err := step.Wait(ctx, busyPoll+rand.N(busyPoll)); err != nil {
			return err
		}
		if why, err = g.busy(ctx, d.task, false); err != nil {
			return err
		}
	}
	return d.tellPause(ctx, -1, "")
}

// tellPause counts a connection that pauses, or goes on. People see why the first one pauses, until all go on.
func (d *divided) tellPause(ctx context.Context, more int, why string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.rests
	d.rests += more
	if before > 0 && d.rests > 0 {
		return nil
	}
	return say(ctx, d.task, why, job.BlameBusy)
}
