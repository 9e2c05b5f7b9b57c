package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
)

// TestListsOfNothing: list is an alias of ls, and fanfold list says if no records match.
func TestListsOfNothing(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow)
	for _, of := range []string{"dead", "delay", "timer", "pause", "quarantine"} {
		out, code := s.fanfold(of, "list")
		if same, _ := s.fanfold(of, "ls"); code != exitOK || out != same {
			t.Errorf("%s list: %d %s", of, code, out)
		}
	}
	if out, code := s.fanfold("list"); code != exitOK || out != "no records match\n" {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("list", "-o", "json"); code != exitOK || out != "[]\n" {
		t.Errorf("%d %s", code, out)
	}
}

// TestListOfSome: list returns the records that match all filters, with parameters and times.
func TestListOfSome(t *testing.T) {
	t.Parallel()
	s := newStack(t, typedReport+e2e.Slow[1:])
	old, vip, other := s.Records.Insert("typed", `{"s": "vip", "i": 7}`), s.Records.Insert("typed", `{"s": "vip", "i": "8"}`), s.Records.Insert("slow", `{"seconds": 1.5}`)
	s.Records.Exec("UPDATE file_download_record SET updated_at = NOW() - INTERVAL 2 DAY WHERE id = ?", old)
	for args, want := range map[string][]string{
		"":                                {other, vip, old},
		"--report typed":                  {vip, old},
		"--report typed --since 1d":       {vip},
		"--until 1d":                      {old},
		"--param s=vip --param i=8":       {vip},
		"--param seconds=1.5":             {other},
		"--param s=' OR 1=1":              nil,
		"--since 2024-06-01T09:30:00Z":    {other, vip, old},
		"--until 2024-06-01T09:30:00Z":    nil,
		"--status pending --report typed": {vip, old},
		"--status success":                nil,
		fmt.Sprint("--since ", time.Now().Add(-24*time.Hour).Unix()): {other, vip},
	} {
		var list []string
		if args != "" {
			list = strings.Split(strings.ReplaceAll(args, "' OR 1=1", "'\x00OR\x001=1"), " ")
		}
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], "\x00", " ")
		}
		out, code := s.fanfold(append([]string{"list", "-o", "json"}, list...)...)
		var views []inspect.Job
		if err := json.Unmarshal([]byte(out), &views); err != nil || code != exitOK {
			t.Errorf("%s: %d %v %s", args, code, err, out)
		}
		var ids []string
		for _, v := range views {
			ids = append(ids, v.ID)
			if v.Changed == nil || time.Since(*v.Changed) > 49*time.Hour || v.ID == other && string(v.Parameters) != `{
      "seconds": 1.5
    }` {
				t.Errorf("%v %s", v.Changed, v.Parameters)
			}
		}
		if strings.Join(ids, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, not %v", args, ids, want)
		}
	}
	if out, code := s.fanfold("list", "--report", "typed"); code != exitOK || !strings.Contains(out, "i=7 s=vip") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("status", old); code != exitOK || !strings.Contains(out, "i=7 s=vip") || !strings.Contains(out, "changed") {
		t.Errorf("%d %s", code, out)
	}
	for _, args := range [][]string{{"--since", "soon"}, {"--until", "tomorrow"}, {"--param", "tag"}, {"--param", "=x"}} {
		if out, code := s.fanfold(append([]string{"list"}, args...)...); code != exitUsage || !strings.Contains(out, args[0]) {
			t.Errorf("%v: %d %s", args, code, out)
		}
	}
}
