package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
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

// adoptHeard synchronizes the set of timers with the keys whose events arrived.
func (t *Timers) adoptHeard(ctx context.Context) (time.Duration, error) {
	t.mu.Lock()
	heard := t.events
	t.events = map[string]touched{}
	t.mu.Unlock()
	var events []scripts.TimerEvent
	for name, last := range heard {
		e := scripts.TimerEvent{Name: name, Event: last.event}
		if !last.set.IsZero() {
			e.Set, e.SetAgo = true, time.Since(last.set)
		}
		events = append(events, e)
	}
	err := t.adopt(ctx, events)
	if err != nil {
		// When Redis is back, what the events were about is to be seen there. An end
		// of a key from long ago could be of a timer that has fired since.
		t.scan.Ring()
	}
	return pause, err
}

func (t *Timers) adopt(ctx context.Context, events []scripts.TimerEvent) error {
	changed := false
	for batch := range slices.Chunk(events, most) {
		outcomes, err := t.scripts.Timers.Adopt(ctx, batch)
		changed = changed || slices.Contains(outcomes, scripts.OK)
		if err != nil {
			return err
		}
		if err := t.refuse(ctx, batch, outcomes); err != nil {
			return err
		}
	}
	if changed {
		t.fire.Ring()
	}
	return nil
}

// refuse quarantines timers with invalid names, and removes their keys.
func (t *Timers) refuse(ctx context.Context, events []scripts.TimerEvent, outcomes []scripts.Outcome) error {
	var refused []scripts.Firing
	for i, e := range events {
		if outcomes[i] == scripts.OK && !report.ValidTimer(e.Name) {
			t.log.Warn("quarantined timers", "key", t.scripts.Keys.Timers, "why", reasonName)
			refused = append(refused, scripts.Firing{DueTimer: scripts.DueTimer{Name: e.Name}, Verdict: scripts.TimerRefused, Reason: reasonName})
		}
	}
	_, err := t.scripts.Timers.Fire(ctx, refused)
	return err
}

// scanAll finds timers' keys whose events were missed: slowly all the time, and without pauses
// until its end when it is woken.
func (t *Timers) scanAll(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var r scanRound
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.scan.Rung:
			r = scanRound{fast: true}
		case <-timer.C:
		}
		timer.Reset(t.scanTurn(ctx, &r))
	}
}

// scanRound is the position of a scan over all keys.
type scanRound struct {
	cursor uint64
	fast   bool // until its end: the scan was woken
}

// scanTurn visits the next keys of a round, and returns the time until the next turn. A fast round
// stays fast whatever events arrive: it is for events that were missed.
func (t *Timers) scanTurn(ctx context.Context, r *scanRound) time.Duration {
	count, pages, rest := int64(scanCount), scanPages, scanPause
	if t.hears.Load() && !r.fast {
		count, pages, rest = heardCount, 1, heardPause
	}
	var err error
	if r.cursor, err = t.scanSome(ctx, r.cursor, count, pages); err != nil {
		if ctx.Err() == nil {
			t.log.Debug("could not scan for timers", "err", err)
		}
		return scanPause
	}
	if r.fast = r.fast && r.cursor != 0; r.fast {
		return time.Millisecond
	}
	return rest
}

// scanSome visits the next keys, and returns the cursor for the following ones, 0 at the end.
func (t *Timers) scanSome(ctx context.Context, cursor uint64, count int64, pages int) (uint64, error) {
	for range pages {
		names, next, err := t.scripts.Timers.Scan(ctx, cursor, count)
		if err != nil {
			return cursor, err
		}
		var events []scripts.TimerEvent
		for _, name := range names {
			events = append(events, scripts.TimerEvent{Name: name, Event: "scan"})
		}
		if err := t.adopt(ctx, events); err != nil {
			return cursor, err
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	return cursor, nil
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
