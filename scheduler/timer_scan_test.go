package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// scanned is a hook of a client that notes the COUNT of each SCAN.
type scanned struct {
	mu     sync.Mutex
	counts []int64
}

func (s *scanned) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *scanned) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *scanned) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if i := slices.Index(args, any("count")); cmd.Name() == "scan" && i > 0 {
			s.mu.Lock()
			s.counts = append(s.counts, args[i+1].(int64))
			s.mu.Unlock()
		}
		return next(ctx, cmd)
	}
}

// since returns the counts of the SCANs after the first n of them.
func (s *scanned) since(n int) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.counts[n:])
}

// scans has the bundle's timers note what they scan.
func (b *timersBundle) scans(t *testing.T) *scanned {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: b.client.Options().Addr})
	t.Cleanup(func() { _ = client.Close() })
	hook := &scanned{}
	client.AddHook(hook)
	b.options.Scripts = scripts.New(scripts.Options{Redis: client, Keys: b.s.Keys.Keys})
	return hook
}

// manyKeys is a bundle with a server that has more keys than one turn looks at.
func manyKeys(t *testing.T) (*timersBundle, *scanned) {
	t.Helper()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	b := newTimers(t, server, message(t))
	hook := b.scans(t)
	pipe := b.client.Pipeline()
	for i := range 12_000 {
		pipe.Set(t.Context(), fmt.Sprintf("other:%d", i), "", time.Hour)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b, hook
}

// TestScanTurns: a scan looks at few keys in a turn only where all events are heard,
// and never in a round for which it was woken.
func TestScanTurns(t *testing.T) {
	t.Parallel()
	b, hook := manyKeys(t)
	timers, err := NewTimers(b.options)
	if err != nil {
		t.Fatal(err)
	}
	many, few := []int64{1000, 1000, 1000, 1000, 1000}, []int64{500}
	turn := func(what string, r *scanRound, counts []int64, pause time.Duration) {
		t.Helper()
		before := len(hook.since(0))
		if got := timers.scanTurn(t.Context(), r); got != pause {
			t.Errorf("%s: the next turn is after %v, not %v", what, got, pause)
		}
		if got := hook.since(before); !slices.Equal(got, counts) {
			t.Errorf("%s: scanned %v, not %v", what, got, counts)
		}
	}
	var r scanRound
	turn("nothing is heard", &r, many, time.Second)
	timers.Subscribed(true)
	turn("all is heard", &r, few, 5*time.Second)
	timers.Deaf()
	turn("nothing is heard any more", &r, many, time.Second)
	timers.Subscribed(false)
	r = scanRound{}
	turn("a part is heard", &r, many, time.Second)
	timers.Subscribed(true)
	r = scanRound{fast: true}
	turn("it was woken", &r, many, time.Millisecond)
	turn("it goes on", &r, many, time.Millisecond)
	// Some 2,000 keys are left of the 12,000.
	before := len(hook.since(0))
	if pause := timers.scanTurn(t.Context(), &r); pause != time.Second || r != (scanRound{}) {
		t.Errorf("the end of the round: %+v, the next turn after %v", r, pause)
	}
	if got := hook.since(before); len(got) == 0 || len(got) > 4 || slices.Contains(got, 500) {
		t.Errorf("the end of the round: scanned %v", got)
	}
	turn("the next round", &r, few, 5*time.Second)
}

// TestSubscribedWakesAScan: what happened before is looked for without pauses.
func TestSubscribedWakesAScan(t *testing.T) {
	t.Parallel()
	b, hook := manyKeys(t)
	timers, _ := b.run("c1", true)
	for range 2 {
		before := len(hook.since(0))
		timers.Subscribed(true)
		var got []int64
		b.until("the scan is slow", func() bool {
			got = hook.since(before)
			return len(got) >= 3 && got[len(got)-1] == heardCount && got[len(got)-2] == heardCount
		})
		pages := 0
		for _, count := range got {
			if count == scanCount {
				pages++
			}
		}
		if pages < 10 {
			t.Errorf("looked at %v keys, and not at all 12,000", got)
		}
	}
}

// TestPartOfTheNotifications is heard where a server publishes only a part, and lets
// nobody change that. What tells of a timer's key may be the other part: then a scan
// for it is no slower than where nothing is heard.
func TestPartOfTheNotifications(t *testing.T) {
	t.Parallel()
	for flags, count := range map[string]int64{"KEx": scanCount, notifyFlags: heardCount} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			server, err := testenv.StartRedis(t.Context(), t.TempDir(), "--notify-keyspace-events", flags, "--rename-command", "CONFIG", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.Stop() })
			timers := newTimers(t, server, message(t))
			hook := timers.scans(t)
			b := newBundle(t, server.Client())
			b.s = timers.s
			b.options.Scripts = timers.s
			b.options.Timers, _ = timers.run("timers", true)
			registry := b.run("a")
			b.hears(registry, 1)
			// All keys are in one page, so the round for which the scan was woken is one
			// turn. It may come after one that it finds under way.
			before := len(hook.since(0))
			var got []int64
			timers.until("scans", func() bool {
				got = hook.since(before)
				return len(got) >= 4 && got[len(got)-1] == got[len(got)-2]
			})
			if got[len(got)-1] != count || count == scanCount && slices.Contains(got, heardCount) {
				t.Errorf("turns look at %v keys, not at %d", got, count)
			}
			want := 0
			if count == scanCount {
				want = 1
			}
			if said := b.said("only some of the required"); said != want {
				t.Errorf("said %d times:\n%s", said, &b.log)
			}
		})
	}
}

// TestNotificationsThatChange are switched off in part, and on again, by somebody
// else, where the scheduler itself may not.
func TestNotificationsThatChange(t *testing.T) {
	t.Parallel()
	b, _ := private(t, "--notify-keyspace-events", "KEA")
	ctx := t.Context()
	if err := b.client.Do(ctx, "acl", "setuser", "worker", "on", ">secret", "~*", "&*", "+@all", "-config").Err(); err != nil {
		t.Fatal(err)
	}
	worker := redis.NewClient(&redis.Options{Addr: b.client.(*redis.Client).Options().Addr, Username: "worker", Password: "secret"})
	defer worker.Close()
	events := &timerEvents{touched: map[string]int{}}
	b.connect(worker)
	b.options.Timers = events
	registry := b.run("a")
	var want []bool
	for _, c := range []struct {
		flags string
		all   bool
	}{{"KEA", true}, {"Kx", false}, {notifyFlags, true}, {"KEgzx", false}, {"KA", true}, {"Kz$x", false}, {"Kg$x", true}} {
		if err := b.client.ConfigSet(ctx, notifySetting, c.flags).Err(); err != nil {
			t.Fatal(err)
		}
		want = append(want, c.all)
		b.until("timers are told of "+c.flags, func() bool { return slices.Equal(events.said(), want) })
	}
	if said := b.said("only some of the required"); said != 3 {
		t.Errorf("said %d times:\n%s", said, &b.log)
	}
	if n := value(t, registry, "fanfold_resubscriptions_total", ""); n != 0 {
		t.Errorf("%v other subscriptions were made", n)
	}
}

// TestCanaryOfAnEarlierSubscription has ended, and Redis tells it only when the next
// one is set: its beginning was not heard, and that of the next one is.
func TestCanaryOfAnEarlierSubscription(t *testing.T) {
	t.Parallel()
	b, _ := private(t, "--enable-debug-command", "yes")
	ctx := t.Context()
	if err := b.client.Do(ctx, "debug", "set-active-expire", "0").Err(); err != nil {
		t.Fatal(err)
	}
	all := map[*timerEvents]*prometheus.Registry{}
	for i := range 20 {
		name := fmt.Sprintf("c%d", i)
		if err := b.s.Clock.SetCanary(ctx, name); err != nil {
			t.Fatal(err)
		}
		_ = step.Wait(ctx, 2*time.Millisecond)
		events := &timerEvents{touched: map[string]int{}}
		b.options.Timers = events
		all[events] = b.run(name)
	}
	for events, registry := range all {
		b.hears(registry, 1)
		if said := events.said(); !slices.Equal(said, []bool{true}) {
			t.Errorf("timers were told %v", said)
		}
	}
}
