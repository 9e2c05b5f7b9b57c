package scheduler

import (
	"context"
	"time"
)

const (
	// outageWait is the time between two tries where a server is away.
	outageWait = 3 * time.Second
	// strangeWait is the minimum time after which another process may read a firing
	// that no definition here matches, and a half of the most: with the same time
	// always, it could be the same process that reads it again every time.
	strangeWait = time.Second
)

// bringBack brings firings back that have waited long enough, and returns how
// long it is until the next one.
func (t *Timers) bringBack(ctx context.Context) (time.Duration, error) {
	wait, err := t.scripts.Timers.FireAgain(ctx, most)
	if wait < 0 {
		wait = pause
	}
	return wait, err
}
