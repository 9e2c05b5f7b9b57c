package scheduler

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// TestNotificationsOff has a server that publishes nothing and lets nobody change
// that: sweeps find what is due, and it is said once.
func TestNotificationsOff(t *testing.T) {
	t.Parallel()
	b, _ := private(t, "--notify-keyspace-events", "", "--rename-command", "CONFIG", "")
	registry := b.run("a")
	b.until("it is said", func() bool { return b.said("level=WARN") == 1 })
	b.startMany(20, 500*time.Millisecond, time.Second)
	if err := b.client.ZAdd(t.Context(), b.s.Keys.Delayed, redis.Z{Score: 1, Member: "1"}).Err(); err != nil {
		t.Fatal(err)
	}
	b.allFail()
	b.until("the foreign id is moved", func() bool { return b.client.XLen(t.Context(), b.s.Keys.Jobs).Val() == 1 })
	if events, sweeps := found(t, registry); events != 0 || sweeps != 20 {
		t.Errorf("%v by event, %v by sweep", events, sweeps)
	}
	b.until("it has tried again", func() bool { return value(t, registry, "fanfold_resubscriptions_total", "") >= 2 })
	if said := b.said("level=WARN") + b.said("to enable keyspace notifications"); said != 2 || value(t, registry, "fanfold_notifications_heard", "") != 0 {
		t.Errorf("said %d times:\n%s", said, &b.log)
	}
}

// TestNotificationsForbidden has a user that may not CONFIG, on a server where
// somebody else switches them on later.
func TestNotificationsForbidden(t *testing.T) {
	t.Parallel()
	b, _ := private(t, "--notify-keyspace-events", "")
	ctx := t.Context()
	if err := b.client.Do(ctx, "acl", "setuser", "worker", "on", ">secret", "~*", "&*", "+@all", "-config").Err(); err != nil {
		t.Fatal(err)
	}
	o := *b.client.(*redis.Client).Options()
	o.Username, o.Password = "worker", "secret"
	worker := redis.NewClient(&o)
	defer worker.Close()
	b.connect(worker)
	registry := b.run("a")
	b.until("it is said", func() bool { return b.said("level=WARN") == 1 && b.said("NOPERM") == 1 })
	if err := b.client.ConfigSet(ctx, "notify-keyspace-events", "KEA").Err(); err != nil {
		t.Fatal(err)
	}
	b.hears(registry, 1)
	b.startMany(20, 500*time.Millisecond, time.Second)
	b.allFail()
	if events, _ := found(t, registry); events == 0 {
		t.Error("no event was heard")
	}
}

// TestNotificationsAreSwitchedOn beside those that others want.
func TestNotificationsAreSwitchedOn(t *testing.T) {
	t.Parallel()
	b, _ := private(t, "--notify-keyspace-events", "El")
	events := &timerEvents{touched: map[string]int{}}
	b.options.Timers = events
	registry := b.run("a")
	b.hears(registry, 1)
	got := b.client.ConfigGet(t.Context(), notifySetting).Val()[notifySetting]
	for _, flag := range "KEzg$xl" {
		if !strings.ContainsRune(got, flag) {
			t.Errorf("%q has no %c", got, flag)
		}
	}
	// Somebody switches some of them off, which the canary does not hear.
	if err := b.client.ConfigSet(t.Context(), notifySetting, "Kx").Err(); err != nil {
		t.Fatal(err)
	}
	b.until("they are switched on again", func() bool {
		return withFlags(b.client.ConfigGet(t.Context(), notifySetting).Val()[notifySetting]) == b.client.ConfigGet(t.Context(), notifySetting).Val()[notifySetting]
	})
	b.until("timers are told that they may have missed something", func() bool {
		subscribed, _ := events.hearing()
		return subscribed == 2
	})
	for flags, want := range map[string]string{"": notifyFlags, "AK": "AK", "KEA": "KEA", "xE": "xEKzg$", "g$xzK": "g$xzK"} {
		if got := withFlags(flags); got != want {
			t.Errorf("%q becomes %q, not %q", flags, got, want)
		}
	}
}

// TestAnotherDB hears the channels of its own db.
func TestAnotherDB(t *testing.T) {
	t.Parallel()
	b, server := private(t)
	b = newBundle(t, redis.NewClient(&redis.Options{Addr: server.Addr, DB: 3}))
	registry := b.run("a")
	b.hears(registry, 1)
	b.startMany(10, 500*time.Millisecond, 500*time.Millisecond)
	b.allFail()
	if events, _ := found(t, registry); events == 0 {
		t.Error("no event was heard")
	}
}

// TestCanaryInAFullRedis is set although nothing else is, and what is over its
// deadline fails.
func TestCanaryInAFullRedis(t *testing.T) {
	t.Parallel()
	b, _ := private(t)
	b.startMany(10, 500*time.Millisecond, 500*time.Millisecond)
	if err := b.client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	registry := b.run("a")
	b.hears(registry, 1)
	b.allFail()
	if err := b.client.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
}

// TestKilledSubscriptions are made anew, and no timeout is lost.
func TestKilledSubscriptions(t *testing.T) {
	t.Parallel()
	b, _ := private(t)
	events := &timerEvents{touched: map[string]int{}}
	b.options.Timers = events
	registry := b.run("a")
	b.hears(registry, 1)
	b.startMany(60, 500*time.Millisecond, 3*time.Second)
	for range 10 {
		if err := b.client.Do(t.Context(), "client", "kill", "type", "pubsub").Err(); err != nil {
			t.Fatal(err)
		}
		_ = step.Wait(t.Context(), 300*time.Millisecond)
	}
	b.allFail()
	b.hears(registry, 1)
	if n := value(t, registry, "fanfold_resubscriptions_total", ""); n == 0 {
		t.Error("nothing was killed")
	}
	if subscribed, deaf := events.hearing(); subscribed < 2 || deaf == 0 {
		t.Errorf("timers were told %d times that they hear, and %d times that they do not", subscribed, deaf)
	}
}

// TestARestartOfRedis in the middle of deadlines loses none of them.
func TestARestartOfRedis(t *testing.T) {
	t.Parallel()
	b, server := private(t, "--appendfsync", "always", "--notify-keyspace-events", "")
	registry := b.run("a")
	b.hears(registry, 1) // what was switched on is gone with the restart
	b.startMany(60, 500*time.Millisecond, 3*time.Second)
	_ = step.Wait(t.Context(), time.Second)
	server.Kill()
	_ = step.Wait(t.Context(), time.Second)
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.allFail()
	b.until("it has subscribed again", func() bool { return value(t, registry, "fanfold_resubscriptions_total", "") > 0 })
	b.hears(registry, 1)
}

// touchedTimers notes what it is told of timers' keys.
type touchedTimers struct {
	mu     sync.Mutex
	events []string
}

func (*touchedTimers) Changed()        {}
func (*touchedTimers) Subscribed(bool) {}
func (*touchedTimers) Deaf()           {}
func (l *touchedTimers) Touched(name, event string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, name+" "+event)
}

func (l *touchedTimers) has(event string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.events, event)
}

// TestWhatRedisReplaysIsNotNew: while it loads its append-only file, Redis takes a
// subscription and publishes what the file says. What the file says of the past of
// a timer's key is not what happens to the timer now.
func TestWhatRedisReplaysIsNotNew(t *testing.T) {
	t.Parallel()
	b, server := private(t, "--appendfsync", "always")
	timers := &touchedTimers{}
	b.options.Timers = timers
	registry := b.run("a")
	b.hears(registry, 1)
	// Redis looks after its clients each 1024 commands, and loads them for seconds.
	pipe := b.client.Pipeline()
	for range 20_000 {
		pipe.Incr(t.Context(), "other")
	}
	key := b.s.Keys.Timer("msg-1")
	pipe.Set(t.Context(), key, "", time.Hour)
	pipe.Del(t.Context(), key)
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.until("it is heard when it happens", func() bool { return timers.has("msg-1 del") })
	server.Kill()
	timers.mu.Lock()
	timers.events = nil
	timers.mu.Unlock()
	if err := server.Start(t.Context(), "--key-load-delay", "100"); err != nil {
		t.Fatal(err)
	}
	b.hears(registry, 1)
	b.client.Set(t.Context(), b.s.Keys.Timer("msg-2"), "", time.Hour)
	b.until("what is new is heard", func() bool { return timers.has("msg-2 set") })
	timers.mu.Lock()
	defer timers.mu.Unlock()
	for _, event := range timers.events {
		if strings.HasPrefix(event, "msg-1 ") {
			t.Errorf("%s was told, and was long ago", event)
		}
	}
}

// silenced is a connection of which nothing is heard any more in a hole, once it has subscribed.
type silenced struct {
	net.Conn
	hole       *atomic.Bool
	subscribes atomic.Bool
}

func (c *silenced) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("\r\nsubscribe\r\n")) {
		c.subscribes.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *silenced) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.subscribes.Load() || !c.hole.Load() {
			return n, err
		}
	}
}

// TestAHalfOpenConnection is open and silent: the canary finds that out, and
// meanwhile the sweep finds the timeouts.
func TestAHalfOpenConnection(t *testing.T) {
	t.Parallel()
	b, server := private(t)
	var hole atomic.Bool
	through := redis.NewClient(&redis.Options{Addr: server.Addr, ContextTimeoutEnabled: true, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &silenced{Conn: conn, hole: &hole}, err
	}})
	t.Cleanup(func() { _ = through.Close() })
	b.connect(through)
	registry := b.run("a")
	b.hears(registry, 1)
	hole.Store(true)
	b.startMany(20, time.Millisecond, 3*time.Second)
	b.hears(registry, 0)
	b.allFail()
	if _, sweeps := found(t, registry); sweeps < 10 {
		t.Errorf("only %v were found by sweeps", sweeps)
	}
	hole.Store(false)
	b.hears(registry, 1)
	if n := value(t, registry, "fanfold_resubscriptions_total", ""); n == 0 {
		t.Error("it hears over the old connection")
	}
	if b.said("canary no longer arrives") == 0 {
		t.Errorf("not the canary found it:\n%s", &b.log)
	}
}

// TestAStoppedProcess does not run for seconds in which timeouts come. Alone, it
// makes up for that; with another one, nothing is late.
func TestAStoppedProcess(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprintf("alone=%v", alone), func(t *testing.T) {
			t.Parallel()
			b, _ := private(t)
			process := b.process()
			b.until("the process is at work", func() bool { return b.client.Exists(t.Context(), b.s.Keys.Lock("ready")).Val() == 1 })
			if !alone {
				b.hears(b.run("a"), 1)
			}
			b.startMany(30, time.Second, 3*time.Second)
			if err := process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if alone {
				_ = step.Wait(t.Context(), 5*time.Second)
				if err := process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}
			b.allFail()
		})
	}
}

// process runs TestSchedulerProcess in a process of its own until the test ends.
func (b *bundle) process() *os.Process {
	b.t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestSchedulerProcess$")
	place := url.Values{"addr": {b.client.(*redis.Client).Options().Addr}, "prefix": {b.s.Keys.Prefix}, "hash": {b.s.Keys.Hash}}
	c.Env = append(os.Environ(), "FANFOLD_TEST_SCHEDULER="+place.Encode())
	c.Stdout, c.Stderr = b, b
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c.Process
}

// TestSchedulerProcess is no test, but what process runs.
func TestSchedulerProcess(t *testing.T) {
	place, err := url.ParseQuery(os.Getenv("FANFOLD_TEST_SCHEDULER"))
	if err != nil || place.Get("addr") == "" {
		t.Skip("only as a process of another test")
	}
	client := redis.NewClient(&redis.Options{Addr: place.Get("addr")})
	s := scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: place.Get("prefix"), Hash: place.Get("hash")}})
	scheduler, err := New(Options{Scripts: s, Consumer: "process"})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for !scheduler.hears.Load() {
			_ = step.Wait(t.Context(), 10*time.Millisecond)
		}
		client.Set(t.Context(), s.Keys.Lock("ready"), "", 0)
	}()
	_ = scheduler.Run(t.Context()) // until it is killed
}

// timerEvents is a TimerEvents that remembers.
type timerEvents struct {
	mu      sync.Mutex
	touched map[string]int
	changed int
	all     []bool // what Subscribed said
	deaf    int
}

func (e *timerEvents) Touched(name, event string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.touched[name+" "+event]++
}

func (e *timerEvents) Changed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changed++
}

func (e *timerEvents) Subscribed(all bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, all)
}

func (e *timerEvents) Deaf() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deaf++
}

func (e *timerEvents) hearing() (subscribed, deaf int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.all), e.deaf
}

// said returns what Subscribed has said.
func (e *timerEvents) said() []bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// TestTimersAreTold what happens to them, and not to the keys of others, although
// the prefix is full of characters that mean something in a pattern.
func TestTimersAreTold(t *testing.T) {
	t.Parallel()
	b := shared(t)
	keys := report.Keys{Prefix: b.s.Keys.Prefix + "[a]*?^:", Hash: b.s.Keys.Hash + "[b]*-"}
	b.s = scripts.New(scripts.Options{Redis: b.client, Keys: keys})
	events := &timerEvents{touched: map[string]int{}}
	b.options.Scripts, b.options.Timers = b.s, events
	registry := b.run("a")
	b.hears(registry, 1)
	ctx := t.Context()
	b.client.Set(ctx, strings.Replace(b.s.Keys.Timer("x"), "[a]*?^", "abc^", 1), "", time.Hour)
	b.client.Set(ctx, b.s.Keys.Timer("x:y"), "", 20*time.Millisecond)
	b.client.Set(ctx, b.s.Keys.Timer("z"), "", time.Hour)
	b.client.Del(ctx, b.s.Keys.Timer("z"))
	b.client.ZAdd(ctx, b.s.Keys.Timers, redis.Z{Score: 1, Member: "x"})
	b.start("1", 300*time.Millisecond)
	b.allFail()
	b.until("the timers are told", func() bool {
		b.client.Exists(ctx, b.s.Keys.Timer("x:y"))
		events.mu.Lock()
		defer events.mu.Unlock()
		return events.touched["x:y expired"] == 1 && events.touched["z del"] == 1 && events.changed == 1
	})
	events.mu.Lock()
	defer events.mu.Unlock()
	if len(events.all) != 1 || events.touched["x:y set"] != 1 || events.touched["x set"] != 0 {
		t.Errorf("%+v", events)
	}
}
