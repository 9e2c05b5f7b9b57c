package listeners

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// leaves ends a job with a file and one row of listener a, for later jobs.
func (o *outside) leaves(id string) {
	o.t.Helper()
	ctx, definition := o.t.Context(), o.definition()
	p := plan(definition)
	p.Keep = job.KeepOf(definition).String()
	start(o.t, o.s, id, `{"p":1}`, p)
	last := o.client.XRevRangeN(ctx, o.s.Keys.Task("a"), "+", "-", 1).Val()[0]
	task, _ := o.s.Tasks.New(scripts.Message{ID: id, Attempt: 1}, "a",
		scripts.Entry{Stream: o.s.Keys.Task("a"), ID: last.ID, Fields: map[string]string{"of": last.Values["of"].(string)}})
	chunk := scripts.Chunk{Rows: 1, Names: []string{"c", "d"}, Fields: [][]byte{[]byte(`[7]`), []byte(`["old"]`)},
		Columns: []dataset.Column{{Name: "c", Kind: "integer"}, {Name: "d", Kind: "text"}}}
	if outcome, err := task.Complete(ctx, chunk, time.Second); err != nil || outcome != scripts.Already {
		o.t.Fatal(outcome, err)
	}
	_, fold, err := o.s.Folds.Claim(ctx, scripts.Claim{Message: task.Message, Worker: "w", Known: []string{definition.Hash()}})
	if err != nil || fold == nil {
		o.t.Fatal(fold, err)
	}
	if outcomes, err := o.s.Folds.Settle(ctx, scripts.End{Fold: fold, Status: "SUCCESS"}); err != nil || outcomes[0] != scripts.OK {
		o.t.Fatal(outcomes, err)
	}
}

// slowCopy is a hook after which older rows are read only once the lease of the task that copies them was renewed.
type slowCopy struct {
	redis.Hook
	o *outside
}

func (s slowCopy) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s slowCopy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (s slowCopy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); args[0] == "hmget" && args[1] == s.o.s.Keys.Good("0") {
			lease := func() string { return s.o.client.HGet(ctx, s.o.s.Keys.Job("1"), "a:lease").Val() }
			for began := lease(); lease() == began; {
				if err := step.Wait(ctx, 10*time.Millisecond); err != nil {
					return err
				}
			}
		}
		return next(ctx, cmd)
	}
}

// TestSilentWorkerFallsBack: a process that copies the rows for a worker which has fallen silent keeps its task, however
// long that takes.
func TestSilentWorkerFallsBack(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, func(o *outside) {
		o.listener.OnFailure.Stale, o.listener.Silence, o.listener.Retry = time.Hour, 50*time.Millisecond, report.Retry{}
		o.client = testmain.SharedRedis(t).Client()
		o.client.AddHook(slowCopy{o: o})
	})
	o.leaves("0")
	o.reads("w")
	state := o.until("done", func(s *job.State) bool { return s.Status == job.StatusReady })
	if a := state.Tasks["a"]; a.StaleAt.IsZero() || a.Owner != "f0/silent/1" {
		t.Errorf("%+v", a)
	}
}

// raising is a hook that calls during once, between a command and its answer.
type raising struct {
	redis.Hook
	during func()
}

func (r raising) DialHook(next redis.DialHook) redis.DialHook { return next }
func (r raising) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (r raising) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		r.during()
		return err
	}
}

// TestRenewalWhileATaskFallsBack: it waits for the new generation, because Redis refuses the one before.
func TestRenewalWhileATaskFallsBack(t *testing.T) {
	t.Parallel()
	b := prepare(t, minutely, report.Limits{RecoverAfter: time.Minute}, nil)
	task, renewed := b.claimed(), make(chan bool)
	b.client.AddHook(raising{during: sync.OnceFunc(func() {
		if task.lock.TryLock() {
			t.Error("a renewal does not wait")
			task.lock.Unlock()
		}
		go func() {
			kept, err := task.Renew(t.Context())
			renewed <- kept && err == nil
		}()
	})})
	from := &fallback{task: job.TaskState{StaleAt: time.Now()}}
	if err := from.begin(t.Context(), task, errLate); err != nil || !<-renewed || task.own.Generation != 1 {
		t.Errorf("%v, generation %d", err, task.own.Generation)
	}
}

// fallsBack returns the job of an external listener that may use the rows which job 0 has left.
func fallsBack(t *testing.T) *outside {
	o := setupOutside(t, 1, func(o *outside) { o.listener.OnFailure.Stale = time.Hour })
	o.leaves("0")
	return o
}

// TestExternalFallsBack: after its last try, the job has the older rows, and nothing of the tries.
func TestExternalFallsBack(t *testing.T) {
	t.Parallel()
	o := fallsBack(t)
	w := o.reads("w")
	w.says("rows", "number", "0", "rows", `[[1,"new"],[2,"new"]]`)
	o.until("its rows are stored", func(s *job.State) bool { return s.Tasks["a"].Rows == 2 })
	w.says("failed", "error", "no such account", "permanent", "1")
	o.wantData([]string{"[7]"}, []string{`["old"]`})
	state, err := o.s.Jobs.Read(t.Context(), "1")
	if a := state.Tasks["a"]; err != nil || a.StaleAt.IsZero() || a.DoneAt.Sub(a.StaleAt) < time.Second || a.Failed != "no such account" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestFallbackThatCannotBeRead: the job fails for the reason of its listener.
func TestFallbackThatCannotBeRead(t *testing.T) {
	t.Parallel()
	o := fallsBack(t)
	if n := o.client.HDel(t.Context(), o.s.Keys.Good("0"), "a.d").Val(); n != 1 {
		t.Fatal(n)
	}
	o.reads("w").says("failed", "error", "no such account", "permanent", "1")
	state := o.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if state.Reason != "listener a: no such account" {
		t.Error(state.Reason)
	}
	o.heard()
	o.ends()
}
