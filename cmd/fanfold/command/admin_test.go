package command

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/report"
)

// TestAdmin checks the admin server from the start of a process to its end, and during an outage of
// Redis.
func TestAdmin(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {shutdown_timeout: 1m}")
	addr := e2e.Address(t)
	c := s.process("-c", s.File, "serve", "--admin", addr)
	s.Eventually("ready", func() bool { code, _ := e2e.Get(t, addr, "/readyz"); return code == http.StatusOK })
	if code, text := e2e.Get(t, addr, "/livez"); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
	if v := s.Jobs.Run("slow", ""); v.Status != report.Success {
		t.Fatalf("%+v", v)
	}
	if v := s.Jobs.Run("slow", `{"seconds": "never"}`); v.Status != report.Failed {
		t.Fatalf("%+v", v)
	}
	s.Redis.ZAdd(t.Context(), s.Partitions.First().Keys.Delayed, redis.Z{Score: float64(time.Now().Add(24 * time.Hour).UnixMilli()), Member: "5"})
	s.Redis.ZAdd(t.Context(), s.Partitions.First().Keys.Dead, redis.Z{Score: 1717200000000, Member: "6"})
	s.Redis.ZAdd(t.Context(), s.Partitions.First().Keys.Timers, redis.Z{Score: float64(time.Now().Add(24 * time.Hour).UnixMilli()), Member: "later"})
	running := s.Records.Insert("slow", `{"seconds": 8}`)
	s.Jobs.Push(running)
	var text string
	s.Eventually("the job runs", func() bool {
		_, text = e2e.Get(t, addr, "/metrics")
		return strings.Contains(text, `fanfold_tasks_pending{listener="one"} 1`) && strings.Contains(text, "fanfold_jobs_waiting 0")
	})
	for _, want := range []string{
		`fanfold_jobs_finished_total{report="slow",status="SUCCESS"} 1`, `fanfold_jobs_finished_total{report="slow",status="FAILED"} 1`,
		`fanfold_tasks_total{listener="one",outcome="done"} 1`, `fanfold_query_duration_seconds_count{listener="one"} 1`,
		"fanfold_jobs_waiting 0", "fanfold_jobs_running 1", "fanfold_jobs_delayed 1", "fanfold_jobs_dead 2", "fanfold_fanin_waiting 0",
		"fanfold_quarantined 0", "fanfold_timers 1", "fanfold_timer_actions_waiting 0", "fanfold_timer_actions_retrying 0", `fanfold_tasks_waiting{listener="one"} 1`, `fanfold_tasks_pending{listener="one"} 1`, "fanfold_redis_up 1",
		`fanfold_build_info{go="` + runtime.Version() + `",version="` + version + `"} 1`,
		"go_goroutines ", "process_start_time_seconds ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, fanfoldLines(text))
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.Eventually("not ready any more", func() bool {
		code, text := e2e.Get(t, addr, "/readyz")
		return code == http.StatusServiceUnavailable && text == "stopping\n"
	})
	if code, _ := e2e.Get(t, addr, "/livez"); code != http.StatusOK {
		t.Error("a process that ends its work is alive")
	}
	if state, err := s.Partitions.First().Jobs.Read(t.Context(), running); err != nil || state.Tasks["one"].Done {
		t.Errorf("the work had ended before: %+v %v", state, err)
	}
	s.Eventually("gone", func() bool { code, _ := e2e.Get(t, addr, "/livez"); return code == 0 })
}

// fanfoldLines returns the metrics of Fanfold, without those of the Go runtime and the process.
func fanfoldLines(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "fanfold_") {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// TestAdminWithoutRedis: without Redis, the process is alive but not ready, and still serves its
// own metrics.
func TestAdminWithoutRedis(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow)
	b := s.Open(s.File)
	b.Config.Admin.Listen = e2e.Address(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Serve(ctx, process.Roles, slog.New(slog.DiscardHandler)) }()
	s.Eventually("ready", func() bool { code, _ := e2e.Get(t, b.Config.Admin.Listen, "/readyz"); return code == http.StatusOK })
	s.Server.Stop()
	s.Eventually("not ready", func() bool {
		code, text := e2e.Get(t, b.Config.Admin.Listen, "/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "Redis cannot be reached")
	})
	if code, _ := e2e.Get(t, b.Config.Admin.Listen, "/livez"); code != http.StatusOK {
		t.Error("not alive without Redis")
	}
	if code, text := e2e.Get(t, b.Config.Admin.Listen, "/metrics"); code != http.StatusOK || !strings.Contains(text, "fanfold_redis_up 0") || strings.Contains(text, "fanfold_jobs_waiting ") {
		t.Errorf("%d %s", code, text)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if code, _ := e2e.Get(t, b.Config.Admin.Listen, "/livez"); code != 0 {
		t.Error("the admin server outlives serve")
	}
}
