package scripts

import (
	"context"
	"strconv"
	"strings"
	"time"
)

var (
	firedLaterScript = load("fired_later")
	firedAgainScript = load("fired_again")
)

// FiredEntry is an entry of the stream of firings.
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

// FireLater moves an entry that a consumer works on to the set of waiting firings, until
// FireAgain brings it back as another entry. It is false if the entry is no longer that
// consumer's.
func (s Timers) FireLater(ctx context.Context, consumer, entry string, e FiredEntry, wait time.Duration) (bool, error) {
	outcome, err := s.outcome(ctx, firedLaterScript.call(ctx, []string{s.Keys.Fired(), s.Keys.WaitingFired()},
		Group, consumer, entry, e.member(), max(0, wait.Milliseconds())))
	return outcome == OK, err
}

// FireAgain brings back at most max entries that have waited long enough, and returns how
// long it is until the next one: 0 if one is due, negative if there is none.
func (s Timers) FireAgain(ctx context.Context, max int) (time.Duration, error) {
	next, _, err := s.list(ctx, firedAgainScript.call(ctx, []string{s.Keys.WaitingFired(), s.Keys.Fired()}, max))
	return time.Duration(next) * time.Millisecond, err
}
