package command

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestUnknownWords: an unknown command or flag exits with 2, suggests a similar one and changes
// nothing.
func TestUnknownWords(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow+strings.Replace(e2e.Slow[1:], "slow:", "r:", 1))
	for _, c := range []struct{ args, want string }{
		{"pause r", "did you mean fanfold pause report r?"},
		{"pause slow", "did you mean fanfold pause report slow?"},
		{"resume one", "did you mean fanfold resume listener one?"},
		{"pause nobody", "did you mean fanfold pause report NAME or fanfold pause listener NAME?"},
		{"pause lstener one", "did you mean fanfold pause listener?"},
		{"sumbit 1", "did you mean fanfold submit?\nfanfold --help lists the commands"},
		{"frobnicate", "fanfold --help lists the commands"},
		{"dead foo", "fanfold dead --help lists the commands"},
		{"dead disc", "did you mean fanfold dead discard?"},
		{"timer foo", "unknown command"},
		{"status", "ID is missing\nUsage: fanfold status ID"},
		{"doctor 7", `unknown argument "7": fanfold doctor takes none`},
		{"status 1 2", "too many arguments: 1 2"},
		{"quarantine requeu 1-1", "did you mean fanfold quarantine requeue?"},
		{"list --limt 3", "unknown flag: --limt: did you mean --limit?"},
		{"list --confg x", "did you mean --config?"},
		{"list --frobnicate", "fanfold list --help lists the flags"},
		{"pause report slwo", `unknown report "slwo". Did you mean "slow"? Available: r, slow`},
		{"pause listener oen", `unknown listener "oen". Did you mean "one"? Available: one`},
		{"adopt --report slo", `Did you mean "slow"?`},
	} {
		if out, code := s.fanfold(strings.Fields(c.args)...); code != exitUsage || !strings.Contains(out, c.want) {
			t.Errorf("fanfold %s: %d %s", c.args, code, out)
		}
	}
	if out, code := s.fanfold("timer", "set"); code != exitUsage || strings.Count(out, "Usage:") != 1 {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("pause"); code != exitOK || !strings.Contains(out, "Available Commands") {
		t.Errorf("%d %s", code, out)
	}
	if n := s.Redis.HLen(t.Context(), s.Partitions.First().Keys.Holds).Val(); n != 0 {
		t.Errorf("%d are paused", n)
	}
}

// TestCompletionOfIDs: completion offers values from the servers, except those already on the
// command line and those with unprintable characters.
func TestCompletionOfIDs(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	s.Records.Exec("INSERT INTO file_download_record (id, report, status, updated_at) VALUES (1, 'r', 'PROCESSING', NOW() - INTERVAL 1 HOUR), (2, 'r', 'FAILED', NOW()), (3, 'r', 'SUCCESS', NOW()), (12, 'slow', 'PROCESSING', NOW())")
	due := time.Now().Add(time.Hour).UnixMilli()
	add := func(key, member string, score int64) {
		t.Helper()
		if err := s.Redis.ZAdd(t.Context(), key, redis.Z{Score: float64(score), Member: member}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"77", "odd\nname"} {
		add(s.Partitions.Of(id).Keys.Delayed, id, due)
	}
	add(s.Partitions.Of("weekly-42").Keys.Timers, "weekly-42", due)
	add(s.Partitions.Of("2").Keys.Dead, "2", 1700000000000)
	for args, want := range map[string]string{
		"cancel |":                 "12\tslow PROCESSING\n1\tr PROCESSING\n:36",
		"cancel 12 |":              "1\tr PROCESSING\n:36",
		"watch |12":                "12\tslow PROCESSING\n:36",
		"status |":                 "12\tslow PROCESSING\n1\tr PROCESSING\n2\tr FAILED\n3\tr SUCCESS\n:36",
		"status 1 |":               ":4",
		"url |":                    "3\tr SUCCESS\n:36",
		"retry |":                  "2\tr FAILED\n3\tr SUCCESS\n:36",
		"submit |":                 ":36",
		"dead discard |":           "2\tr\n:36",
		"timer rm |":               "weekly-42\tset, no definition\n:36",
		"list --report |":          "slow\n:4",
		"serve --listeners |":      "one\n:4",
		"doctor |":                 ":4",
		"-c nowhere.yaml cancel |": ":4",
	} {
		before, word, _ := strings.Cut(args, "|")
		out, code := s.fanfold(append(append([]string{"__complete"}, strings.Fields(before)...), word)...)
		if code != exitOK || !strings.HasPrefix(out, want+"\n") {
			t.Errorf("%s: %d %q, want %q", args, code, out, want)
		}
	}
	if out, code := s.fanfold("__complete", "delay", "rm", ""); code != exitOK || !strings.HasPrefix(out, "77\t") || strings.Contains(out, "odd") {
		t.Errorf("%d %q", code, out)
	}
}

// TestCompletion: completion offers names from the configuration and no files.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	for args, want := range map[string]string{
		"pause listener": "one\n", "resume report": "slow\n", "adopt --report": "slow\n", "list --status": "PENDING\nPROCESSING\n", "serve --roles": "engine\nlisteners\n",
		"list -o": "table\njson\n", "list --log-level": "debug\n",
	} {
		out, code := s.fanfold(append(append([]string{"__complete"}, strings.Fields(args)...), "")...)
		// 4 is cobra's word for: no files.
		if code != exitOK || !strings.HasPrefix(out, want) || !strings.Contains(out, "\n:4\n") {
			t.Errorf("%s: %d %q", args, code, out)
		}
	}
}

// TestCompletionOfParameters: completion offers the parameters of a report, and the options of one.
func TestCompletionOfParameters(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  chosen:
    parameters: {tag: {options: [vip, new]}, tag2: {type: integer, options: [7]}, day: {type: date, description: "First\n\n        day"}, all: boolean}
    listeners: {one: {database: db, query: "SELECT :tag AS k, :tag2 AS n FROM DUAL WHERE :day AND :all"}}`)
	// 6 is cobra's word for: no files, and no space after it.
	for begin, want := range map[string]string{
		"":       "tag=\ntag2=\nday=\tFirst day\nall=\n:6\n",
		"tag=":   "tag=vip\ntag=new\n:6\n",
		"tag=n":  "tag=new\n:6\n",
		"tag2=":  "tag2=7\n:6\n",
		"day=20": ":6\n",
		"all=":   "all=true\nall=false\n:6\n",
	} {
		out, code := s.fanfold("__complete", "run", "chosen", "--param", begin)
		if code != exitOK || !strings.HasPrefix(out, want) {
			t.Errorf("%q: %d %q", begin, code, out)
		}
	}
}
