package main

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

// TestChaosSchedule: a seed is a schedule, which has each kind of fault.
func TestChaosSchedule(t *testing.T) {
	t.Parallel()
	one := schedule(7, faultKinds, 30*time.Second)
	if !reflect.DeepEqual(one, schedule(7, faultKinds, 30*time.Second)) || reflect.DeepEqual(one, schedule(8, faultKinds, 30*time.Second)) {
		t.Error("the schedule is not that of its seed")
	}
	for _, kind := range faultKinds {
		if kind != faultCrash && kind != faultDouble && !slices.ContainsFunc(one, func(f fault) bool { return f.kind == kind }) {
			t.Errorf("no %s in %s", kind, scheduleText(one))
		}
	}
	for _, f := range schedule(7, []string{faultCut}, 30*time.Second) {
		if f.kind != faultCut {
			t.Errorf("%s is off", f)
		}
	}
	seen := map[crash]bool{}
	for life := range 2 * len(steps) {
		for worker := range crew {
			c := crashOf(7, worker, life)
			if c != crashOf(7, worker, life) {
				t.Error("a crash is not that of its seed")
			}
			seen[crash{step: c.step, after: c.after}] = true
		}
	}
	if len(seen) != 2*len(steps) {
		t.Errorf("crashes at %d of %d places", len(seen), 2*len(steps))
	}
}

// TestChaosJudge: the judge of barriers sees what must not be.
func TestChaosJudge(t *testing.T) {
	t.Parallel()
	state := "{FileDownloadRecordEntity-1}:state"
	start := "HSET " + state + " report storm attempt 1 stage 1 status RUN done 0 listeners src.a,src.b"
	done := func(l, n string) string { return "HSET " + state + " src." + l + ":done 1 done " + n }
	ready := "HSET " + state + " status READY\nXADD fanfold:fanin 5-0 id 1 attempt 1 stage "
	next := "HSET " + state + " stage 2 status RUN listeners src.c"
	publish := "HSET " + state + " status PUBLISHING"
	for _, c := range []struct {
		name  string
		lines []string
		wrong string
	}{
		{"right", []string{start, done("a", "1"), done("b", "2"), ready + "1", next, done("c", "3"), ready + "2", publish}, ""},
		{"copies do nothing", []string{start, done("a", "1"), done("b", "2"), ready + "1", "XADD fanfold:fanin 6-0 id 1 attempt 1 stage 1 copy 1", next, done("c", "3"), ready + "2", publish}, ""},
		{"early", []string{start, done("a", "1"), ready + "1", next, done("c", "3"), ready + "2", publish}, "fired with 1 of 2"},
		{"counted twice", []string{start, done("a", "1"), done("a", "2"), ready + "1", next, done("c", "3"), ready + "2", publish}, "src.a of job 1/1 was counted twice"},
		{"counted too far", []string{start, done("a", "2"), done("b", "3"), ready + "1", next, done("c", "4"), ready + "2", publish}, "counted 2 after 0"},
		{"fired twice", []string{start, done("a", "1"), done("b", "2"), ready + "1", ready + "1", next, done("c", "3"), ready + "2", publish}, "1/1/1 fired 2 times"},
		{"an entry too many", []string{start, done("a", "1"), done("b", "2"), ready + "1", "XADD fanfold:fanin 6-0 id 1 attempt 1 stage 1", next, done("c", "3"), ready + "2", publish}, "made 2 entries"},
		{"lost", []string{start, done("a", "1"), done("b", "2"), ready + "1", next, done("c", "3"), publish}, "its barrier 2 fired 0 times"},
		{"forgotten state", []string{start, "FLUSHALL", done("a", "1")}, "without being started"},
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
			r.barriers()
			text := strings.Join(r.violations, "; ")
			if c.wrong == "" && text != "" || c.wrong != "" && !strings.Contains(text, c.wrong) {
				t.Errorf("judged: %q", text)
			}
		})
	}
}
