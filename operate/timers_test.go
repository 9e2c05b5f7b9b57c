package operate

import (
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/scripts"
)

// TestTimers sets, pauses, resumes, fires and removes a timer, in the partition that has it.
func TestTimers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, at := acting(t), time.Now().Add(time.Hour).Truncate(time.Millisecond)
	for _, name := range []string{"beep-1", "beep-2", "beep-3"} {
		b.refused(b.Timers.Exists(ctx, name), scripts.ErrNoTimer)
		b.ok(b.Timers.Check(name, true))
		b.ok(b.Timers.Set(ctx, name, at))
		b.ok(b.Timers.Exists(ctx, name))
		if due, err := b.Timers.Pause(ctx, name); err != nil || !due.Equal(at) {
			t.Errorf("%v %v", due, err)
		}
		b.ok(b.Timers.Exists(ctx, name)) // also while it is paused
		if due, err := b.Timers.Resume(ctx, name); err != nil || !due.Equal(at) {
			t.Errorf("%v %v", due, err)
		}
		b.ok(b.Timers.Remove(ctx, name))
		b.refused(b.Timers.Remove(ctx, name), scripts.ErrNoTimer)
		_, err := b.Timers.Fire(ctx, name)
		b.ok(err)
		if n := b.redis.XLen(ctx, b.all.Of(name).Keys.Fired).Val(); n == 0 {
			t.Errorf("%s has not fired", name)
		}
	}
	b.refused(b.Timers.Check("boop-1", true), fault.Input)
	b.refused(b.Timers.Check(strings.Repeat("x", 201), false), fault.Input)
}

// TestSchedules pauses, resumes and fires a schedule, in the first partition. It is removed from the configuration only.
func TestSchedules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, name := acting(t), b.inspect.Config.Timers.Schedules()["slow"][0].Key.String()
	b.ok(b.Timers.Check(name, true))
	b.refused(b.Timers.Exists(ctx, name), scripts.ErrNoTimer)
	b.ok(b.Timers.Set(ctx, name, time.Now().Add(time.Hour)))
	if n := b.redis.ZCard(ctx, b.all.First().Keys.Timers).Val(); n != 1 {
		t.Errorf("the first partition has %d timers", n)
	}
	_, err := b.Timers.Pause(ctx, name)
	b.ok(err)
	b.refused(b.Timers.Remove(ctx, name), fault.Input)
	_, err = b.Timers.Resume(ctx, name)
	b.ok(err)
	_, err = b.Timers.Fire(ctx, name)
	b.ok(err)
	b.ok(b.Timers.Exists(ctx, name)) // it repeats
	gone := "schedule:slow:000000-000000"
	b.refused(b.Timers.Check(gone, true), fault.Input)
	b.ok(b.Timers.Set(ctx, gone, time.Now().Add(time.Hour)))
	b.ok(b.Timers.Remove(ctx, gone))
}
