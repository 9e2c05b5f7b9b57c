package past

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
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
		if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: "events", Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r := New(client, "events", "other")
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
