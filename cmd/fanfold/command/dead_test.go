package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
)

// kill makes records FAILED and lists them as dead.
func (s *stack) kill(ids ...string) {
	s.Helper()
	for i, id := range ids {
		s.Records.Exec("UPDATE file_download_record SET status = 'FAILED', attempt = 1, error = ? WHERE id = ?", "reason "+id, id)
		s.Redis.ZAdd(s.Context(), s.Partitions.First().Keys.Dead, redis.Z{Score: float64(1717200000000 + i), Member: id})
	}
}

// TestDead lists dead jobs with the errors of their records and discards them.
func TestDead(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	ids := []string{s.Records.Insert("slow", ""), s.Records.Insert("slow", ""), s.Records.Insert("other", ""), s.Records.Insert("slow", "")}
	s.kill(ids...)
	s.Records.Exec("DELETE FROM file_download_record WHERE id = ?", ids[1])
	s.Records.Exec("UPDATE file_download_record SET status = 'SUCCESS', error = NULL WHERE id = ?", ids[3])
	list := func(args ...string) []inspect.DeadJob {
		t.Helper()
		out, code := s.fanfold(append([]string{"dead", "ls", "-o", "json"}, args...)...)
		var found []inspect.DeadJob
		if err := json.Unmarshal([]byte(out), &found); err != nil || code != exitOK {
			t.Fatalf("%d %v %s", code, err, out)
		}
		return found
	}
	found := list()
	if len(found) != 4 || found[0].ID != ids[3] || found[0].Note != "the record is SUCCESS" || found[2].Note != "the record was deleted" ||
		found[3].Error != "reason "+ids[0] || found[3].Note != "" || found[3].Attempt != 1 || found[3].When.UnixMilli() != 1717200000000 {
		t.Errorf("%+v", found)
	}
	if got := list("--report", "other"); len(got) != 1 || got[0].ID != ids[2] {
		t.Errorf("%+v", got)
	}
	if got := list("--match", "*"+ids[0], "--limit", "1"); len(got) != 1 || got[0].ID != ids[0] {
		t.Errorf("%+v", got)
	}
	if out, code := s.fanfold("dead", "ls"); code != exitOK || !strings.Contains(out, "(the record was deleted)") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("dead", "discard", ids[3]); code != exitOK {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("dead", "discard", "--all", "--match", "sl*"); code != exitOK || !strings.Contains(out, "discarded") {
		t.Errorf("%d %s", code, out)
	}
	left := s.Redis.ZRange(t.Context(), s.Partitions.First().Keys.Dead, 0, -1).Val()
	if len(left) != 2 || s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Jobs).Val() != 0 {
		t.Errorf("left: %v", left)
	}
	if r, err := s.Inspect.Jobs.Get(t.Context(), ids[0]); err != nil || r.Status != report.Failed {
		t.Errorf("%+v %v", r, err)
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitNotFound, []string{"dead", "discard", ids[3]}}, {exitUsage, []string{"dead", "discard"}}, {exitUsage, []string{"dead", "discard", "1", "--all"}},
		{exitUsage, []string{"dead", "ls", "--limit", "0"}}, {exitUsage, []string{"retry"}}, {exitUsage, []string{"retry", "1", "--dry-run"}},
		{exitUsage, []string{"retry", "--all", "--wait"}}, {exitUsage, []string{"retry", "--all", "--match", "[a"}},
	} {
		if out, code := s.fanfold(c.args...); code != c.code {
			t.Errorf("%v: %d %s", c.args, code, out)
		}
	}
}

// TestDeadSince selects dead jobs by the time of their failure, in the list, to be discarded and to be run
// again, and says how many a list leaves out.
func TestDeadSince(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	ids := []string{s.Records.Insert("slow", ""), s.Records.Insert("slow", ""), s.Records.Insert("slow", "")} // failed at :00, :01 and :02
	s.kill(ids...)
	for i, id := range ids {
		s.Redis.ZAdd(t.Context(), s.Partitions.First().Keys.Dead, redis.Z{Score: float64(1717200000000 + 1000*i), Member: id})
	}
	const second, third = "2024-06-01T00:00:01Z", "1717200002"
	for _, c := range []struct {
		args  []string
		wants string
	}{
		{[]string{"--since", second}, ids[2] + " " + ids[1]},
		{[]string{"--until", second}, ids[0]},
		{[]string{"--since", second, "--until", third}, ids[1]},
		{[]string{"--since", "1h"}, ""},
	} {
		out, code := s.fanfold(append([]string{"dead", "ls", "-o", "json"}, c.args...)...)
		var found []inspect.DeadJob
		err := json.Unmarshal([]byte(out), &found)
		var got []string
		for _, j := range found {
			got = append(got, j.ID)
		}
		if strings.Join(got, " ") != c.wants || code != exitOK || err != nil {
			t.Errorf("%v: %q, not %q; %d %v", c.args, got, c.wants, code, err)
		}
	}
	if out, code := s.fanfold("dead", "ls", "--limit", "2"); code != exitOK || !strings.Contains(out, "2 of 3 entries; --limit 3 shows all") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := s.fanfold("dead", "ls", "--limit", "1", "--since", third); code != exitOK || strings.Contains(out, "shows all") {
		t.Errorf("%d %s", code, out)
	}
	for _, args := range [][]string{{"dead", "ls", "--since", "soon"}, {"retry", "--all", "--until", "soon"}, {"retry", "1", "--since", "1h"}} {
		if out, code := s.fanfold(args...); code != exitUsage {
			t.Errorf("%v: %d %s", args, code, out)
		}
	}
	left := func(want ...string) {
		t.Helper()
		if got := s.Redis.ZRange(t.Context(), s.Partitions.First().Keys.Dead, 0, -1).Val(); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q are dead, not %q", got, want)
		}
	}
	if out, code := s.fanfold("dead", "discard", "--all", "--until", second); code != exitOK {
		t.Errorf("%d %s", code, out)
	}
	left(ids[1], ids[2])
	if out, code := s.fanfold("retry", "--all", "--since", third); code != exitOK {
		t.Errorf("%d %s", code, out)
	}
	left(ids[1])
	if r, err := s.Inspect.Jobs.Record(t.Context(), ids[2]); err != nil || r.Status != report.Pending {
		t.Errorf("%+v %v", r, err)
	}
}

// TestRetryAll selects dead jobs by flags and prints the result; package operate runs thousands of them.
func TestRetryAll(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow)
	ids := []string{s.Records.Insert("slow", ""), s.Records.Insert("slow", ""), s.Records.Insert("slow", ""), s.Records.Insert("gone", "")}
	s.kill(ids...)
	sweep := func(done, would int, args ...string) {
		t.Helper()
		out, code := s.fanfold(append([]string{"retry", "--all", "-o", "json"}, args...)...)
		var r operate.Swept
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitOK || r.Done != done || r.Would != would {
			t.Errorf("%v: %d %v %s", args, code, err, out)
		}
	}
	sweep(0, 3, "--dry-run")
	sweep(1, 0, "--match", "reason "+ids[2])
	sweep(1, 0, "--limit", "1")
	sweep(1, 0, "--report", "slow")
	if out, code := s.fanfold("retry", "--all"); code != exitOK || !strings.Contains(out, "unchanged: its report") {
		t.Errorf("%d %s", code, out)
	}
}
