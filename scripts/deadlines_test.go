package scripts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
)

func TestPassed(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	if got, err := s.Clock.Passed(ctx, 0, 10); err != nil || len(got.Passed) != 0 || got.Wait >= 0 {
		t.Fatalf("%+v %v", got, err)
	}
	now := time.Now().UnixMilli()
	for i, ago := range []int64{3000, 2000, 1000, -60_000} {
		if err := client.ZAdd(ctx, s.Keys.Deadlines, redis.Z{Member: i, Score: float64(now - ago)}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	first, err := s.Clock.Passed(ctx, 0, 2)
	if err != nil || fmt.Sprint(first.Passed) != "[0 1]" || first.Last != now-2000 || first.Wait != 0 {
		t.Fatalf("%+v %v", first, err)
	}
	second, err := s.Clock.Passed(ctx, first.Last, 2)
	if err != nil || fmt.Sprint(second.Passed) != "[2]" || second.Last < now-1 || second.Wait < 30*time.Second || second.Wait > 61*time.Second {
		t.Fatalf("%+v %v", second, err)
	}
	if third, err := s.Clock.Passed(ctx, second.Last, 2); err != nil || len(third.Passed) != 0 {
		t.Errorf("%+v %v", third, err)
	}
}

// TestPassedTogether: jobs that start together have the same deadline, and none of them is
// left out where a page ends.
func TestPassedTogether(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	at := time.Now().Add(-time.Minute).UnixMilli()
	for i := range 10 {
		client.ZAdd(t.Context(), s.Keys.Deadlines, redis.Z{Member: i, Score: float64(at + int64(i/3))})
	}
	var ids []string
	for after := int64(0); ; {
		got, err := s.Clock.Passed(t.Context(), after, 4)
		if err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, got.Passed...); got.Wait < 0 {
			break
		}
		after = got.Last
	}
	if strings.Join(ids, "") != "0123456789" {
		t.Errorf("%v", ids)
	}
}

// wakesAt is when the wake key ends; zero if it does not exist.
func wakesAt(t *testing.T, s *Scripts) int64 {
	t.Helper()
	at, err := s.rdb.PExpireTime(t.Context(), s.Keys.Wake).Result()
	if err != nil {
		t.Fatal(err)
	}
	return max(0, at.Milliseconds())
}

// deadlineOf is the deadline of a job (ms).
func deadlineOf(t *testing.T, s *Scripts, id string) int64 {
	t.Helper()
	at, err := s.rdb.ZScore(t.Context(), s.Keys.Deadlines, id).Result()
	if err != nil {
		t.Fatal(err)
	}
	return int64(at)
}

// TestTheWakeKeyEndsAtTheNextDeadline: an earlier one moves it nearer, a later one does
// not, and when the next one is no more it is found to be later.
func TestTheWakeKeyEndsAtTheNextDeadline(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	started(t, s, "hour", time.Hour, "l")
	if got, want := wakesAt(t, s), deadlineOf(t, s, "hour"); got != want {
		t.Errorf("the first: %d, not %d", got, want)
	}
	started(t, s, "minute", time.Minute, "l")
	if got, want := wakesAt(t, s), deadlineOf(t, s, "minute"); got != want {
		t.Errorf("an earlier one: %d, not %d", got, want)
	}
	started(t, s, "day", 24*time.Hour, "l")
	if got, want := wakesAt(t, s), deadlineOf(t, s, "minute"); got != want {
		t.Errorf("a later one: %d, not %d", got, want)
	}
	client.ZRem(ctx, s.Keys.Deadlines, "minute") // it has ended
	if got, err := s.Clock.Passed(ctx, 0, 10); err != nil || len(got.Passed) != 0 || got.Wait < 59*time.Minute {
		t.Fatalf("%+v %v", got, err)
	}
	if got, want := wakesAt(t, s), deadlineOf(t, s, "hour"); got != want {
		t.Errorf("renewed: %d, not %d", got, want)
	}
	client.Del(ctx, s.Keys.Wake) // as if it had been lost
	if _, err := s.Clock.Passed(ctx, 0, 10); err != nil {
		t.Fatal(err)
	}
	if got, want := wakesAt(t, s), deadlineOf(t, s, "hour"); got != want {
		t.Errorf("lost: %d, not %d", got, want)
	}
}

// TestAMovedDeadlineMovesTheWakeKeyNearer: one that is moved during a pause may be the
// next one then.
func TestAMovedDeadlineMovesTheWakeKeyNearer(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	started(t, s, "later", 24*time.Hour, "l")
	pausedJob(t, s, client, true, -time.Minute, 10*time.Minute)
	if _, err := s.Clock.Passed(ctx, 0, 10); err != nil {
		t.Fatal(err)
	}
	if got, want := wakesAt(t, s), deadlineOf(t, s, "later"); got != want {
		t.Fatalf("%d, not %d", got, want)
	}
	if outcome, _, err := s.Jobs.Expire(ctx, "1"); err != nil || outcome != Busy {
		t.Fatal(outcome, err)
	}
	if got, want := wakesAt(t, s), deadlineOf(t, s, "1"); got != want {
		t.Errorf("it ends at %d, the deadline is %d", got, want)
	}
}

// TestTheWakeKeysEventIsHeard: Redis publishes that the key has expired when it is touched
// after its time, not before, and Passed lists the job by then.
func TestTheWakeKeysEventIsHeard(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server, err := testenv.StartRedis(ctx, t.TempDir(), "--enable-debug-command", "yes")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	// The expiry cycle of Redis would find the key sooner or later.
	if err := client.Do(ctx, "DEBUG", "SET-ACTIVE-EXPIRE", "0").Err(); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Redis: client})
	heard := client.Subscribe(ctx, "__keyspace@0__:"+s.Keys.Wake)
	t.Cleanup(func() { _ = heard.Close() })
	if _, err := heard.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		for {
			m, err := heard.ReceiveTimeout(ctx, 10*time.Second)
			if err != nil {
				t.Fatalf("%s is not heard: %v", want, err)
			}
			if got := m.(*redis.Message).Payload; got == want {
				return
			} else if got == "expired" {
				t.Fatalf("%s instead of %s", got, want)
			}
		}
	}
	started(t, s, "soon", 50*time.Millisecond, "l")
	started(t, s, "later", time.Hour, "l")
	next("set")
	soon := deadlineOf(t, s, "soon")
	for {
		// In the millisecond of the deadline the key has not expired yet.
		if now, err := client.Time(ctx).Result(); err != nil || now.UnixMilli() <= soon {
			continue
		}
		got, err := s.Clock.Passed(ctx, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Passed) == 0 {
			continue
		}
		if fmt.Sprint(got.Passed) != "[soon]" {
			t.Errorf("passed: %v", got.Passed)
		}
		break
	}
	next("expired")
	next("set")
	if got, want := wakesAt(t, s), deadlineOf(t, s, "later"); got != want {
		t.Errorf("it ends at %d then, not at %d", got, want)
	}
}
