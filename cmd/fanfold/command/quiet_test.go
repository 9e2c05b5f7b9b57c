package command

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/redis/go-redis/v9"
)

// keptLog is a log that a test reads while it is written.
type keptLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *keptLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// lines returns the lines that contain a text.
func (l *keptLog) lines(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// serveInto is serve with a log that is kept, and with a dashboard if an address is given.
func (s *stack) serveInto(log *keptLog, http ...string) (stop func()) {
	s.t.Helper()
	b := s.open(s.config)
	b.HTTP = strings.Join(http, "")
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Serve(ctx, process.Roles, slog.New(slog.NewTextHandler(log, nil))) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("serve: %v", err)
		}
	})
	s.t.Cleanup(stop)
	return stop
}

// TestRedisIsDownIsSaidOnce: a process logs an outage of Redis and its end once, and not for every
// role and every attempt to connect. The same holds for a Redis that accepts connections and does
// not answer.
func TestRedisIsDownIsSaidOnce(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(s *stack) (end func() error){
		"stopped": func(s *stack) func() error {
			s.redis.Stop()
			return func() error { return s.redis.Start(s.t.Context()) }
		},
		"hung": func(s *stack) func() error {
			pid, err := strconv.Atoi(s.b.Redis.InfoMap(s.t.Context(), "server").Val()["Server"]["process_id"])
			if err != nil {
				s.t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				s.t.Fatal(err)
			}
			return func() error { return syscall.Kill(pid, syscall.SIGCONT) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStackAlone(t, nil, twoListeners)
			var log keptLog
			stop := s.serveInto(&log)
			s.eventually("it serves", func() bool { return len(log.lines("msg=serving")) == 1 })
			end := outage(s)
			s.eventually("it is said", func() bool { return len(log.lines("Redis is down")) > 0 })
			before := len(log.lines("level=WARN")) + len(log.lines("level=ERROR"))
			// Long enough for the loops of all roles, which poll every second.
			timer := time.NewTimer(5 * time.Second)
			<-timer.C
			if after := len(log.lines("level=WARN")) + len(log.lines("level=ERROR")); after > before+2 {
				t.Errorf("%d lines in 5 s: %q", after-before, log.lines("level="))
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			s.eventually("it is back", func() bool { return len(log.lines("Redis is back")) > 0 })
			stop()
			if n, m := len(log.lines("Redis is down")), len(log.lines("Redis is back")); n != 1 || m != 1 {
				t.Errorf("down %d times, back %d times: %q", n, m, log.lines("Redis is"))
			}
		})
	}
}

// TestAKeyOfTheWrongTypeIsNamed: the log names a key of the wrong type, its type and the command
// that shows it. It has a few lines with a count instead of one every second.
func TestAKeyOfTheWrongTypeIsNamed(t *testing.T) {
	t.Parallel()
	s := newStack(t, twoListeners)
	var log keptLog
	stop := s.serveInto(&log)
	s.eventually("it serves", func() bool { return len(log.lines("msg=serving")) == 1 })
	ctx, sc := t.Context(), s.b.Partitions.First()
	s.b.Redis.Set(ctx, sc.Keys.Task("quick"), "x", 0)
	s.b.Redis.Del(ctx, sc.Keys.Events)
	s.b.Redis.Set(ctx, sc.Keys.Events, "x", 0)
	var members []redis.Z
	for _, id := range numbers(50) {
		s.insert("two", "")
		members = append(members, redis.Z{Score: 0, Member: id})
	}
	s.b.Redis.ZAdd(ctx, sc.Keys.Delayed, members...)
	named := func(key string) []string { return log.lines("the key " + key + " is a string, not a stream") }
	s.eventually("both keys are named", func() bool { return len(named(sc.Keys.Task("quick"))) > 0 && len(named(sc.Keys.Events)) > 0 })
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
	s.b.Redis.Del(ctx, sc.Keys.Task("quick"), sc.Keys.Events)
	stop()
	if len(log.lines("more like this")) == 0 {
		t.Errorf("nothing is counted: %q", log.lines("level="))
	}
}
