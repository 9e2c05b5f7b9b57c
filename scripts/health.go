package scripts

import (
	"context"
	"strconv"
	"time"
)

// Measured is what was last measured of a source.
type Measured struct {
	Text string // as given to Set; empty: another process measures the source
	Full bool   // as many queries have begun since as Set allows
}

// Last returns what was last stored for a source with Set. Begins says that a query begins unless it is full. If
// nothing is stored, one caller has the lease to measure the source.
func (s Health) Last(ctx context.Context, source string, lease time.Duration, begins bool) (
	last Measured, measure bool, err error,
) {
	begin := 0
	if begins {
		begin = 1
	}
	outcome, more, err := s.list(ctx,
		call(ctx, "health", []string{s.shared.Health(source)}, lease.Milliseconds(), begin))
	if err != nil || outcome == OK {
		return last, err == nil, err
	}
	last.Text, _ = more[0].(string)
	room, _ := more[1].(int64)
	last.Full = room == 0
	return last, false, nil
}

// Set stores what was measured of a source, for all processes and a time. Room is how many queries may begin in it;
// nil: any number.
func (s Health) Set(ctx context.Context, source, text string, d time.Duration, room *int) error {
	limit := ""
	if room != nil {
		limit = strconv.Itoa(*room)
	}
	_, err := s.outcome(ctx, call(ctx, "measured", []string{s.shared.Health(source)}, text, d.Milliseconds(), limit))
	return err
}

// keptPause is how long the end of a pause is known. If no call succeeds in that time, the source counts as one
// without a pause.
const keptPause = 10 * time.Minute

// BackOff keeps all processes from calling a source for a time. An empty why is that of the last pause. It is false if
// a longer pause is set.
func (s Health) BackOff(ctx context.Context, source string, d time.Duration, why string) (bool, error) {
	outcome, err := s.outcome(ctx, call(ctx, "back_off", []string{s.shared.Pause(source)}, d.Milliseconds(), why,
		keptPause.Milliseconds()))
	return outcome == OK, err
}

// MayCall tells whether a source may be called. The first call after a pause is a trial: others wait until it has
// succeeded (Called), or the time of a lease is over. If it may not be called, ask again after a time.
func (s Health) MayCall(ctx context.Context, source string, lease time.Duration) (
	trial bool, after time.Duration, why string, err error,
) {
	outcome, more, err := s.list(ctx, call(ctx, "may_call", []string{s.shared.Pause(source)}, lease.Milliseconds()))
	if err != nil {
		return false, 0, "", err
	}
	n, _ := more[0].(int64)
	if outcome == OK {
		return n == 1, 0, "", nil
	}
	if len(more) > 1 {
		why, _ = more[1].(string)
	}
	return false, max(1, time.Duration(n)) * time.Millisecond, why, nil
}

// Called ends the trials after a pause, because a call has succeeded.
func (s Health) Called(ctx context.Context, source string) error {
	_, err := s.outcome(ctx, call(ctx, "called", []string{s.shared.Pause(source)}))
	return err
}
