package command

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// TestRedisIsDownIsSaidOnce: a process logs an outage of Redis and its end once, and not for every
// role and every attempt to connect.
func TestRedisIsDownIsSaidOnce(t *testing.T) {
	t.Parallel()
	saidOnce(t, func(s *stack) func() error {
		s.Server.Stop()
		return func() error { return s.Server.Start(s.Context()) }
	})
}

// TestRedisHangsIsSaidOnce: the same holds for a Redis that accepts connections and does not answer.
func TestRedisHangsIsSaidOnce(t *testing.T) {
	t.Parallel()
	saidOnce(t, func(s *stack) func() error {
		pid, err := strconv.Atoi(s.Redis.InfoMap(s.Context(), "server").Val()["Server"]["process_id"])
		if err != nil {
			s.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			s.Fatal(err)
		}
		return func() error { return syscall.Kill(pid, syscall.SIGCONT) }
	})
}

// saidOnce checks what a process logs during an outage, and after its end.
func saidOnce(t *testing.T, outage func(s *stack) (end func() error)) {
	s := newStackAlone(t, nil, twoListeners)
	var log testmain.Log
	stop := s.ServeInto(&log)
	s.Eventually("it serves", func() bool { return len(log.Lines("msg=serving")) == 1 })
	end := outage(s)
	s.Eventually("it is said", func() bool { return len(log.Lines("Redis is down")) > 0 })
	before := len(log.Lines("level=WARN")) + len(log.Lines("level=ERROR"))
	// Long enough for the loops of all roles, which poll every second.
	timer := time.NewTimer(5 * time.Second)
	<-timer.C
	if after := len(log.Lines("level=WARN")) + len(log.Lines("level=ERROR")); after > before+2 {
		t.Errorf("%d lines in 5 s: %q", after-before, log.Lines("level="))
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	s.Eventually("it is back", func() bool { return len(log.Lines("Redis is back")) > 0 })
	stop()
	if n, m := len(log.Lines("Redis is down")), len(log.Lines("Redis is back")); n != 1 || m != 1 {
		t.Errorf("down %d times, back %d times: %q", n, m, log.Lines("Redis is"))
	}
}

// TestAKeyOfTheWrongTypeIsNamed: the log names a key of the wrong type, its type and the command
// that shows it. It has a few lines with a count instead of one every second.
func TestAKeyOfTheWrongTypeIsNamed(t *testing.T) {
	t.Parallel()
	s := newStack(t, twoListeners)
	var log testmain.Log
	stop := s.ServeInto(&log)
	s.Eventually("it serves", func() bool { return len(log.Lines("msg=serving")) == 1 })
	ctx, sc := t.Context(), s.Partitions.First()
	s.Redis.Set(ctx, sc.Keys.Task("quick"), "x", 0)
	s.Redis.Del(ctx, sc.Keys.Events)
	s.Redis.Set(ctx, sc.Keys.Events, "x", 0)
	var members []redis.Z
	for _, id := range e2e.Numbers(50) {
		s.Records.Insert("two", "")
		members = append(members, redis.Z{Score: 0, Member: id})
	}
	s.Redis.ZAdd(ctx, sc.Keys.Delayed, members...)
	named := func(key string) []string { return log.Lines("the key " + key + " is a string, not a stream") }
	s.Eventually("both keys are named", func() bool { return len(named(sc.Keys.Task("quick"))) > 0 && len(named(sc.Keys.Events)) > 0 })
	timer := time.NewTimer(4 * time.Second)
	<-timer.C
	for _, key := range []string{sc.Keys.Task("quick"), sc.Keys.Events} {
		lines := named(key)
		if len(lines) > 6 {
			t.Errorf("%d lines: %q", len(lines), lines)
		}
		if !strings.Contains(lines[0], "redis-cli TYPE '"+key+"'") {
			t.Errorf("%q", lines[0])
		}
	}
	s.Redis.Del(ctx, sc.Keys.Task("quick"), sc.Keys.Events)
	stop()
	if len(log.Lines("more like this")) == 0 {
		t.Errorf("nothing is counted: %q", log.Lines("level="))
	}
}
