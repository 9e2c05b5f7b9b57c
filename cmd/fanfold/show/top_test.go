package show

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fanfold/fanfold/inspect"
)

const evil = "\x1b]0;title\a\x1b[2J"

// manyJobs is a view with more than a terminal has room for, and with texts of others.
func manyJobs() inspect.Top {
	now := time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC)
	t := inspect.Top{At: now, Running: 500, Waiting: 3, Memory: 0.5, Late: 12, Paused: []string{"listener/b"}, Listeners: []inspect.Load{
		{Name: "plt_fund.vs_withdraw", Workers: 2, Waiting: 7, Pending: 4, Lag: 3, Oldest: 90 * time.Second}, {Name: "a"}, {Name: "b", Workers: 1, Paused: true},
	}}
	for i := range 50 {
		t.Jobs = append(t.Jobs, inspect.Running{ID: fmt.Sprint(i), Report: "r" + evil, Status: "RUN", Done: 1, Target: 2, Bytes: 2048,
			Open: []string{strings.Repeat("long.", 60)}, Started: now.Add(-time.Minute), Deadline: now.Add(time.Hour)})
	}
	return t
}

// TestTopLines fit a terminal, and are whole elsewhere.
func TestTopLines(t *testing.T) {
	t.Parallel()
	whole := strings.Join(Top(manyJobs(), 0, 0, false), "\n")
	for _, want := range []string{"jobs: 500 running, 3 waiting, ", "Redis uses 50 % of its memory   late by 12s   paused: listener/b", "1m30s", "no workers", strings.Repeat("long.", 60), "1/2", "2.0 KB", "in 1h", "and 450 more"} {
		if !strings.Contains(whole, want) {
			t.Errorf("%q is not in\n%s", want, whole)
		}
	}
	if strings.Contains(whole, "SPOOL") {
		t.Error("there is none")
	}
	if strings.Contains(whole, "\x1b") {
		t.Error("a terminal would obey it")
	}
	spools := manyJobs()
	spools.Jobs[7].Spooled = 3 << 30
	if line := strings.Split(strings.Join(Top(spools, 0, 0, false), "\n"), "\n 7 ")[1]; !strings.Contains(line, "2.0 KB  3.0 GB ") {
		t.Error(line)
	}
	for _, size := range [][2]int{{80, 24}, {40, 10}, {200, 60}} {
		lines := Top(manyJobs(), size[0], size[1], false)
		if len(lines) >= size[1] && size[1] > 12 || !strings.Contains(lines[len(lines)-1], "more") {
			t.Errorf("%d lines in %d, the last one %q", len(lines), size[1], lines[len(lines)-1])
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > max(size[0], 80) {
				t.Errorf("%d columns in %d: %s", n, size[0], line)
			}
		}
	}
}
