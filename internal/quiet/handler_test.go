package quiet_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/quiet"
)

// TestDifferentWarningsAreAllWritten checks that a warning is not counted as a repetition of a
// warning with another cause.
func TestDifferentWarningsAreAllWritten(t *testing.T) {
	t.Parallel()
	const text = "message"
	errRefused := func(host string) error { return fmt.Errorf("dial tcp %s: connection refused", host) }
	for name, lines := range map[string][2][]any{
		"reports":     {{"report", "orders", "jobs", 3}, {"report", "refunds", "jobs", 3}},
		"definitions": {{"report", "orders", "definition", "a1"}, {"report", "orders", "definition", "a2"}},
		"databases":   {{"database", "eu", "err", errors.New("refused")}, {"database", "us", "err", errors.New("refused")}},
		"sources":     {{"source", "db1"}, {"source", "db2"}},
		"files":       {{"file", "gs://x/1.csv", "err", errors.New("403")}, {"file", "gs://x/2.csv", "err", errors.New("403")}},
		"hints":       {{"hint", "do this"}, {"hint", "do that"}},
		"sinks":       {{"sink", "file:///a"}, {"sink", "file:///b"}},
		"streams":     {{"stream", "fanfold:task:l1"}, {"stream", "fanfold:task:l2"}},
		"outcomes":    {{"job", "1", "outcome", "cancelled"}, {"job", "1", "outcome", "deleted"}},
		"hosts":       {{"err", errRefused("10.0.0.1:3306")}, {"err", errRefused("10.0.0.2:3306")}},
		"ports":       {{"err", errRefused("10.0.0.1:3306")}, {"err", errRefused("10.0.0.1:3307")}},
		"codes":       {{"err", errors.New("API: status 404")}, {"err", errors.New("API: status 503")}},
		"tables":      {{"err", errors.New("no table shop1.orders")}, {"err", errors.New("no table shop2.orders")}},
		"new":         {{"anything", "a"}, {"anything", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kept keptLog
			handler := quiet.New(slog.NewTextHandler(&kept, nil), time.Minute)
			defer handler.Close()
			for range 3 {
				for _, attrs := range lines {
					slog.New(handler).Warn(text, attrs...)
					slog.New(handler).With(attrs...).Warn("with " + text)
				}
			}
			if n := kept.count("msg=" + text); n != 2 {
				t.Errorf("%d lines, not 2: %s", n, &kept)
			}
			if n := kept.count("with " + text); n != 2 {
				t.Errorf("%d lines with attributes of the logger, not 2: %s", n, &kept)
			}
		})
	}
}

// TestACountNamesALateLine: the line with a count is the last one that it counts, not the first one ever, whose
// job may have ended long ago.
func TestACountNamesALateLine(t *testing.T) {
	t.Parallel()
	var kept keptLog
	handler := quiet.New(slog.NewTextHandler(&kept, nil), time.Minute)
	for i := range 3 {
		slog.New(handler).With("job", fmt.Sprintf("1028%d", i)).Warn("task is tried again", "err", errors.New("OOM command not allowed"))
	}
	handler.Close()
	lines := strings.Split(strings.TrimSpace(kept.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "job=10280") || !strings.Contains(lines[1], "job=10282") || !strings.Contains(lines[1], `"more like this"=2`) {
		t.Errorf("%q", lines)
	}
}

// TestAFloodIsCounted checks that lines which differ only in words that vary are counted as one.
func TestAFloodIsCounted(t *testing.T) {
	t.Parallel()
	for name, attrs := range map[string]func(i int) []any{
		"the same": func(int) []any { return []any{"what", "x", "err", errors.New("refused")} },
		"attempts": func(i int) []any { return []any{"job", "1", "attempt", i, "counts", i%2 == 0, "in", time.Duration(i)} },
		"ports": func(i int) []any {
			return []any{"err", fmt.Errorf("read tcp 127.0.0.1:%d->127.0.0.1:6379: connection reset by peer", 40000+i)}
		},
		"IPv6 ports": func(i int) []any {
			return []any{"err", fmt.Errorf("read tcp [::1]:%d->[::1]:6379: connection reset by peer", 40000+i)}
		},
		"durations": func(i int) []any {
			return []any{"err", fmt.Errorf("no answer after %s", time.Duration(i)*time.Millisecond)}
		},
		"entries": func(i int) []any { return []any{"why", fmt.Sprintf("entry 17326000000%02d-%d: no id", i, i)} },
		"jobs of a full Redis": func(i int) []any {
			id := fmt.Sprintf("job-%d", i)
			return []any{"job", id, "err", fmt.Errorf("start %s: %w", id, errors.New("OOM command not allowed"))}
		},
		"percent": func(i int) []any { return []any{"percent", i, "limit", 80, "starting jobs", false} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kept keptLog
			handler := quiet.New(slog.NewTextHandler(&kept, nil), time.Minute)
			for i := range 30 {
				slog.New(handler).With("role", quiet.Varies(fmt.Sprint(i%3))).Warn("message", attrs(i)...)
			}
			if n := kept.count("msg=message"); n != 1 {
				t.Errorf("%d lines, not 1: %s", n, &kept)
			}
			handler.Close()
			if !strings.Contains(kept.String(), `"more like this"=29`) {
				t.Errorf("the others are not counted: %s", &kept)
			}
		})
	}
}
