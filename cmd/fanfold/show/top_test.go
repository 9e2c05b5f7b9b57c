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
		{Name: "plt_fund.vs_withdraw", Workers: 2, Waiting: 7, Pending: 4, Lag: 3, Oldest: 90 * time.Second}, {Name: "a"}, {Name: "b", Workers: 1, Paused: "listener/b"},
	}}
	for i := range 50 {
		t.Jobs = append(t.Jobs, inspect.Running{ID: fmt.Sprint(i), Report: "r" + evil, Status: "RUN", Done: 1, Target: 2, Bytes: 2048,
			Open: []string{strings.Repeat("long.", 60)}, Started: now.Add(-time.Minute), Deadline: now.Add(time.Hour)})
	}
	return t
}

// TestTopLines: without a terminal, nothing is cut.
func TestTopLines(t *testing.T) {
	t.Parallel()
	whole := strings.Join(Top(manyJobs(), 0), "\n")
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
	if line := strings.Split(strings.Join(Top(spools, 0), "\n"), "\n 7 ")[1]; !strings.Contains(line, "2.0 KB  3.0 GB ") {
		t.Error(line)
	}
}

// TestView: the lines fit a terminal of any size, and keys reach every job.
func TestView(t *testing.T) {
	t.Parallel()
	top := manyJobs()
	top.Running = 1000
	for i := len(top.Jobs); i < 1000; i++ {
		top.Jobs = append(top.Jobs, inspect.Running{ID: fmt.Sprint(i), Report: "other", Status: "RUN", Bytes: int64(i), Deadline: top.At.Add(2 * time.Hour)})
	}
	top.Jobs[999].Later = inspect.Retries
	var v View
	v.Show(top, "", nil, nil)
	draw := func(width, height int) string {
		t.Helper()
		lines := v.Lines(width, height)
		if len(lines) >= height {
			t.Errorf("%d lines in %d", len(lines), height)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%d columns in %d: %s", n, width, line)
			}
		}
		text := strings.Join(lines, "\n")
		if !v.help && !strings.HasPrefix(text, "jobs: 1,000 running") {
			t.Errorf("no head:\n%s", text)
		}
		return text
	}
	press := func(keys ...string) string {
		t.Helper()
		for _, key := range keys {
			if _, end := v.Press(key); end {
				t.Fatalf("%q ends it", key)
			}
		}
		return draw(60, 20)
	}
	for _, size := range [][2]int{{60, 20}, {100, 30}, {40, 12}, {200, 60}} {
		draw(size[0], size[1])
	}
	for _, c := range []struct {
		keys []string
		want string
	}{
		{nil, "1 to 6 of 1,000, by deadline; ?"},
		{[]string{"j", "down", "k"}, "2 to 7 of 1,000"},
		{[]string{"pgdn", "pgdn"}, "14 to 19 of 1,000"},
		{[]string{"pgup", "up"}, "7 to 12 of 1,000"},
		{[]string{"k", "pgup", "pgup"}, "1 to 6 of 1,000"},
		{[]string{"s", "r"}, " 999  other"},
		{[]string{"s", "s"}, " RUN "},
		{[]string{"r", "s", "s"}, "by data"},
		{[]string{"/", "x", "backspace", "R", "e", "t"}, "/Ret_"},
		{[]string{"enter"}, "1 to 1 of 1, by data, filter Ret"},
		{[]string{"/", "o", "esc"}, "1 to 1 of 1, by data, filter Ret"},
		{[]string{"?"}, "q             quit"},
		{[]string{"?", "/", "enter", "p"}, "of 1,000, paused, by data"},
	} {
		if got := press(c.keys...); !strings.Contains(got, c.want) {
			t.Errorf("%q: no %q in\n%s", c.keys, c.want, got)
		}
	}
	v.Show(inspect.Top{At: top.At}, "", nil, nil) // it is paused
	draw(60, 20)
	if _, end := v.Press("q"); !end {
		t.Error("q does not end it")
	}
}
