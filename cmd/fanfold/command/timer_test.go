package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
)

const timersConfig = `
timers:
  welcome:
    key: send_message-{user}-{type}
    append: {stream: messages, fields: {user: "{user}", type: "{type}"}}
  weekly:
    key: weekly-{seconds}
    every: 1w
    time_zone: Europe/Berlin
    submit: {report: slow, parameters: {seconds: "{seconds}"}}
  office:
    key: office-{user}
    cron: 0 9 * * mon-fri
    time_zone: America/New_York
    append: {stream: messages}
`

// TestTimerSubmitsAReport runs a timer from SET … EX to the file.
func TestTimerSubmitsAReport(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, timersConfig)
	s.Serve(s.File)
	s.redisCLI("redis-cli ZADD " + s.Partitions.First().Keys.Timers + " $(date +%s) weekly-0")
	s.Eventually("SUCCESS", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'") == 1
	})
	views := s.Jobs.Wait("1")
	if views[0].Status != report.Success || s.Records.Number("SELECT COUNT(*) FROM file_download_record") != 1 {
		t.Errorf("%+v", views)
	}
	var listed []inspect.Timer
	out, code := s.fanfold("timer", "ls", "-o", "json")
	if err := json.Unmarshal([]byte(out), &listed); err != nil || code != exitOK || len(listed) != 1 {
		t.Fatalf("%d %s %v", code, out, err)
	}
	if v := listed[0]; v.Name != "weekly-0" || v.Every != "1w" || v.Definition != "weekly" || v.State != "set" || time.Until(*v.Due) < 6*24*time.Hour {
		t.Errorf("%+v", v)
	}
}

// TestTimerCommands runs every timer command as an operator does.
func TestTimerCommands(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, timersConfig)
	s.Serve(s.File)
	messages := func(name string) int {
		n := 0
		for _, e := range s.Redis.XRange(t.Context(), "messages", "-", "+").Val() {
			if e.Values["timer"] == name {
				n++
			}
		}
		return n
	}
	do := func(want int, text string, args ...string) {
		t.Helper()
		if out, code := s.fanfold(append([]string{"timer"}, args...)...); code != want || !strings.Contains(out, text) {
			t.Errorf("%v: %d, want %d with %q:\n%s", args, code, want, text, out)
		}
	}
	one, two := "send_message-1-welcome", "send_message-2-welcome"
	s.redisCLI("redis-cli SET " + s.Partitions.First().Keys.Timer(one) + " '' EX 3600")
	do(exitOK, two, "set", two, "--in", "24h")
	do(exitOK, "set", "set", two, "--at", "2034-01-31T09:00:00+01:00")
	s.Eventually("both are listed", func() bool {
		out, _ := s.fanfold("timer", "ls", "--match", "send_message-*")
		return strings.Contains(out, one) && strings.Contains(out, words.Stamp(time.Date(2034, 1, 31, 8, 0, 0, 0, time.UTC)))
	})
	do(exitOK, "paused", "pause", one)
	do(exitOK, "paused", "ls", "--match", "*-1-*")
	do(exitOK, "resumed", "resume", one)
	// Long enough for the events of its key.
	for range 3 {
		s.redisCLI("redis-cli ZADD " + s.Partitions.First().Keys.Timers + " $(date +%s%3N) send_message-3-x")
		s.Eventually("another fires", func() bool { return messages("send_message-3-x") > 0 })
		s.redisCLI("redis-cli DEL messages")
	}
	do(exitOK, "set", "ls", "--match", one)
	do(exitOK, "fired", "fire", one, "send_message-4-unset")
	s.Eventually("fired", func() bool { return messages(one) == 1 && messages("send_message-4-unset") == 1 })
	do(exitNotFound, one, "pause", one)
	do(exitOK, "removed", "rm", two)
	do(exitNotFound, two, "rm", two)
	do(exitNotFound, two, "resume", two)
	if out, _ := s.fanfold("timer", "ls", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("left: %s", out)
	}
	// A timer whose time passes while it is paused.
	do(exitOK, two, "set", two, "--in", "1s")
	do(exitOK, "paused", "pause", two)
	<-time.NewTimer(1500 * time.Millisecond).C
	if messages(two) != 0 {
		t.Error("a paused timer fired")
	}
	do(exitOK, "resumed", "resume", two)
	s.Eventually("resumed", func() bool { return messages(two) == 1 })
	// A timer with cron needs no time.
	do(exitOK, "0 9 * * mon-fri", "set", "office-1")
	do(exitOK, "0 9 * * mon-fri", "ls", "--match", "office-*")
	if out, _ := s.fanfold("timer", "ls", "-o", "json"); !strings.Contains(out, `"cron": "0 9 * * mon-fri"`) {
		t.Error(out)
	}
	do(exitOK, "removed", "rm", "office-1")
	do(exitUsage, "--in", "set", two)
	// A repeating timer keeps its next time when it is fired by hand.
	do(exitOK, "weekly", "set", "weekly-0", "--at", fmt.Sprint(time.Now().Add(time.Hour).Unix()))
	due := s.Redis.ZScore(t.Context(), s.Partitions.First().Keys.Timers, "weekly-0").Val()
	do(exitOK, "1w", "fire", "weekly-0")
	s.Eventually("its record", func() bool { return s.Records.Number("SELECT COUNT(*) FROM file_download_record") == 1 })
	if now := s.Redis.ZScore(t.Context(), s.Partitions.First().Keys.Timers, "weekly-0").Val(); now != due {
		t.Errorf("due %v, then %v", due, now)
	}
	do(exitUsage, "no definition", "set", "unknown", "--in", "1h")
	do(exitUsage, "is not a valid timer name", "set", "a b", "--in", "1h")
	do(exitUsage, "one of --in and --at", "set", one)
	do(exitUsage, "is not a time", "set", one, "--at", "tomorrow")
	do(exitUsage, "limit", "ls", "--limit", "0")
	do(exitUsage, "NAME is missing", "pause")
}

// TestTimersInTheDocs runs docs/guides/timers.md: its configuration, and its commands with shorter
// times.
func TestTimersInTheDocs(t *testing.T) {
	t.Parallel()
	find := func(language, text string) string {
		for _, block := range fenced(t, "docs/guides/timers.md", language) {
			if strings.Contains(block, text) {
				return block
			}
		}
		t.Fatalf("no %s block with %q", language, text)
		return ""
	}
	s := newStackAlone(t, nil, e2e.Slow, find("yaml", "timers:"))
	s.Serve(s.File)
	commands := find("sh", "fanfold:timer:")
	due := func(name string) time.Time {
		return time.UnixMilli(int64(s.Redis.ZScore(t.Context(), s.Partitions.First().Keys.Timers, name).Val()))
	}
	s.redisCLI(commands)
	s.Eventually("both are set", func() bool {
		in := time.Until(due("send_message-42-welcome"))
		return in > 23*time.Hour && in < 25*time.Hour && s.Redis.ZScore(t.Context(), s.Partitions.First().Keys.Timers, "weekly-42").Val() > 0
	})
	s.redisCLI(strings.NewReplacer("86400", "5", "next monday 9:00", "now").Replace(commands))
	s.Eventually("both messages", func() bool { return s.Redis.XLen(t.Context(), "messages").Val() == 2 })
	types := map[any]int{}
	for _, e := range s.Redis.XRange(t.Context(), "messages", "-", "+").Val() {
		if e.Values["user"] != "42" {
			t.Errorf("%v", e.Values)
		}
		types[e.Values["type"]]++
	}
	if types["welcome"] != 1 || types["weekly"] != 1 {
		t.Errorf("%v", types)
	}
	if in := time.Until(due("weekly-42")); in < 6*24*time.Hour || in > 8*24*time.Hour {
		t.Errorf("the next one comes in %v", in)
	}
}
