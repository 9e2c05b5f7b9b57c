package scripts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// TestAClaimBringsTheState as it has made it, also if Redis does not know the script.
func TestAClaimBringsTheState(t *testing.T) { // not parallel: others make Redis forget scripts, too
	s, client := newScripts(t)
	ctx := t.Context()
	ready(t, s, "1", time.Hour)
	for i, known := range []bool{true, false, true} {
		if !known {
			client.ScriptFlush(ctx)
		}
		outcome, fold, err := s.Folds.Claim(ctx, Claim{Message: Message{"1", 1}, Stage: 1, Worker: fmt.Sprint("w", i), Known: []string{"d"}, Redelivered: true})
		if err != nil || outcome != OK {
			t.Fatal(i, outcome, err)
		}
		if fold.Fence != int64(i+1) || fold.Worker != fmt.Sprint("w", i) || fold.Status != job.StatusFold || fold.Fold.Tries != int64(i+2) {
			t.Errorf("%+v", fold.State)
		}
		if fields, err := fold.Stored("l").Get(ctx, []string{"c"}, 0); err != nil || string(fields[0]) != "[1]" {
			t.Errorf("%q %v", fields, err)
		}
	}
}

// TestOpenBringsTheData of small jobs, and nothing of a job that is not READY in that stage
// and attempt.
func TestOpenBringsTheData(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	for _, id := range []string{"good", "garbage", "claimed", "other-stage", "other-attempt"} {
		ready(t, s, id, time.Hour)
	}
	started(t, s, "runs", time.Hour, "l")
	client.HSet(ctx, s.Keys.Job("garbage"), "job", "1 READY")
	client.Set(ctx, s.Keys.Job("other-type"), "x", 0)
	claimed(t, s, "claimed", "w", OK)
	jobs := []Small{
		{Message: Message{"runs", 1}, Stage: 1}, {Message: Message{"garbage", 1}, Stage: 1}, {Message: Message{"claimed", 1}, Stage: 1},
		{Message: Message{"other-stage", 1}, Stage: 2}, {Message: Message{"other-attempt", 2}, Stage: 1}, {Message: Message{"other-type", 1}, Stage: 1},
		{Message: Message{"none", 1}, Stage: 1}, {Message: Message{"good", 1}, Stage: 1},
	}
	folds, err := s.Folds.Open(ctx, jobs)
	if err != nil {
		t.Fatal(err)
	}
	good := folds[len(folds)-1]
	if slices.ContainsFunc(folds[:len(folds)-1], func(f *Fold) bool { return f != nil }) || good == nil {
		t.Fatal(folds)
	}
	client.HDel(ctx, s.Keys.Job("good"), "l.c") // it is read no more
	if fields, err := good.Stored("l").Get(ctx, []string{"c"}, 0); err != nil || string(fields[0]) != "[1]" {
		t.Errorf("%q %v", fields, err)
	}
	if _, err := good.Stored("l").Get(ctx, []string{"d"}, 0); !errors.Is(err, ErrNoChunk) {
		t.Errorf("a column that does not exist: %v", err)
	}
	if _, err := s.Folds.Stored("good", "l").Get(ctx, []string{"c"}, 0); !errors.Is(err, ErrNoChunk) {
		t.Errorf("a column that is lost: %v", err)
	}
}

// between is a hook that does something behind the first command of a pipeline.
type between struct{ act func() }

func (b between) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (b between) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (b between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) < 2 {
			return next(ctx, cmds)
		}
		if err := next(ctx, cmds[:1]); err != nil {
			return err
		}
		b.act()
		return next(ctx, cmds[1:])
	}
}

// TestAClaimIsOfItsAttempt: what is read behind the script may be of a later one, whose
// fence counts from 0 again, or of a later claim.
func TestAClaimIsOfItsAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next  bool // the next attempt starts
		claim bool // it is claimed, or this one again
		want  Outcome
	}{"the next attempt": {true, false, Gone}, "the next attempt, claimed": {true, true, Gone}, "a later claim": {false, true, OK}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, client := newScripts(t)
			ctx := t.Context()
			ready(t, s, "1", time.Hour)
			slow := redis.NewClient(client.Options())
			defer slow.Close()
			slow.AddHook(between{func() {
				attempts := int64(1)
				if c.next {
					attempts = 2
					next := attempt("1", time.Hour, "l")
					next.Attempt = 2
					if outcomes, err := s.Jobs.Start(ctx, "", next); err != nil || outcomes[0] != OK {
						t.Error(outcomes, err)
					}
					if outcome, err := firstTask(t, s, "l", "w").Complete(ctx, chunkOf(0, "2"), 0); err != nil || outcome != Already {
						t.Error(outcome, err)
					}
				}
				if c.claim {
					claim := Claim{Message: Message{"1", attempts}, Worker: "w2", Known: []string{"d"}, Redelivered: true}
					if outcome, _, err := s.Folds.Claim(ctx, claim); err != nil || outcome != OK {
						t.Error(outcome, err)
					}
				}
			}})
			late := New(Options{Redis: slow, Keys: s.Keys.Keys})
			if err := late.Load(ctx); err != nil { // the hook knows no command that is sent again
				t.Fatal(err)
			}
			outcome, fold, err := late.Folds.Claim(ctx, Claim{Message: Message{"1", 1}, Worker: "w1", Known: []string{"d"}})
			if err != nil || outcome != c.want || (fold != nil) != (c.want == OK) {
				t.Fatalf("%v %+v %v", outcome, fold, err)
			}
			if fold != nil { // its fence is an old one already
				if outcomes, err := s.Folds.Publish(ctx, fold); err != nil || outcomes[0] != Busy {
					t.Error(outcomes, err)
				}
			}
		})
	}
}

// TestPublishAfterTheDeadline is too late, with a claim and without one, but not for what
// is published already.
func TestPublishAfterTheDeadline(t *testing.T) {
	t.Parallel()
	s, _ := newScripts(t)
	ctx := t.Context()
	for _, id := range []string{"small", "claimed", "published"} {
		ready(t, s, id, time.Hour)
	}
	folds, err := s.Folds.Open(ctx, []Small{{Message: Message{"small", 1}, Stage: 1}})
	if err != nil || folds[0] == nil {
		t.Fatal(folds, err)
	}
	folds = append(folds, claimed(t, s, "claimed", "w", OK), claimed(t, s, "published", "w", OK))
	if outcomes, err := s.Folds.Publish(ctx, folds[2]); err != nil || outcomes[0] != OK {
		t.Fatal(outcomes, err)
	}
	for _, f := range folds {
		rewrite(t, s, f.ID, func(words []string) { words[4] = "1" })
	}
	outcomes, err := s.Folds.Publish(ctx, folds...)
	if err != nil || !slices.Equal(outcomes, []Outcome{Late, Late, OK}) {
		t.Fatal(outcomes, err)
	}
	for i, want := range []Outcome{OK, OK, Busy} {
		if outcome, _, err := s.Jobs.Expire(ctx, folds[i].ID); err != nil || outcome != want {
			t.Errorf("%s: %v %v", folds[i].ID, outcome, err)
		}
	}
	if outcomes, err := s.Folds.Publish(ctx, folds...); err != nil || !slices.Equal(outcomes, []Outcome{Busy, Busy, OK}) {
		t.Error(outcomes, err)
	}
}

// TestTwoWorkersFoldASmallJob at the same time: one of them publishes it, whoever is first.
func TestTwoWorkersFoldASmallJob(t *testing.T) {
	t.Parallel()
	s, _ := newScripts(t)
	ctx := t.Context()
	const jobs = 100
	var open []Small
	for i := range jobs {
		ready(t, s, fmt.Sprint(i), time.Hour)
		entry, fields, _ := read(t, s, s.Keys.FanIn, "f1")
		open = append(open, Small{Message: Message{fields["id"], 1}, Stage: 1, Entry: entry})
	}
	published := make(chan string, 2*jobs)
	var failed [2]error
	done := make(chan bool)
	for w, worker := range []string{"f1", "f2"} {
		go func() {
			defer func() { done <- true }()
			if worker == "f1" {
				folds, err := s.Folds.Open(ctx, open)
				if err != nil {
					failed[w] = err
					return
				}
				for _, f := range folds {
					if f == nil {
						continue // the other one has claimed it
					}
					outcomes, err := s.Folds.Publish(ctx, f)
					if err != nil {
						failed[w] = err
						return
					}
					if outcomes[0] == OK {
						published <- f.ID
					}
				}
				return
			}
			for _, o := range slices.Backward(open) { // it takes the entries over
				outcome, f, err := s.Folds.Claim(ctx, Claim{Message: o.Message, Stage: 1, Worker: worker, Known: []string{"d"}, Redelivered: true, Entry: o.Entry})
				if err != nil {
					failed[w] = err
					return
				}
				if outcome != OK || f.Status == job.StatusPublishing {
					continue
				}
				outcomes, err := s.Folds.Publish(ctx, f)
				if err != nil {
					failed[w] = err
					return
				}
				if outcomes[0] == OK {
					published <- f.ID
				}
			}
		}()
	}
	<-done
	<-done
	close(published)
	if err := errors.Join(failed[:]...); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for id := range published {
		if seen[id] {
			t.Errorf("%s is published twice", id)
		}
		seen[id] = true
	}
	if len(seen) != jobs {
		t.Errorf("%d of %d jobs are published", len(seen), jobs)
	}
}
