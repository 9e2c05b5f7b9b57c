package quiet_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/quiet"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
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

func (l *keptLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *keptLog) count(text string) int { return strings.Count(l.String(), text) }

func TestMain(m *testing.M) { testmain.Main(m) }

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, log *keptLog, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within 30 s: %s; the log: %s", what, log)
		}
	}
}

// hangs is a private redis-server that a test can stop and continue.
type hangs struct {
	*testenv.Redis
	process *os.Process
}

func startHangs(t *testing.T, settings ...string) hangs {
	t.Helper()
	server, err := testenv.StartRedis(t.Context(), t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	client := server.Client()
	defer client.Close()
	info := client.InfoMap(t.Context(), "server").Val()
	pid, err := strconv.Atoi(info["Server"]["process_id"])
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return hangs{server, process}
}

func (h hangs) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := h.process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// watched returns a client with short timeouts, and the log of its Watch and Handler.
func watched(t *testing.T, options redis.Options) (*redis.Client, *slog.Logger, *keptLog) {
	t.Helper()
	options.ContextTimeoutEnabled, options.DisableIdentity = true, true
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	log := &keptLog{}
	handler := quiet.New(slog.NewTextHandler(log, nil), time.Minute)
	t.Cleanup(handler.Close)
	watch := &quiet.Watch{Type: scripts.NewKeys(report.DefaultKeys).Type}
	watch.On(client)
	watch.SetLog(slog.New(handler))
	return client, slog.New(handler), log
}

// TestAHungRedisIsSaidOnce checks that the log says once that a stopped Redis, which accepts
// connections but does not answer, is down, and once that it is back.
func TestAHungRedisIsSaidOnce(t *testing.T) {
	t.Parallel()
	server := startHangs(t)
	client, log, kept := watched(t, redis.Options{
		Addr: server.Addr, ReadTimeout: 400 * time.Millisecond, PoolSize: 2, PoolTimeout: 50 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(t.Context())
	var loops sync.WaitGroup
	var mu sync.Mutex
	answers, faults := 0, map[string]int{}
	for n := range 6 { // more than the pool has connections
		loops.Go(func() {
			for ctx.Err() == nil {
				err := client.Get(ctx, fmt.Sprintf("key%d", n)).Err()
				mu.Lock()
				if errors.Is(err, redis.Nil) {
					answers++
				} else if err != nil && ctx.Err() == nil {
					faults[err.Error()]++
				}
				mu.Unlock()
				if err != nil && !errors.Is(err, redis.Nil) && ctx.Err() == nil {
					log.Warn("trying again", "what", "loop "+strconv.Itoa(n), "err", err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	defer loops.Wait()
	defer cancel()
	answered := func(more int) func() bool {
		mu.Lock()
		defer mu.Unlock()
		until := answers + more
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return answers >= until
		}
	}
	failed := func(text string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			n := 0
			for fault, times := range faults {
				if strings.Contains(fault, text) {
					n += times
				}
			}
			return n >= 6
		}
	}
	eventually(t, "Redis answers", kept, answered(20))
	server.signal(t, syscall.SIGSTOP)
	eventually(t, "it is said that Redis is down", kept, func() bool { return kept.count("Redis is down") > 0 })
	eventually(t, "commands fail", kept, failed("i/o timeout"))
	eventually(t, "the pool is exhausted", kept, failed(quiet.ErrDown.Error()+": "+redis.ErrPoolTimeout.Error()))
	if n, m := kept.count("Redis is down"), kept.count("Redis is back"); n != 1 || m != 0 {
		t.Errorf("while it hangs: down %d times, back %d times: %s", n, m, kept)
	}
	server.signal(t, syscall.SIGCONT)
	eventually(t, "it is said that Redis is back", kept, func() bool { return kept.count("Redis is back") > 0 })
	eventually(t, "Redis answers again", kept, answered(50))
	cancel()
	loops.Wait()
	if n, m := kept.count("Redis is down"), kept.count("Redis is back"); n != 1 || m != 1 {
		t.Errorf("down %d times, back %d times: %s", n, m, kept)
	}
}

// TestADialThatTimesOut checks that a dial timeout means that Redis is down, too: an unreachable
// machine drops packets.
func TestADialThatTimesOut(t *testing.T) {
	t.Parallel()
	server := startHangs(t, "--tcp-backlog", "1")
	server.signal(t, syscall.SIGSTOP)
	for { // fill what the kernel accepts in the name of Redis
		conn, err := net.DialTimeout("tcp", server.Addr, 500*time.Millisecond)
		if err != nil {
			break
		}
		defer conn.Close()
	}
	client, _, kept := watched(t, redis.Options{Addr: server.Addr, DialTimeout: 200 * time.Millisecond, MaxRetries: -1, DialerRetries: 1})
	err := client.Ping(t.Context()).Err()
	if !errors.Is(err, quiet.ErrDown) || kept.count("Redis is down") != 1 {
		t.Errorf("%v; the log: %s", err, kept)
	}
}

// TestAKeyOfTheWrongTypeIsRemembered checks that a command that fails repeatedly reads the types of
// its keys only once.
func TestAKeyOfTheWrongTypeIsRemembered(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := startHangs(t)
	client, _, kept := watched(t, redis.Options{Addr: server.Addr})
	k := scripts.NewKeys(report.DefaultKeys)
	client.Set(ctx, k.Definitions, "x", 0)
	keys := []string{k.Jobs, k.Delayed, k.FanIn, k.Definitions}
	const script = `local failed = {}
for i = 1, 20 do failed[i] = redis.pcall('ZADD', KEYS[4], 1, 'x') end
return failed`
	for range 10 {
		answers, err := client.Eval(ctx, script, keys).Slice()
		if err != nil || len(answers) != 20 {
			t.Fatal(answers, err)
		}
		for _, answer := range answers {
			if err, _ := answer.(error); err == nil || !strings.Contains(err.Error(), "the key fanfold:definitions is a string, not a zset") {
				t.Fatal(answer)
			}
		}
		if err := client.ZCard(ctx, k.Definitions).Err(); !strings.Contains(err.Error(), "the key fanfold:definitions is a string, not a zset") {
			t.Fatal(err)
		}
	}
	stats := client.InfoMap(ctx, "commandstats").Val()["Commandstats"]["cmdstat_type"]
	var calls int
	if _, err := fmt.Sscanf(stats, "calls=%d,", &calls); err != nil {
		t.Fatal(stats, err)
	}
	if calls < 1 || calls > 2*len(keys) {
		t.Errorf("TYPE was called %d times for %d keys; the log: %s", calls, len(keys), kept)
	}
}
