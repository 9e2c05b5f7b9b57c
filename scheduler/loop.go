package scheduler

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// loop calls once again and again: when the bell rings, and after the time that
// once returns, at most a second, and a second after an error that comes with no
// time. An error is said when it is another one than before.
func loop(ctx context.Context, log *slog.Logger, what string, bell bell, once func(context.Context) (time.Duration, error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-bell.rung:
		}
		sleep, err := once(ctx)
		if err == nil {
			said = ""
		} else {
			if sleep <= 0 {
				sleep = pause
			}
			if ctx.Err() == nil && said != err.Error() {
				said = err.Error()
				log.Warn("scheduler; trying again until it works", "what", what, "err", err)
			}
		}
		timer.Reset(min(sleep, pause))
	}
}

// bell wakes a loop. Rung many times before the loop looks, it wakes it once.
type bell struct {
	rung  chan struct{}
	later *atomic.Bool // it will ring in a while
}

func newBell() bell { return bell{rung: make(chan struct{}, 1), later: &atomic.Bool{}} }

func (b bell) ring() {
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

// ringIn rings after a while, or with those before that wait for it.
func (b bell) ringIn(d time.Duration) {
	if b.later.CompareAndSwap(false, true) {
		time.AfterFunc(d, func() {
			b.later.Store(false)
			b.ring()
		})
	}
}

// rest waits, and tells whether ctx lasted that long.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
