package main

import (
	"strings"
	"testing"
)

// TestUnknownWords are wrong usage, and say what was probably meant; nothing is paused.
func TestUnknownWords(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport+strings.Replace(oneReport[1:], "slow:", "r:", 1))
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
	if n := s.b.Redis.ZCard(t.Context(), s.b.Partitions.Home().Keys.PausedSet()).Val(); n != 0 {
		t.Errorf("%d are paused", n)
	}
}

// TestCompletion offers the names of the configuration, and not files.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport)
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
