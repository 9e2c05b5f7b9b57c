package step

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// TestAHintEndsWhatIsLost: it is found by a message, long before the next renewal; what
// is not lost stays.
func TestAHintEndsWhatIsLost(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	channel := testmain.Name(t)
	listening, end := context.WithCancel(t.Context())
	var leases Leases
	done := make(chan struct{})
	go func() {
		defer close(done)
		Listen(listening, client, channel, leases.Hint)
	}()
	var lost atomic.Bool
	var asked atomic.Int64
	renew := func(context.Context) (bool, error) {
		asked.Add(1)
		return !lost.Load(), nil
	}
	held, stop := leases.Renew(t.Context(), "1", time.Hour, renew)
	other, stopOther := leases.Renew(t.Context(), "2", time.Hour, func(context.Context) (bool, error) { return false, nil })
	defer stopOther()
	publish := func(until func() bool) {
		t.Helper()
		for !until() {
			if err := client.Publish(t.Context(), channel, "1").Err(); err != nil {
				t.Fatal(err)
			}
			if Wait(t.Context(), 5*time.Millisecond) != nil {
				t.Fatal("not before the end of the test")
			}
		}
	}
	publish(func() bool { return asked.Load() > 0 })
	if held.Err() != nil {
		t.Error("what is not lost has ended")
	}
	lost.Store(true)
	publish(func() bool { return held.Err() != nil })
	if !errors.Is(context.Cause(held), ErrLost) || other.Err() != nil {
		t.Errorf("%v, and of another job %v", context.Cause(held), context.Cause(other))
	}
	stop()
	leases.Hint("1") // nothing is held any more
	if _, still := leases.timers["1"]; still || len(leases.timers) != 1 {
		t.Errorf("%v is held", leases.timers)
	}
	end()
	<-done
}
