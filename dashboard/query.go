package dashboard

import (
	"context"
	"errors"
	"time"
)

// errBusy is the error of a query that waited queryWait for others.
var errBusy = errors.New("other queries of the records are still running: try again in a moment")

// queries is a semaphore of queries of the records.
type queries chan struct{}

// run queries the records. The query continues after the browser disconnects, so that it counts until it
// ends. It ends at the deadline of its request.
func (q queries) run(ctx context.Context, f func(context.Context) error) error {
	wait := time.NewTimer(queryWait)
	defer wait.Stop()
	select {
	case q <- struct{}{}:
		defer func() { <-q }()
	case <-wait.C:
		return errBusy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, cancel := detached(ctx, recordsTimeout)
	defer cancel()
	return f(ctx)
}

// detached returns a context for work that others wait for, too: it ends after max or at the deadline of a
// request, but not when its browser disconnects.
func detached(request context.Context, max time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(max)
	if deadline, ok := request.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	return context.WithDeadline(context.WithoutCancel(request), end)
}
