package listeners

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// source is a Source that is a function.
type source func(ctx context.Context, try int64, out *Writer) error

// taskSource is one that looks at its task, too.
type taskSource func(ctx context.Context, try int64, out *Writer, task Task) error

type counting struct {
	source taskSource
	tries  atomic.Int64
}

func (c *counting) Read(ctx context.Context, task Task, out *Writer) error {
	return c.source(ctx, c.tries.Add(1), out, task)
}

// bundle is a job of one listener and a Runner for it.
type bundle struct {
	t      *testing.T
	client *redis.Client
	s      *scripts.Scripts
	source *counting
	runner *Runner
	limits report.Limits
	stop   func()
}

// plan is what jobs of a definition with the one listener a have in common.
func plan(definition *report.Report) scripts.Plan {
	return scripts.Plan{Report: "r", Definition: definition.Hash(), Timeout: time.Hour, Listeners: "a"}
}

// start starts attempt 1 of a job.
func start(t testing.TB, s *scripts.Scripts, id, parameters string, plan scripts.Plan) {
	t.Helper()
	outcomes, err := s.Jobs.Start(t.Context(), "", scripts.Start{ID: id, Attempt: 1, Parameters: []byte(parameters), Plan: plan})
	if err != nil || outcomes[0] != scripts.OK {
		t.Fatal(outcomes, err)
	}
}

// setup starts the job, and a Runner. The listener's timeout is limits.RecoverAfter.
func setup(t *testing.T, retry report.Retry, limits report.Limits, read source) *bundle {
	t.Helper()
	return setupTask(t, retry, limits, func(ctx context.Context, try int64, out *Writer, _ Task) error { return read(ctx, try, out) })
}

// setupTask is setup with a source that looks at its task.
func setupTask(t *testing.T, retry report.Retry, limits report.Limits, read taskSource) *bundle {
	t.Helper()
	b := prepare(t, retry, limits, read)
	b.stop = b.run("c", nil)
	return b
}

// prepare starts the job, and makes a Runner that is not running.
func prepare(t *testing.T, retry report.Retry, limits report.Limits, read taskSource) *bundle {
	t.Helper()
	b := &bundle{t: t, client: testmain.SharedRedis(t).Client(), source: &counting{source: read}, limits: limits}
	t.Cleanup(func() { _ = b.client.Close() })
	name := testmain.Name(t)
	b.s = scripts.New(scripts.Options{Redis: b.client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}, JobBytes: limits.JobBytes})
	var err error
	definition := &report.Report{Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{{
		Name: "a", Source: "db", Columns: []string{"c"}, Retry: retry, Timeout: limits.RecoverAfter,
	}}}}}
	if limits.Tasks == 0 {
		limits.Tasks, limits.ShutdownTimeout = 1, limits.ShutdownTimeout+time.Millisecond
	}
	limits.Lease = cmp.Or(limits.Lease, time.Minute)
	if b.runner, err = New(Options{
		Redis: b.client, Scripts: b.s, Reports: map[string]*report.Report{"r": definition},
		Sources: map[string]Source{"db": b.source}, Limits: limits, Consumer: "c",
	}); err != nil {
		t.Fatal(err)
	}
	start(t, b.s, "1", "{}", plan(definition))
	return b
}

// run runs a Runner as the bundle's is, but for a change, until stop is called or the test
// ends.
func (b *bundle) run(consumer string, change func(*Options)) (stop func()) {
	b.t.Helper()
	o := b.runner.o
	o.Consumer = consumer
	if change != nil {
		change(&o)
	}
	runner, err := New(o)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Error(err)
		}
	})
	b.t.Cleanup(stop)
	return stop
}

// task is the job's task as a worker has it to which its entry was delivered for the first
// time.
func (b *bundle) task(consumer, entry string) *scripts.Task {
	b.t.Helper()
	var definition string
	for definition = range b.runner.definitions {
	}
	task, first := b.s.Tasks.New(scripts.Message{ID: "1", Attempt: 1}, "a",
		scripts.Entry{Stream: b.s.Keys.Task("a"), Consumer: consumer, ID: entry, Fields: map[string]string{"of": "r/" + definition, "parameters": "{}"}})
	if !first {
		b.t.Fatal("the entry does not say of which definition the task is")
	}
	return task
}

// claimed is the task of a worker.
func (b *bundle) claimed() *task {
	b.t.Helper()
	t, ok := b.runner.newTask(b.task("c", ""), nil)
	if !ok {
		b.t.Fatal("the runner does not have the definition")
	}
	return t
}

// until polls until the state is as it should be.
func (b *bundle) until(what string, leases func(*job.State) bool) *job.State {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		state, err := b.s.Jobs.Read(context.WithoutCancel(ctx), "1")
		if err == nil && leases(state) {
			return state
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("not within a minute: %s: %+v %v", what, state, err)
		case <-tick.C:
		}
	}
}

// delayed is when the task comes again; zero where it does not.
func (b *bundle) delayed() time.Time {
	score, err := b.client.ZScore(b.t.Context(), b.s.Keys.Delayed, "1/1/a").Result()
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(score))
}

// comes sends the task again, as the scheduler does when it is due.
func (b *bundle) comes() {
	b.t.Helper()
	if _, err := b.client.Pipelined(b.t.Context(), func(p redis.Pipeliner) error {
		p.ZRem(b.t.Context(), b.s.Keys.Delayed, "1/1/a")
		p.XAdd(b.t.Context(), &redis.XAddArgs{Stream: b.s.Keys.Task("a"), Values: []string{"id", "1", "attempt", "1"}})
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
}

func one(out *Writer) error {
	if err := out.Columns([]dataset.Column{{Name: "c"}}); err != nil {
		return err
	}
	out.Builder().Int(0, 1)
	return out.EndRow()
}

var minutely = report.Retry{Retries: 2, Delay: time.Minute}

// TestATaskIsTriedAgain: each failure counts and waits for the delay; what went
// wrong and when it comes again can be seen.
func TestATaskIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, minutely, report.Limits{}, func(_ context.Context, try int64, out *Writer) error {
		if try < 3 {
			return errors.New("the wind was wrong")
		}
		return one(out)
	})
	for try := range int64(2) {
		state := b.until("a retry", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() && s.Tasks["a"].Tries == try+1 })
		if task := state.Tasks["a"]; task.Error != "the wind was wrong" || task.Owner != "" || !task.Next.Equal(b.delayed()) {
			t.Errorf("%+v, delayed %v", task, b.delayed())
		}
		if in := time.Until(b.delayed()); in > time.Minute || in < 30*time.Second {
			t.Errorf("it comes again in %v", in)
		}
		b.comes()
	}
	b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done && s.Tasks["a"].Next.IsZero() })
}

// TestTheLastTryFailsTheJob with the story.
func TestTheLastTryFailsTheJob(t *testing.T) {
	t.Parallel()
	b := setup(t, minutely, report.Limits{}, func(context.Context, int64, *Writer) error { return errors.New("no luck") })
	for try := range int64(2) {
		b.until("a retry", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() && s.Tasks["a"].Tries == try+1 })
		b.comes()
	}
	state := b.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if want := "listener a: no luck (try 3 of 3)"; state.Reason != want {
		t.Errorf("%q, not %q", state.Reason, want)
	}
}

// TestAPermanentErrorFailsAtOnce.
func TestAPermanentErrorFailsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, minutely, report.Limits{}, func(context.Context, int64, *Writer) error { return Permanent(errors.New("bad SQL")) })
	state := b.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if state.Reason != "listener a: bad SQL" || !b.delayed().IsZero() {
		t.Errorf("%q, delayed %v", state.Reason, b.delayed())
	}
}

// TestAnOutageUsesNoTry, however often it comes.
func TestAnOutageUsesNoTry(t *testing.T) {
	t.Parallel()
	b := setup(t, minutely, report.Limits{}, func(_ context.Context, try int64, out *Writer) error {
		if try < 6 {
			return Outage(errors.New("server is away"))
		}
		return one(out)
	})
	for range 5 {
		b.until("a pause", func(s *job.State) bool { return !b.delayed().IsZero() && s.Tasks["a"].Tries == 0 })
		if in := time.Until(b.delayed()); in > 5*time.Second {
			t.Errorf("it comes again in %v", in)
		}
		b.comes()
	}
	b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done && s.Tasks["a"].Tries == 1 })
}

// TestPoisonStops: a task that ends each of its workers before they can say anything. The
// first one has not taken it, the others have.
func TestPoisonStops(t *testing.T) {
	t.Parallel()
	b := prepare(t, minutely, report.Limits{Lease: 100 * time.Millisecond}, func(context.Context, int64, *Writer, Task) error {
		return errors.New("it is given to one worker more")
	})
	entry := b.delivered("dead")
	for n := range 2 {
		b.client.XClaim(t.Context(), &redis.XClaimArgs{Stream: b.s.Keys.Task("a"), Group: scripts.Group, Consumer: "dead", Messages: []string{entry}})
		if outcome, err := b.task("dead", entry).Take(t.Context(), scripts.Take{
			Owner: fmt.Sprint("dead/", n), Known: b.runner.known["a"], Redelivered: true,
		}); outcome != scripts.OK || err != nil {
			t.Fatal(outcome, err)
		}
	}
	defer b.run("c", nil)()
	state := b.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if state.Reason != "listener a: given up after 3 tries: worker dead/1 fell silent" || b.source.tries.Load() != 0 {
		t.Errorf("%q, and %d tries more", state.Reason, b.source.tries.Load())
	}
	b.emptied(b.s.Keys.Task("a"))
}

// delivered delivers the job's entry to a worker of which nothing is heard any more.
func (b *bundle) delivered(consumer string) (entry string) {
	b.t.Helper()
	stream := b.s.Keys.Task("a")
	b.client.XGroupCreate(b.t.Context(), stream, scripts.Group, "0")
	found, err := b.client.XReadGroup(b.t.Context(), &redis.XReadGroupArgs{Group: scripts.Group, Consumer: consumer, Streams: []string{stream, ">"}}).Result()
	if err != nil || len(found[0].Messages) != 1 {
		b.t.Fatal(found, err)
	}
	return found[0].Messages[0].ID
}

// TestAStopHandsBack: work goes on for a while; then the task is back in the stream, without a
// try, and the next process does it at once, long before a lease would end.
func TestAStopHandsBack(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	b := setup(t, minutely, report.Limits{ShutdownTimeout: 50 * time.Millisecond}, func(ctx context.Context, try int64, out *Writer) error {
		if try > 1 {
			return one(out)
		}
		close(started)
		<-ctx.Done()
		return ctx.Err()
	})
	<-started
	b.stop()
	state, err := b.s.Jobs.Read(t.Context(), "1")
	if err != nil || state.Tasks["a"].Tries != 0 || state.Tasks["a"].Owner != "" {
		t.Errorf("%+v %v", state, err)
	}
	if n := b.client.XLen(t.Context(), b.s.Keys.Task("a")).Val(); n != 1 {
		t.Errorf("%d entries", n)
	}
	if p := b.client.XPending(t.Context(), b.s.Keys.Task("a"), scripts.Group).Val(); p.Count != 0 {
		t.Errorf("pending: %+v", p)
	}
	defer b.run("next", nil)()
	state = b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
	if task := state.Tasks["a"]; task.Tries != 1 || task.Error != "" {
		t.Errorf("%+v", task)
	}
}

// TestAStopLetsWorkFinish within the time that it has.
func TestAStopLetsWorkFinish(t *testing.T) {
	t.Parallel()
	started, finish := make(chan struct{}), make(chan struct{})
	b := setup(t, minutely, report.Limits{ShutdownTimeout: time.Minute}, func(ctx context.Context, _ int64, out *Writer) error {
		close(started)
		select {
		case <-finish:
			return one(out)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	<-started
	go b.stop()
	close(finish)
	b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
}

// TestTooMuchDataFailsTheJob with what to do about it.
func TestTooMuchDataFailsTheJob(t *testing.T) {
	t.Parallel()
	b := setup(t, minutely, report.Limits{JobBytes: 2}, func(_ context.Context, _ int64, out *Writer) error { return one(out) })
	state := b.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if !strings.Contains(state.Reason, "limits.job_bytes") {
		t.Error(state.Reason)
	}
}

// TestATaskThatTakesTooLong is ended, whatever its source makes of its timeout,
// and tried again. Nobody else is blamed.
func TestATaskThatTakesTooLong(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context, *Writer) error{
		"and says so":     func(ctx context.Context, _ *Writer) error { return ctx.Err() },
		"and ends itself": func(_ context.Context, out *Writer) error { return one(out) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, minutely, report.Limits{RecoverAfter: time.Millisecond}, func(ctx context.Context, _ int64, out *Writer) error {
				<-ctx.Done()
				return end(ctx, out)
			})
			state := b.until("a retry", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() })
			if task := state.Tasks["a"]; task.Tries != 1 || !strings.Contains(task.Error, "timed out after 1ms") {
				t.Errorf("%+v", task)
			}
		})
	}
}

// reading reads what an earlier stage found.
type reading struct{}

func (reading) Read(ctx context.Context, task Task, _ *Writer) error {
	_, values, err := task.Values(ctx, "earlier", "c")
	if err != nil {
		return err
	}
	for _, err := range values {
		if err != nil {
			return err
		}
	}
	return nil
}

// gate is a way to Redis that is closed at first.
type gate struct {
	redis.Hook
	opens time.Time
}

func (g gate) DialHook(next redis.DialHook) redis.DialHook { return next }
func (g gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if time.Now().Before(g.opens) {
			for _, cmd := range cmds {
				cmd.SetErr(errors.New("away"))
			}
			return cmds[0].Err()
		}
		return next(ctx, cmds)
	}
}
func (g gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if time.Now().Before(g.opens) {
			cmd.SetErr(errors.New("away"))
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

// TestARedisThatIsAwayUsesNoTry: for longer than the task may take, while a later
// stage reads what an earlier one found. Then it goes on.
func TestARedisThatIsAwayUsesNoTry(t *testing.T) {
	t.Parallel()
	b := prepare(t, minutely, report.Limits{RecoverAfter: time.Millisecond}, nil)
	client := redis.NewClient(&redis.Options{Addr: b.client.Options().Addr, MaxRetries: -1})
	defer client.Close()
	client.AddHook(gate{opens: time.Now().Add(patience + time.Second)})
	b.s = scripts.New(scripts.Options{Redis: client, Keys: b.s.Keys.Keys})
	b.runner.o.Scripts = b.s
	b.runner.o.Sources = map[string]Source{"db": reading{}}
	err := b.runner.tasks(t.Context(), "a").read(t.Context(), b.claimed())
	// Nobody has found anything: that is what Redis says once it can be asked.
	if !errors.Is(err, ErrPermanent) || errors.Is(err, errLate) {
		t.Errorf("%v", err)
	}
}

// stalled is a source whose query does not outlive that nobody takes its rows.
type stalled struct{}

func (stalled) Read(_ context.Context, _ Task, out *Writer) error {
	if err := out.Columns([]dataset.Column{{Name: "c", Kind: report.KindInteger}}); err != nil {
		return err
	}
	for i := range int64(2 * dataset.MaxChunkRows) { // while the first chunk is being stored, the second one is taken
		out.Builder().Int(0, i)
		if err := out.EndRow(); err != nil {
			return err
		}
	}
	return errors.New("the server has ended the query")
}

// TestARedisThatIsAwayWhileAQueryRuns uses no try either: that the server ends a
// query whose rows nobody takes is not the query's fault.
func TestARedisThatIsAwayWhileAQueryRuns(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]time.Duration{"away": 2 * slow, "there": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := prepare(t, minutely, report.Limits{RecoverAfter: time.Minute}, nil)
			client := redis.NewClient(&redis.Options{Addr: b.client.Options().Addr, MaxRetries: -1})
			defer client.Close()
			client.AddHook(gate{opens: time.Now().Add(away)})
			b.s = scripts.New(scripts.Options{Redis: client, Keys: b.s.Keys.Keys})
			b.runner.o.Scripts = b.s
			b.runner.o.Sources = map[string]Source{"db": stalled{}}
			err := b.runner.tasks(t.Context(), "a").read(t.Context(), b.claimed())
			if errors.Is(err, ErrOutage) != (away > 0) || errors.Is(err, errLeft) {
				t.Errorf("%v", err)
			}
		})
	}
}
