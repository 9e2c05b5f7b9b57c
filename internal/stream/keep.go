package stream

import (
	"context"
	"errors"
	"time"
)

// ErrLost is the cause of the end of a context from Keep whose holder has lost
// what it held.
var ErrLost = errors.New("stream: another owner has taken over, or the job has ended")

// Keep calls renew three times in each lease until stop is called. The context
// that it returns ends with ErrLost when renew answers false. That renew fails
// changes nothing: every write is fenced anyway, and Redis may come back within
// the lease. Stop waits for the last call of renew.
func Keep(ctx context.Context, lease time.Duration, renew func(context.Context) (bool, error)) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-tick.C:
			}
			if ok, err := renew(held); err == nil && !ok {
				cancel(ErrLost)
			}
		}
	}()
	return held, func() {
		cancel(context.Canceled)
		<-done
	}
}
