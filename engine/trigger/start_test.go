package trigger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// loseAnswer loses the answer to the first call of a script, and does something meanwhile.
type loseAnswer struct {
	redis.Hook
	script    string
	meanwhile func()
}

func (l *loseAnswer) DialHook(next redis.DialHook) redis.DialHook { return next }
func (l *loseAnswer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (l *loseAnswer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		err := next(ctx, c)
		sha, _ := append(c.Args(), "", "")[1].(string)
		if l.meanwhile == nil || err != nil || scripts.Names()[sha] != l.script {
			return err
		}
		l.meanwhile()
		l.meanwhile = nil
		c.SetErr(errors.New("connection reset"))
		return c.Err()
	}
}

// TestAnAttemptStartsOnce: where its start took effect, the answer was lost, and
// Redis has lost its memory since, it may have run: it is not started again.
func TestAnAttemptStartsOnce(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"Redis remembers": false, "Redis has forgotten": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct, client := testmain.SharedRedis(t).Client(), testmain.SharedRedis(t).Client()
			t.Cleanup(func() { _, _ = direct.Close(), client.Close() })
			prefix, ctx := testmain.Name(t), t.Context()
			prefix = strings.ReplaceAll(prefix, "/", "-")
			s := scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: prefix + ":", Hash: prefix + "-"}})
			runs := 0
			if err := s.Load(ctx); err != nil { // a script that is not known yet is sent again
				t.Fatal(err)
			}
			client.AddHook(&loseAnswer{script: "start", meanwhile: func() {
				if runs = int(direct.Exists(ctx, s.Keys.Job("1")).Val()); lost {
					direct.Del(ctx, s.Keys.Job("1"))
					direct.Set(ctx, s.Keys.Epoch, "another", 0)
				}
			}})
			if err := s.Epoch.Write(ctx, "one"); err != nil {
				t.Fatal(err)
			}
			r := oneListener()
			e := newTrigger(engine.Options{Scripts: s, Records: startable{}, Reports: map[string]*report.Report{"r": r}})
			want := 1
			if lost {
				want = 0
			}
			if n := e.start(ctx, []*push{{id: "1", record: &engine.Record{ID: "1"}, report: r}}, ""); n != want || runs != 1 {
				t.Errorf("%d started, after it had run %d times", n, runs)
			}
			if n := direct.Exists(ctx, s.Keys.Job("1")).Val(); n != int64(want) {
				t.Errorf("%d states are there", n)
			}
		})
	}
}

// TestAPassDoesNotWaitForAnEpoch: it has the lock that whoever gives Redis
// one may need. What it found is of the Redis that it has looked at.
func TestAPassDoesNotWaitForAnEpoch(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	prefix := testmain.Name(t)
	s := scripts.New(scripts.Options{Redis: client, Keys: report.Keys{Prefix: prefix + ":", Hash: prefix + "-"}})
	r := oneListener()
	e := newTrigger(engine.Options{Scripts: s, Records: startable{}, Reports: map[string]*report.Report{"r": r}})
	if n := e.start(t.Context(), []*push{{id: "1", record: &engine.Record{ID: "1"}, report: r}}, "gone"); n != 0 {
		t.Errorf("%d started", n)
	}
}

// TestDeadlineOfAPreemptedJob is that of its first start, but it has a quarter of the timeout at least.
func TestDeadlineOfAPreemptedJob(t *testing.T) {
	t.Parallel()
	r := &report.Report{Name: "r", Timeout: 10 * time.Minute}
	e := &Trigger{plans: map[*report.Report]scripts.Plan{r: {Report: "r", Timeout: r.Timeout}}}
	p := &push{report: r, record: &engine.Record{Status: report.Processing}}
	for waited, want := range map[time.Duration]time.Duration{0: 10 * time.Minute, time.Minute: 9 * time.Minute, 9 * time.Minute: 150 * time.Second, time.Hour: 150 * time.Second} {
		if p.turn = (scripts.Turn{Waited: waited}); waited > 0 {
			p.turn.Since = time.Now().Add(-waited)
		}
		if got := e.planOf(p).Timeout; got != want {
			t.Errorf("after %v it has %v, not %v", waited, got, want)
		}
	}
	if p.record.Status = report.Pending; e.planOf(p).Timeout != r.Timeout {
		t.Error("a record that is run again has the deadline of an earlier run")
	}
}
