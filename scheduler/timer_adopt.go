package scheduler

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

const (
	// scanCount is how many keys one SCAN visits, and scanPages how many of them
	// are made in a row.
	scanCount, scanPages = 1000, 5
	// scanPause is the time between two rows of pages.
	scanPause = time.Second
	// heardCount is how many keys are visited in a row, and heardPause the time between two
	// rows, where all events are heard: a scan then finds only what was missed for no known
	// reason. Few large rows take less CPU than many small ones.
	heardCount, heardPause = 500, 5 * time.Second
)

// adopter keeps the set of timers equal to the keys with a TTL that services set: from the events of
// these keys, and by scanning for those whose events were missed.
type adopter struct {
	scripts *scripts.Scripts
	log     *slog.Logger
	fire    step.Bell   // something may be due sooner
	heard   step.Bell   // there are events
	scan    step.Bell   // scan all keys
	hears   atomic.Bool // Touched is called for each event

	mu     sync.Mutex
	events map[string]touched // timer → what was heard of its key
	clock  stall
}

var _ TimerEvents = (*adopter)(nil)

func newAdopter(s *scripts.Scripts, log *slog.Logger) *adopter {
	return &adopter{
		scripts: s, log: log, events: map[string]touched{},
		fire: step.NewBell(), heard: step.NewBell(), scan: step.NewBell(),
	}
}

// Touched implements TimerEvents.
func (a *adopter) Touched(name, event string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if event == "expired" && a.clock.doubtful(time.Now()) {
		return
	}
	if len(a.events) >= maxHeard {
		a.scan.Ring()
		return
	}
	last := touched{event: event, set: a.events[name].set}
	if sets(event) {
		last.set = time.Now()
	}
	a.events[name] = last
	a.heard.Ring()
}

// touched is the last event of a key.
type touched struct {
	event string
	set   time.Time // when it was heard last that the key was set; zero: not since the last scan
}

// sets tells whether an event may start a key's TTL.
func sets(event string) bool {
	switch event {
	case "set", "expire", "rename_to", "restore", "copy_to":
		return true
	}
	return false
}

// Changed implements TimerEvents.
func (a *adopter) Changed() { a.fire.Ring() }

// Subscribed implements TimerEvents. A scan may be slow only if all events arrive.
func (a *adopter) Subscribed(all bool) {
	a.hears.Store(all)
	a.scan.Ring()
}

// Deaf implements TimerEvents.
func (a *adopter) Deaf() { a.hears.Store(false) }

// maxHeard is the maximum number of events that wait; a scan finds the keys of further ones.
const maxHeard = 100_000

// adoptHeard synchronizes the set of timers with the keys whose events arrived.
func (a *adopter) adoptHeard(ctx context.Context) (time.Duration, error) {
	a.mu.Lock()
	heard := a.events
	a.events = map[string]touched{}
	a.mu.Unlock()
	var events []scripts.TimerEvent
	for name, last := range heard {
		e := scripts.TimerEvent{Name: name, Event: last.event}
		if !last.set.IsZero() {
			e.Set, e.SetAgo = true, time.Since(last.set)
		}
		events = append(events, e)
	}
	err := a.adopt(ctx, events)
	if err != nil {
		// When Redis is back, what the events were about is to be seen there. An end
		// of a key from long ago could be of a timer that has fired since.
		a.scan.Ring()
	}
	return pause, err
}

func (a *adopter) adopt(ctx context.Context, events []scripts.TimerEvent) error {
	changed := false
	for batch := range slices.Chunk(events, most) {
		outcomes, err := a.scripts.Timers.Adopt(ctx, batch)
		changed = changed || slices.Contains(outcomes, scripts.OK)
		if err != nil {
			return err
		}
		if err := a.refuse(ctx, batch, outcomes); err != nil {
			return err
		}
	}
	if changed {
		a.fire.Ring()
	}
	return nil
}

// refuse quarantines timers with invalid names, and removes their keys.
func (a *adopter) refuse(ctx context.Context, events []scripts.TimerEvent, outcomes []scripts.Outcome) error {
	var refused []scripts.Firing
	for i, e := range events {
		if outcomes[i] == scripts.OK && !report.ValidTimer(e.Name) {
			a.log.Warn("quarantined timers", "key", a.scripts.Keys.Timers, "why", reasonName)
			refused = append(refused, scripts.Firing{DueTimer: scripts.DueTimer{Name: e.Name},
				Verdict: scripts.TimerRefused,
				Reason:  reasonName})
		}
	}
	_, err := a.scripts.Timers.Fire(ctx, refused)
	return err
}

// scanAll finds timers' keys whose events were missed: slowly all the time, and without pauses
// until its end when it is woken.
func (a *adopter) scanAll(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var r scanRound
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.scan.Rung:
			r = scanRound{fast: true}
		case <-timer.C:
		}
		timer.Reset(a.scanTurn(ctx, &r))
	}
}

// scanRound is the position of a scan over all keys.
type scanRound struct {
	cursor uint64
	fast   bool // until its end: the scan was woken
}

// scanTurn visits the next keys of a round, and returns the time until the next turn. A fast round
// stays fast whatever events arrive: it is for events that were missed.
func (a *adopter) scanTurn(ctx context.Context, r *scanRound) time.Duration {
	count, pages, rest := int64(scanCount), scanPages, scanPause
	if a.hears.Load() && !r.fast {
		count, pages, rest = heardCount, 1, heardPause
	}
	var err error
	if r.cursor, err = a.scanSome(ctx, r.cursor, count, pages); err != nil {
		if ctx.Err() == nil {
			a.log.Debug("could not scan for timers", "err", err)
		}
		return scanPause
	}
	if r.fast = r.fast && r.cursor != 0; r.fast {
		return time.Millisecond
	}
	return rest
}

// scanSome visits the next keys, and returns the cursor for the following ones, 0 at the end.
func (a *adopter) scanSome(ctx context.Context, cursor uint64, count int64, pages int) (uint64, error) {
	for range pages {
		names, next, err := a.scripts.Timers.Scan(ctx, cursor, count)
		if err != nil {
			return cursor, err
		}
		var events []scripts.TimerEvent
		for _, name := range names {
			events = append(events, scripts.TimerEvent{Name: name, Event: "scan"})
		}
		if err := a.adopt(ctx, events); err != nil {
			return cursor, err
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	return cursor, nil
}

// tick tells the stall that this process is alive.
func (a *adopter) tick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clock.tick(time.Now())
}

// stall notices when this process has hung. What it hears then is from before,
// and the expired event of a timer that has fired since would fire it again:
// Redis keeps only for a minute that it has fired.
type stall struct {
	last, until time.Time // by the clock on the wall, which does not stop
}

const (
	stalled  = 20 * time.Second // without a tick is a stall; ticks come every second
	doubting = 10 * time.Second // is how long old events may come after it
)

// tick says that the process is alive.
func (s *stall) tick(now time.Time) {
	now = now.Round(0)
	if !s.last.IsZero() && now.Sub(s.last) > stalled {
		s.until = now.Add(doubting)
	}
	s.last = now
}

// doubtful tells whether an event that is heard now may be an old one.
func (s *stall) doubtful(now time.Time) bool {
	s.tick(now)
	return now.Round(0).Before(s.until)
}
