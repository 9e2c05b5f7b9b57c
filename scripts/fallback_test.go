package scripts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
)

// fallbackOf is what jobs of listeners a and b leave if they have a file: the datasets of a.
var fallbackOf = job.Keep{
	For: time.Hour, Definitions: map[string]string{"a": "0", "b": "0"}, Stale: map[string]time.Duration{"a": time.Hour},
}.String()

// startedWithFallback starts an attempt of a job of listeners a and b, and returns the task of a.
func startedWithFallback(t *testing.T, s *Scripts, id string, number int64, parameters ...string) *Task {
	t.Helper()
	start := attempt(id, time.Hour, "a,b")
	start.Attempt = number
	start.Keep = fallbackOf
	for _, p := range parameters {
		start.Parameters = []byte(p)
	}
	if outcomes, err := s.Jobs.Start(t.Context(), "", start); err != nil || outcomes[0] != OK {
		t.Fatal(outcomes, err)
	}
	return firstTask(t, s, "a", "w")
}

// endAs completes b and ends a job whose task of a is done.
func endAs(t *testing.T, s *Scripts, status string) {
	t.Helper()
	settled(t, s, End{Fold: claimedFold(t, s), Status: status, Detail: "x"})
}

// claimedFold completes b of the job whose task of a is done, and claims the job.
func claimedFold(t *testing.T, s *Scripts) *Fold {
	t.Helper()
	ctx, b := t.Context(), firstTask(t, s, "b", "w")
	if outcome, err := b.Complete(ctx, chunkOf(0, "1"), 0); err != nil || outcome != Already && outcome != OK {
		t.Fatal(outcome, err)
	}
	entry, _, _ := read(t, s, s.Keys.FanIn, "w")
	m, _ := entry.Message()
	_, fold, err := s.Folds.Claim(ctx, Claim{Message: m, Worker: "w", Known: []string{"d"}, Entry: entry})
	if err != nil || fold == nil {
		t.Fatal(fold, err)
	}
	return fold
}

func settled(t *testing.T, s *Scripts, ends ...End) {
	t.Helper()
	outcomes, err := s.Folds.Settle(t.Context(), ends...)
	if err != nil || slices.ContainsFunc(outcomes, func(o Outcome) bool { return o != OK }) {
		t.Fatal(outcomes, err)
	}
}

func completed(t *testing.T, task *Task, value string, took time.Duration) {
	t.Helper()
	if outcome, err := task.Complete(t.Context(), chunkOf(0, value), took); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
}

// TestFallback: a job with a file leaves the datasets with a max age, in place of those of the job before. Who reads
// those while they are replaced is told so.
func TestFallback(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	first := startedWithFallback(t, s, "1", 1)
	report, parameters := first.Report, first.Parameters
	if found, _, err := s.Fallbacks.Read(ctx, report, parameters); found != nil || err != nil {
		t.Errorf("before the first job: %v, %v", found, err)
	}
	completed(t, first, "7", 10*time.Minute)
	endAs(t, s, "SUCCESS")
	found, now, err := s.Fallbacks.Read(ctx, report, parameters)
	if err != nil || found == nil || found.From != "1/1" || len(found.Tasks) != 1 || !found.Tasks["a"].Done {
		t.Fatalf("%+v, %v", found, err)
	}
	left := found.Tasks["a"].KeptUntil.Sub(now)
	ttl := client.PTTL(ctx, s.Keys.Good("1")).Val()
	if left > 50*time.Minute || left < 49*time.Minute || ttl > 50*time.Minute || ttl < 49*time.Minute {
		t.Errorf("it was read 10 minutes ago: it is left for %s, and expires in %s", left, ttl)
	}
	if fields, err := found.Stored("a").Get(ctx, []string{"c"}, 0); err != nil || string(fields[0]) != "[7]" {
		t.Errorf("%q, %v", fields, err)
	}
	if found, _, err := s.Fallbacks.Read(ctx, report, []byte(`{"other":1}`)); found != nil || err != nil {
		t.Errorf("of other parameters: %v, %v", found, err)
	}

	completed(t, startedWithFallback(t, s, "2", 1), "8", 0)
	endAs(t, s, "PARTIAL")
	if client.Exists(ctx, s.Keys.Good("1")).Val() != 0 || client.ZCard(ctx, s.Keys.Fallbacks).Val() != 1 {
		t.Error("what the first job has left is not replaced")
	}
	if _, err := found.Stored("a").Get(ctx, []string{"c"}, 0); !errors.Is(err, ErrNoChunk) {
		t.Errorf("a replaced dataset: %v", err)
	}
	second, _, err := s.Fallbacks.Read(ctx, report, parameters)
	if err != nil || second.From != "2/1" {
		t.Fatalf("%+v, %v", second, err)
	}
	again := startedWithFallback(t, s, "2", 2)
	completed(t, again, "9", 0)
	endAs(t, s, "SUCCESS")
	if fields, err := second.Stored("a").Get(ctx, []string{"c"}, 0); !errors.Is(err, ErrNoChunk) {
		t.Errorf("a dataset that the next attempt has replaced: %s, %v", fields, err)
	}

	// A job that fails leaves nothing for others.
	completed(t, startedWithFallback(t, s, "3", 1), "9", 0)
	endAs(t, s, "FAILED")
	if found, _, err := s.Fallbacks.Read(ctx, report, parameters); err != nil || found == nil || found.From != "2/2" {
		t.Fatalf("%+v, %v", found, err)
	}
	if n, err := s.Fallbacks.Free(ctx); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if found, _, err := s.Fallbacks.Read(ctx, report, parameters); found != nil || err != nil {
		t.Errorf("after Free: %v, %v", found, err)
	}
}

// TestFallbacksOfABatch: of jobs with the same parameters that end together, one leaves its datasets, in place of those
// of a job before. Jobs that fail, keep nothing, or have other parameters do not change that.
func TestFallbacksOfABatch(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	completed(t, startedWithFallback(t, s, "0", 1), "0", 0)
	endAs(t, s, "SUCCESS")
	var ends []End
	for i, c := range []struct{ status, parameters string }{
		{"FAILED", "{}"}, {"SUCCESS", "{}"}, {"PARTIAL", "{}"}, {"SUCCESS", `{"p":1}`}, {"SUCCESS", "{}"},
	} {
		id := fmt.Sprint(i + 1)
		completed(t, startedWithFallback(t, s, id, 1, c.parameters), id, 0)
		ends = append(ends, End{Fold: claimedFold(t, s), Status: c.status, Detail: "x"})
	}
	settled(t, s, ends...)
	var left []string
	for _, key := range client.Keys(ctx, s.Keys.Hash+"*").Val() {
		if !strings.HasSuffix(key, ":ended") {
			left = append(left, strings.TrimPrefix(key, s.Keys.Hash))
		}
	}
	slices.Sort(left)
	members := client.ZRange(ctx, s.Keys.Fallbacks, 0, -1).Val()
	slices.Sort(members)
	if !slices.Equal(left, []string{"1:kept", "2:good", "4:good"}) || !slices.Equal(members, []string{"2", "4"}) {
		t.Errorf("%q, %q", left, members)
	}
	for parameters, from := range map[string]string{"{}": "2/1", `{"p":1}`: "4/1"} {
		if found, _, err := s.Fallbacks.Read(ctx, "r", []byte(parameters)); err != nil || found == nil || found.From != from {
			t.Errorf("%s: %+v, %v", parameters, found, err)
		}
	}
}

// TestFallbackOfChangedParameters: a job that runs again with other parameters no longer counts as the last one with
// those before, so the next one with them leaves its datasets in their place.
func TestFallbackOfChangedParameters(t *testing.T) {
	t.Parallel()
	s, _ := newScripts(t)
	completed(t, startedWithFallback(t, s, "1", 1), "1", 0)
	endAs(t, s, "SUCCESS")
	completed(t, startedWithFallback(t, s, "1", 2, `{"p":1}`), "1", 0)
	endAs(t, s, "SUCCESS")
	completed(t, startedWithFallback(t, s, "2", 1), "2", 0)
	endAs(t, s, "SUCCESS")
	for parameters, from := range map[string]string{"{}": "2/1", `{"p":1}`: "1/2"} {
		if found, _, err := s.Fallbacks.Read(t.Context(), "r", []byte(parameters)); err != nil || found == nil || found.From != from {
			t.Errorf("%s: %+v, %v", parameters, found, err)
		}
	}
}

// TestLostAnswerOfAFallback: a worker that does not know its new generation does not acknowledge its entry, which no
// other one would bring again. After its lease, another worker takes the task over.
func TestLostAnswerOfAFallback(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(task *Task) (Outcome, error){
		"renew":   func(task *Task) (Outcome, error) { return task.Renew(t.Context()) },
		"requeue": func(task *Task) (Outcome, error) { return task.Requeue(t.Context(), Requeue{}) },
		"omit":    func(task *Task) (Outcome, error) { return task.Omit(t.Context(), "empty", "broken") },
		"fail":    func(task *Task) (Outcome, error) { return task.Fail(t.Context(), "broken", job.BlameSource) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, client := newScripts(t)
			ctx := t.Context()
			task := startedWithFallback(t, s, "1", 1)
			before := *task
			if outcome, err := s.Fallbacks.Begin(ctx, task, time.Now(), "broken"); err != nil || outcome != OK {
				t.Fatal(outcome, err)
			}
			if outcome, err := end(&before); err != nil || outcome != Busy {
				t.Errorf("%v, %v", outcome, err)
			}
			if left := client.XPending(ctx, s.Keys.Task("a"), Group).Val(); left.Count != 1 {
				t.Errorf("%+v", left)
			}
		})
	}
}

// TestBeginOfAFallback: what the tries have stored is removed, a repeated call gets the same generation, other workers are
// refused, and a task that is taken over is not marked. What a job has used of an earlier one keeps its age, and is
// not kept for the next attempt.
func TestBeginOfAFallback(t *testing.T) {
	t.Parallel()
	s, _ := newScripts(t)
	ctx, at := t.Context(), time.Now().Add(-30*time.Minute).Truncate(time.Millisecond)
	task := startedWithFallback(t, s, "1", 1)
	if outcome, err := task.Append(ctx, chunkOf(0, "1")); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	late, again := *task, *task
	for _, task := range []*Task{task, &again} {
		if outcome, err := s.Fallbacks.Begin(ctx, task, at, "broken"); err != nil || outcome != OK || task.Generation != 1 {
			t.Fatalf("%v, %d, %v", outcome, task.Generation, err)
		}
	}
	if outcome, err := s.Fallbacks.Begin(ctx, &late, at, "other"); err != nil || outcome != Busy {
		t.Errorf("an earlier worker: %v, %v", outcome, err)
	}
	if outcome, err := late.Append(ctx, chunkOf(1, "2")); err != nil || outcome != Busy {
		t.Errorf("an earlier worker appends: %v, %v", outcome, err)
	}
	completed(t, task, "7", 0)
	state, err := s.Jobs.Read(ctx, "1")
	if a := state.Tasks["a"]; err != nil || !a.StaleAt.Equal(at) || !a.ReadAt().Equal(at) || a.Failed != "broken" || a.Rows != 1 || state.Bytes != a.Bytes || state.Omitted() != nil {
		t.Fatalf("%+v, %v", a, err)
	}
	endAs(t, s, "PARTIAL")
	found, now, err := s.Fallbacks.Read(ctx, task.Report, task.Parameters)
	if err != nil || found == nil || !found.Tasks["a"].ReadAt().Equal(at) || found.Tasks["a"].KeptUntil.Sub(now) > 30*time.Minute {
		t.Errorf("%+v, %v", found, err)
	}

	// The next one fails: nothing of an earlier job is kept for its next attempt.
	task = startedWithFallback(t, s, "2", 1)
	if outcome, err := s.Fallbacks.Begin(ctx, task, at, "broken"); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	completed(t, task, "7", 0)
	endAs(t, s, "FAILED")
	if kept, err := s.Kept.Read(ctx, "2"); err != nil || kept[0] == nil || len(kept[0].Tasks) != 1 || !kept[0].Tasks["b"].Done {
		t.Errorf("%+v, %v", kept[0], err)
	}

	task = startedWithFallback(t, s, "3", 1)
	if outcome, err := s.Fallbacks.Begin(ctx, task, at, "broken"); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	take := Take{Owner: "other", Known: []string{task.Definition}, Redelivered: true}
	if outcome, err := task.Take(ctx, take); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	completed(t, task, "9", 0)
	if state, err := s.Jobs.Read(ctx, "3"); err != nil || !state.Tasks["a"].StaleAt.IsZero() {
		t.Errorf("%+v, %v", state.Tasks["a"], err)
	}
	if outcome, err := s.Fallbacks.Begin(ctx, task, at, "broken"); err != nil || outcome != Gone {
		t.Errorf("a task that is done: %v, %v", outcome, err)
	}
}
