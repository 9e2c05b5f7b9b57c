package scripts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
	"github.com/redis/go-redis/v9"
)

// recentTimer is how long it is known that Fanfold itself deleted a timer's key. Events about
// that come within milliseconds, or later in a process that hangs.
const recentTimer = time.Minute

// MaxMillis is the lowest score that is too high for milliseconds: it would be after the year
// 5138, and most likely it is in microseconds or nanoseconds.
const MaxMillis = 1e14

// DueTimer is a timer that is due, or whose score is no time.
type DueTimer struct {
	Name   string
	Due    int64  // ms, if Finite
	Finite bool   // the score is a time
	Score  string // if not Finite
	Anchor string // what Firing.Anchor said when this due time was set; empty for none
}

// Due lists at most max timers that are due, after skipping some, and those whose score
// is not a time. It also returns the time by the server's clock, and how long it is until
// the next timer is due: 0 if it must be called again to know, negative if there is none.
func (s Timers) Due(ctx context.Context, max, skip int) (due []DueTimer, now time.Time, wait time.Duration, err error) {
	next, more, err := s.list(ctx, call(ctx, "timers",
		[]string{s.Keys.Timers, s.Keys.TimerAnchors, s.Keys.PausedTimers}, max, skip))
	if err != nil {
		return nil, now, 0, err
	}
	if len(more)%3 != 1 {
		return nil, now, 0, fmt.Errorf("script timers: %w: %v", ErrReply, more)
	}
	ms, _ := more[0].(int64)
	for i := 1; i < len(more); i += 3 {
		t := DueTimer{}
		t.Name, _ = more[i].(string)
		score, _ := more[i+1].(string)
		if score, none := strings.CutPrefix(score, "none"); none {
			t.Score = score
		} else if t.Due, err = strconv.ParseInt(score, 10, 64); err == nil {
			t.Finite = true
		}
		t.Anchor, _ = more[i+2].(string)
		due = append(due, t)
	}
	return due, time.UnixMilli(ms), time.Duration(next) * time.Millisecond, nil
}

// Verdict is what becomes of a timer that is due.
type Verdict string

// The verdicts.
const (
	TimerFired   Verdict = "fired"
	TimerSkipped Verdict = "skipped"
	TimerPaused  Verdict = "paused"  // it does not fire until it is resumed
	TimerRefused Verdict = "refused" // quarantined
)

// Firing says what becomes of a timer.
type Firing struct {
	DueTimer
	Verdict Verdict
	Reason  string // of a refusal or a pause
	Next    int64  // ms; 0: the timer ends
	Anchor  string // kept with Next
}

// Fire fires, skips, pauses or refuses timers, every one once, however many schedulers try,
// in one round trip. The outcome is OK, Already if the timer's key says that it is due later
// or no more, or Busy if the set says so.
func (s Timers) Fire(ctx context.Context, firings []Firing) ([]Outcome, error) {
	cmds := make([]redis.Cmder, len(firings))
	for i, f := range firings {
		target, next, due := s.Keys.Fired, "", strconv.FormatInt(f.Due, 10)
		switch f.Verdict {
		case TimerRefused:
			target = s.Keys.Quarantined
		case TimerPaused:
			target = s.Keys.PausedTimers
		}
		if f.Next > 0 {
			next = strconv.FormatInt(f.Next, 10)
		}
		if !f.Finite {
			due = "none"
		}
		cmds[i] = call(ctx, "fire", []string{s.Keys.Timers, s.Keys.TimerAnchors, s.Keys.RecentTimers,
			s.Keys.Timer(f.Name), s.Keys.Events, target, s.Keys.PausedTimers},
			f.Name, due, string(f.Verdict), next, f.Anchor, f.Reason, s.events, QuarantineCap,
			recentTimer.Milliseconds())
	}
	return s.each(ctx, cmds)
}

// TimerEvent is an event of a timer's key.
type TimerEvent struct {
	Name  string
	Event string // as Redis names it, such as set or expired; "scan": the key was found
	// Set says that the key was set before, which is not adopted yet, and SetAgo how long
	// ago that event was received.
	Set    bool
	SetAgo time.Duration
}

// setMargin is how much later the event of a change may be received.
const setMargin = 2 * time.Second

// Adopt brings the set of timers in line with the keys of events, in one round trip. The
// outcome is OK if that changed the set, and Busy otherwise.
func (s Timers) Adopt(ctx context.Context, events []TimerEvent) ([]Outcome, error) {
	cmds := make([]redis.Cmder, len(events))
	for i, e := range events {
		ago := ""
		if e.Set {
			ago = strconv.FormatInt((e.SetAgo + setMargin).Milliseconds(), 10)
		}
		cmds[i] = call(ctx, "adopt", []string{s.Keys.Timer(e.Name), s.Keys.Timers, s.Keys.PausedTimers,
			s.Keys.RecentTimers, s.Keys.TimerAnchors},
			e.Name, e.Event, recentTimer.Milliseconds(), ago)
	}
	return s.each(ctx, cmds)
}

// each runs commands that answer with an outcome alone. The error is the first one; the
// other commands have had their effect.
func (s Timers) each(ctx context.Context, cmds []redis.Cmder) ([]Outcome, error) {
	if len(cmds) == 0 {
		return nil, nil
	}
	if err := s.do(ctx, cmds...); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(cmds))
	var failed error
	for i, c := range cmds {
		n, err := c.(*redis.Cmd).Int64()
		outcomes[i] = Outcome(n)
		if err != nil && failed == nil {
			failed = asError(nameOf(c), err)
		}
	}
	return outcomes, failed
}

// FiredEntry is an entry of a stream of firings.
type FiredEntry struct {
	Name string
	Due  string // ms
	Late string // ms by which it fired after that; empty if that is not known
	Try  int    // how often its action was tried before
}

// member is what the set of waiting firings has.
func (e FiredEntry) member() string {
	return strings.Join([]string{e.Name, e.Due, e.Late, strconv.Itoa(e.Try)}, " ")
}

// FireLater moves an entry of a stream that a consumer works on to the set of waiting firings, until
// FireAgain returns it as another entry. It is false if the entry is no longer that
// consumer's.
func (s Timers) FireLater(ctx context.Context, stream, consumer, entry string, e FiredEntry,
	wait time.Duration) (bool, error) {
	outcome, err := s.outcome(ctx, call(ctx, "fired_later", []string{stream, s.Keys.WaitingFired},
		Group, consumer, entry, e.member(), max(0, wait.Milliseconds())))
	return outcome == OK, err
}

// FireAgain returns at most max entries that have waited long enough to their streams, and returns
// how long it is until the next one: 0 if one is due, negative if there is none.
func (s Timers) FireAgain(ctx context.Context, max int) (time.Duration, error) {
	next, _, err := s.list(ctx, call(ctx, "fired_again", []string{s.Keys.WaitingFired, s.Keys.Fired, s.Keys.Finished},
		max, job.EndPrefix))
	return time.Duration(next) * time.Millisecond, err
}
