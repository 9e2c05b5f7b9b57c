package scripts

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	turnScript  = load("rate")
	placeScript = load("slot")
)

// Turn gives a turn at a source, of which one comes in each distance of time, over all
// processes. It returns how long the caller waits for it; false where that would be
// longer than its patience, and it has no turn.
func (s *Scripts) Turn(ctx context.Context, source string, distance, patience time.Duration) (time.Duration, bool, error) {
	outcome, more, err := s.list(ctx, turnScript.call(ctx, []string{s.Turns(source)}, max(1, distance.Microseconds()), patience.Microseconds()))
	if err != nil {
		return 0, false, err
	}
	wait, _ := more[0].(int64)
	return time.Duration(wait) * time.Microsecond, outcome == OK, nil
}

// TakePlace takes one of so many places at a source, over all processes, or keeps the
// one that is held, for the time of a lease. False where all are taken.
func (s *Scripts) TakePlace(ctx context.Context, source, who string, places int, lease time.Duration) (bool, error) {
	outcome, err := s.outcome(ctx, placeScript.call(ctx, []string{s.Places(source)}, who, places, lease.Milliseconds()))
	return outcome == OK, err
}

// LeavePlace gives a place back.
func (s *Scripts) LeavePlace(ctx context.Context, source, who string) error {
	return s.send(ctx, redis.NewIntCmd(ctx, "zrem", s.Places(source), who))
}
