package past

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

func TestDurations(t *testing.T) {
	t.Parallel()
	if d := (Durations{time.Second, 2 * time.Second}); d.Known() || d.Left(0) != 0 {
		t.Error("two runs are not enough")
	}
	d := Durations{10, 20, 30, 40}
	for elapsed, want := range map[time.Duration]time.Duration{0: 30, 9: 21, 30: -1, 31: -1} {
		if got := d.Left(elapsed); got != want {
			t.Errorf("after %d: %d, not %d", elapsed, got, want)
		}
	}
	if d.At(0) != 10 || d.At(0.5) != 30 || d.At(1) != 40 {
		t.Error(d.At(0), d.At(0.5), d.At(1))
	}
}

func partition(client *redis.Client, prefix string) *scripts.Scripts {
	return scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: prefix, Hash: prefix}})
}

// TestRuns reads the ends of jobs that made a file, and of those that ended since.
func TestRuns(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	end := func(report, status, ms string) {
		t.Helper()
		values := []string{"id", "1", "event", "finished", "report", report, "status", status, "ms", ms}
		if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: "own:events", Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r := New(partition(client, "own:"), partition(client, "other:"))
	of := func(report string) Durations {
		t.Helper()
		r.read = time.Time{}
		d, err := r.Of(t.Context(), report)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if of("a").Known() {
		t.Error("there is no run yet")
	}
	for _, ms := range []string{"300", "100", "200"} {
		end("a", "SUCCESS", ms)
	}
	end("a", "FAILED", "5")
	end("b", "PARTIAL", "7")
	end("a", "SUCCESS", "soon")
	if d := of("a"); !d.Known() || len(d) != 3 || d[0] != 100*time.Millisecond {
		t.Error(d)
	}
	if d := of("b"); len(d) != 1 || d[0] != 7*time.Millisecond {
		t.Error(d)
	}
	for range 2 * kept {
		end("a", "SUCCESS", "900")
	}
	if d := of("a"); len(d) != kept || d[0] != 900*time.Millisecond {
		t.Error(d)
	}
}

// TestRunsOfPartitionsAway: a partition that refuses, or hangs, hides none of the others, and only
// the caller who reads waits.
func TestRunsOfPartitionsAway(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = client.Close() })
	hangs := make(chan struct{})
	for _, ms := range []string{"10", "20", "30"} {
		if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: "own:events", Values: []string{"event", "finished", "report", "a", "status", "SUCCESS", "ms", ms}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Set(t.Context(), "refuses:events", "no stream", 0).Err(); err != nil {
		t.Fatal(err)
	}
	client.AddHook(away{hangs})
	r := New(partition(client, "refuses:"), partition(client, "hangs:"), partition(client, "own:"))
	read := make(chan struct{})
	go func() {
		defer close(read)
		d, err := r.Of(t.Context(), "a")
		if len(d) != 3 || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%v, %v", d, err)
		}
	}()
	<-hangs
	if d, err := r.Of(t.Context(), "a"); len(d) > 0 || err != nil { // does not wait
		t.Errorf("%v, %v", d, err)
	}
	<-read
	if d, err := r.Of(t.Context(), "a"); len(d) != 3 || err != nil {
		t.Errorf("%v, %v", d, err)
	}
}

// away hangs where the stream of that name is read until the caller gives up, and says so.
type away struct{ hangs chan struct{} }

func (away) DialHook(next redis.DialHook) redis.DialHook { return next }
func (away) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (a away) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if slices.Contains(c.Args(), any("hangs:events")) {
			close(a.hangs)
			<-ctx.Done()
			c.SetErr(ctx.Err())
			return ctx.Err()
		}
		return next(ctx, c)
	}
}
