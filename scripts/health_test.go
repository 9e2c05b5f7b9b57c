package scripts

import (
	"testing"
	"time"
)

// TestHealth: one process measures a source, and all know it for a time.
func TestHealth(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	last := func(what, want string, measures bool) {
		t.Helper()
		if got, mine, err := s.Health.Last(ctx, "db", time.Hour, true); got.Text != want || got.Full || mine != measures || err != nil {
			t.Errorf("%s: %+v %t %v", what, got, mine, err)
		}
	}
	last("at first", "", true)
	last("while it is measured", "", false)
	if err := s.Health.Set(ctx, "db", "57", time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	last("then", "57", false)
	if _, mine, err := s.Health.Last(ctx, "other", time.Hour, true); !mine || err != nil {
		t.Errorf("another source: %t %v", mine, err)
	}
	client.PExpire(ctx, s.Keys.Health("db"), -1)
	last("later", "", true)
	client.PExpire(ctx, s.Keys.Health("db"), -1)
	last("if that process dies", "", true)
	if ttl := client.PTTL(ctx, s.Keys.Health("db")).Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("its key lives for %v", ttl)
	}
}

// TestRoom: before the next measurement, no more queries begin than have room, in all processes together.
func TestRoom(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	full := func(what string, begins, want bool) {
		t.Helper()
		if got, _, err := s.Health.Last(ctx, "db", time.Hour, begins); got.Text != "38" || got.Full != want || err != nil {
			t.Errorf("%s: %+v %v", what, got, err)
		}
	}
	two := 2
	if err := s.Health.Set(ctx, "db", "38", time.Hour, &two); err != nil {
		t.Fatal(err)
	}
	full("who only reads", false, false)
	full("the first", true, false)
	full("the second", true, false)
	full("the third", true, true)
	full("who only reads, then", false, true)
	if ttl := client.PTTL(ctx, s.Keys.Health("db")).Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("its key lives for %v", ttl)
	}
	if err := s.Health.Set(ctx, "db", "38", time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	full("without a limit", true, false)
}

// TestBackOff: nobody calls a source in its pause. Then one call at a time is tried until one succeeds.
func TestBackOff(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	may := func(what string, trial bool, least, most time.Duration, says string) {
		t.Helper()
		got, after, why, err := s.Health.MayCall(ctx, "api", time.Hour)
		if got != trial || after < least || after > most || why != says || err != nil {
			t.Errorf("%s: %t after %v because of %q %v", what, got, after, why, err)
		}
	}
	pause := func(d time.Duration, why string, want bool) {
		t.Helper()
		if set, err := s.Health.BackOff(ctx, "api", d, why); set != want || err != nil {
			t.Errorf("%s: %t %v", why, set, err)
		}
	}
	over := func() { client.HSet(ctx, s.Keys.Pause("api"), "until", time.Now().Add(-time.Second).UnixMilli()) }
	may("at first", false, 0, 0, "")
	pause(time.Hour, "429", true)
	pause(time.Minute, "503", false)
	may("in the pause", false, 59*time.Minute, time.Hour, "429")
	pause(2*time.Hour, "503", true)
	may("in a longer one", false, 119*time.Minute, 2*time.Hour, "503")
	if err := s.Health.Called(ctx, "api"); err != nil { // a call that began before
		t.Fatal(err)
	}
	may("after a call from before", false, 119*time.Minute, 2*time.Hour, "503")
	if ttl := client.PTTL(ctx, s.Keys.Pause("api")).Val(); ttl < 2*time.Hour || ttl > 3*time.Hour {
		t.Errorf("its key lives for %v", ttl)
	}

	over()
	may("after the pause", true, 0, 0, "")
	may("while one is tried", false, time.Millisecond, time.Second, "503")
	pause(time.Minute, "429", true)
	over()
	may("after that was refused", true, 0, 0, "")
	client.HSet(ctx, s.Keys.Pause("api"), "trial", time.Now().Add(-time.Second).UnixMilli())
	may("after one without a result", true, 0, 0, "")
	pause(0, "", true) // it failed
	may("after one that failed", true, 0, 0, "")
	may("while the next is tried", false, time.Millisecond, time.Second, "429")
	if err := s.Health.Called(ctx, "api"); err != nil {
		t.Fatal(err)
	}
	may("after one that succeeded", false, 0, 0, "")
	may("and the next one", false, 0, 0, "")
}
