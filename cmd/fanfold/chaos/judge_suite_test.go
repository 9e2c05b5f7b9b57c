package chaos

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestChaosSchedule: a seed always gives the same schedule, and a schedule has every kind of fault.
func TestChaosSchedule(t *testing.T) {
	t.Parallel()
	for _, redis := range redisKinds {
		kinds, servers := faultKinds(redis), relays(redis)
		one := schedule(7, kinds, servers, 30*time.Second)
		if !reflect.DeepEqual(one, schedule(7, kinds, servers, 30*time.Second)) || reflect.DeepEqual(one, schedule(8, kinds, servers, 30*time.Second)) {
			t.Error("the schedule is not that of its seed")
		}
		for _, kind := range kinds {
			if kind != faultCrash && kind != faultDouble && !slices.ContainsFunc(one, func(f incident) bool { return f.kind == kind }) {
				t.Errorf("no %s in %s", kind, scheduleText(one))
			}
		}
	}
	for _, f := range schedule(7, []string{faultCut}, []string{"mysql"}, 30*time.Second) {
		if f.kind != faultCut {
			t.Errorf("%s is off", f)
		}
	}
	seen := map[crash]bool{}
	for life := range 2 * len(steps) {
		for worker := range crew {
			c := crashOf(7, steps, worker, life)
			if c != crashOf(7, steps, worker, life) {
				t.Error("a crash is not that of its seed")
			}
			seen[crash{step: c.step, after: c.after}] = true
		}
	}
	if len(seen) != 2*len(steps) {
		t.Errorf("crashes at %d of %d places", len(seen), 2*len(steps))
	}
}

// TestChaosJudge: the judge detects barriers that fire early, twice or never.
func TestChaosJudge(t *testing.T) {
	t.Parallel()
	// job writes a state. If found is set, it also counts this listener.
	job := func(status, stage, count, open, found string) string {
		line := strings.Join([]string{"1", status, stage, "0", "9", count, "0", open, "9", "9", "storm/d/p"}, "_")
		if found != "" {
			found = " queryDoneCount " + count[:1] + " src." + found + ":found at=1"
		}
		return "HSET FileDownloadRecordEntity-1 job " + line + found
	}
	start := job("RUN", "1", "0/2", "|src.a|src.b|", "") + " parameters {} queryDoneCount 0"
	a, b := job("RUN", "1", "1/2", "|src.b|", "a"), job("READY", "1", "2/2", "|", "b")
	entry := func(stage string) string { return "XADD fanfold:fanin 5-0 id 1 attempt 1 stage " + stage }
	next := job("RUN", "2", "2/3", "|src.c|", "")
	c3 := job("READY", "2", "3/3", "|", "c")
	publish := job("PUBLISHING", "2", "3/3", "|", "")
	// reopened is the write of a job whose listener runs again because its segments are lost.
	reopened := func(stage, count, open, listener string) string {
		return job("RUN", stage, count, open, "") + " src." + listener + ":generation 0 src." + listener + ":blame spool"
	}
	for _, c := range []struct {
		name  string
		lines []string
		wrong string
	}{
		{"right", []string{start, a, b, entry("1"), next, c3, entry("2"), publish, "UNLINK FileDownloadRecordEntity-1"}, ""},
		{"copies do nothing", []string{start, a, b, entry("1"), entry("1") + " copy 1", next, c3, entry("2"), publish}, ""},
		{"opened again by fan-in", []string{
			start, a, b, entry("1"), reopened("1", "1/2", "|src.a#1|", "a"), job("READY", "1", "2/2", "|", "a"), entry("1"),
			next, c3, entry("2"), publish,
		}, ""},
		{"opened again by a listener", []string{
			start, a, b, entry("1"), next, reopened("2", "1/3", "|src.c|src.b#1|", "b"), job("RUN", "2", "2/3", "|src.b#1|", "c"),
			job("READY", "2", "3/3", "|", "b"), entry("2"), publish,
		}, ""},
		{"opened again, and cancelled", []string{start, a, b, entry("1"), next, c3, entry("2"), publish,
			strings.ReplaceAll(start, "y-1", "y-2"), strings.ReplaceAll(a, "y-1", "y-2"), strings.ReplaceAll(b, "y-1", "y-2"),
			strings.ReplaceAll(entry("1"), "id 1", "id 2"), strings.ReplaceAll(reopened("1", "1/2", "|src.a#1|", "a"), "y-1", "y-2"),
		}, ""},
		{"opened again, and fired twice", []string{
			start, a, b, entry("1"), reopened("1", "1/2", "|src.a#1|", "a"), job("READY", "1", "2/2", "|", "a"), entry("1"), entry("1"),
			next, c3, entry("2"), publish,
		}, "made 2 entries"},
		{"opened again, and forgotten", []string{
			start, a, b, entry("1"), reopened("1", "1/2", "|src.a#1|", "a"), next, c3, entry("2"), publish,
		}, "fired with 2 of 3"},
		{"early", []string{start, job("READY", "1", "1/2", "|", "a"), entry("1"), next, c3, entry("2"), publish}, "fired with 1 of 2"},
		{"counted twice", []string{start, a, job("RUN", "1", "2/2", "|", "a"), b, entry("1"), next, c3, entry("2"), publish}, "src.a of job 1/1 was counted twice"},
		{"counted too far", []string{start, job("RUN", "1", "2/2", "|src.b|", "a"), b, entry("1"), next, c3, entry("2"), publish}, "counted 2/2, queryDoneCount \"2\", instead of 1/2"},
		{"fired twice", []string{start, a, b, entry("1"), job("READY", "1", "2/2", "|", ""), entry("1"), next, c3, entry("2"), publish}, "1/1/1 fired 2 times"},
		{"an entry too many", []string{start, a, b, entry("1"), entry("1"), next, c3, entry("2"), publish}, "made 2 entries"},
		{"lost", []string{start, a, b, entry("1"), next, publish}, "its barrier 2 fired 0 times"},
		{"forgotten state", []string{start, "FLUSHALL", a}, "without being started"},
		{"a state after the end", []string{start, "UNLINK FileDownloadRecordEntity-1", a}, "without being started"},
		{"nothing", nil, "blind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var aof bytes.Buffer
			for line := range strings.Lines(strings.Join(c.lines, "\n")) {
				words := strings.Fields(line)
				fmt.Fprintf(&aof, "*%d\r\n", len(words))
				for _, w := range words {
					if strings.Count(w, "_") == 10 {
						w = strings.ReplaceAll(w, "_", " ") // the words of a state
					}
					fmt.Fprintf(&aof, "$%d\r\n%s\r\n", len(w), w)
				}
			}
			if err := os.MkdirAll(filepath.Join(dir, "redis", "appendonlydir"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "redis", "appendonlydir", "appendonly.aof.1.incr.aof"), aof.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			r := &round{dir: dir, totals: &totals{n: map[string]int{}}}
			verdict{r}.barriers()
			text := strings.Join(r.violations, "; ")
			if c.wrong == "" && text != "" || c.wrong != "" && !strings.Contains(text, c.wrong) {
				t.Errorf("judged: %q", text)
			}
		})
	}
}
