package fanin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/processors"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/step"
)

// kept are records in memory, which change under their conditions.
type kept struct {
	engine.Records
	mu  sync.Mutex
	all map[string]engine.Record
}

func (k *kept) Read(_ context.Context, ids []string) (map[string]engine.Record, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := map[string]engine.Record{}
	for _, id := range ids {
		if r, ok := k.all[id]; ok {
			found[id] = r
		}
	}
	return found, nil
}

func (k *kept) end(run engine.Run, status report.Status, file, reason string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.all[run.ID]
	if !ok || r.Attempt != run.Attempt || r.Status != report.Processing {
		return false, nil
	}
	r.Status, r.File, r.Error = status, file, reason
	k.all[run.ID] = r
	return true, nil
}

func (k *kept) Succeed(_ context.Context, run engine.Run, file string, _ int64) (bool, error) {
	return k.end(run, report.Success, file, "")
}

func (k *kept) Fail(_ context.Context, run engine.Run, reason string) (bool, error) {
	return k.end(run, report.Failed, "", reason)
}

func (k *kept) Cancel(_ context.Context, run engine.Run, reason string) (bool, error) {
	return k.end(run, report.Cancelled, "", reason)
}

func (k *kept) set(id string, change func(*engine.Record)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.all[id]
	change(&r)
	k.all[id] = r
}

func (k *kept) record(id string) engine.Record {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[id]
}

// gated is a sink that does something before a file is created.
type gated struct {
	sink.Sink
	before func(ctx context.Context, name string)
}

func (g *gated) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if g.before != nil && strings.HasSuffix(o.Name, ".csv") {
		g.before(ctx, o.Name)
	}
	return g.Sink.Create(ctx, o)
}

// calls counts the calls of each script, and of each plain command.
type calls struct {
	redis.Hook
	mu sync.Mutex
	of map[string]int
	// lose is the script of which the next answer is lost.
	lose string
	// before, if set, is called before a script runs.
	before func(ctx context.Context, script string)
}

func (c *calls) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		script := c.count(ctx, cmd)
		err := next(ctx, cmd)
		c.mu.Lock()
		defer c.mu.Unlock()
		if script == "" || script != c.lose || err != nil {
			return err
		}
		c.lose = ""
		cmd.SetErr(errors.New("connection reset"))
		return cmd.Err()
	}
}

func (c *calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.count(ctx, cmd)
		}
		return next(ctx, cmds)
	}
}

func (c *calls) count(ctx context.Context, cmd redis.Cmder) (script string) {
	sha, _ := append(cmd.Args(), "", "")[1].(string)
	script = cmp.Or(scripts.Names()[sha], cmd.Name())
	if c.before != nil {
		c.before(ctx, script)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[script]++
	return script
}

func (c *calls) n(script string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[script]
}

// fanInTest is an engine of which only the fan-in runs, with records and a sink of its own.
type fanInTest struct {
	t       *testing.T
	s       *scripts.Scripts
	client  *redis.Client
	e       *FanIn
	records *kept
	sink    *gated
	root    string
	calls   *calls
}

// newTest makes it for a report of one listener, whose failing tries are two.
func newTest(t *testing.T, limits report.Limits) *fanInTest {
	t.Helper()
	f := &fanInTest{t: t, root: t.TempDir(), records: &kept{all: map[string]engine.Record{}}, calls: &calls{of: map[string]int{}}}
	f.s, f.client = newScripts(t)
	if err := f.s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.client.AddHook(f.calls)
	place, err := dir.New(f.root)
	if err != nil {
		t.Fatal(err)
	}
	f.sink = &gated{Sink: place}
	if limits.Lease == 0 {
		limits.Lease = time.Minute
	}
	r := &report.Report{
		Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{{Name: "a", Columns: []string{"v"}}}}},
		Join:  report.Join{Listeners: []report.Joined{{Listener: "a"}}},
		File:  report.File{Format: "csv", Columns: []report.FileColumn{{Label: "v", Listener: "a", Column: "v"}}},
		Retry: report.Retry{Retries: 1, Delay: time.Minute},
	}
	f.e = f.engine("c", engine.Options{Limits: limits, Reports: map[string]*report.Report{"r": r}})
	return f
}

// engine makes one more, of another consumer.
func (f *fanInTest) engine(consumer string, o engine.Options) *FanIn {
	f.t.Helper()
	o.Redis, o.Scripts, o.Records, o.Consumer = f.client, f.s, f.records, consumer
	return newFanIn(f.t, o, f.sink)
}

// job starts a job, with a record, and completes its task with a value.
func (f *fanInTest) job(id, value string) { f.jobOf(id, f.e.known[0], time.Hour, value) }

func (f *fanInTest) jobOf(id, definition string, timeout time.Duration, value string) {
	f.t.Helper()
	f.running(id, definition, timeout)
	complete(f.t, f.s, id, "a", value)
}

// running starts a job, with a record.
func (f *fanInTest) running(id, definition string, timeout time.Duration) {
	f.t.Helper()
	f.records.set(id, func(r *engine.Record) {
		*r = engine.Record{ID: id, Report: "r", Parameters: []byte("{}"), Status: report.Processing, Attempt: 1}
	})
	start(f.t, f.s, id, definition, timeout, "a")
}

// large is a value that is too large for a batch.
var large = strings.Repeat("y", scripts.MaxSmall+1)

// ends waits until the record of a job is final.
func (f *fanInTest) ends(id string, want report.Status, reason string) {
	f.t.Helper()
	until(f.t, id+" ends", func() bool { return f.records.record(id).Status.Final() })
	if r := f.records.record(id); r.Status != want || !strings.Contains(r.Error, reason) {
		f.t.Errorf("%s is %s %q, not %s %q", id, r.Status, r.Error, want, reason)
	}
}

// succeeds waits until a job has its file, with that value.
func (f *fanInTest) succeeds(id, value string) {
	f.t.Helper()
	f.ends(id, report.Success, "")
	text, err := os.ReadFile(filepath.Join(f.root, "r", id+"-1-abc234.csv"))
	if err != nil || string(text) != "v\r\n"+value+"\r\n" {
		f.t.Errorf("%s: %.60q %v", id, text, err)
	}
}

// emptied waits until the streams of the fan-in have no entry.
func (f *fanInTest) emptied() {
	f.t.Helper()
	for _, stream := range []string{f.s.Keys.FanIn, f.s.Keys.FanInLarge} {
		until(f.t, "no entry is left", func() bool { return f.client.XLen(f.t.Context(), stream).Val() == 0 })
		if p := f.client.XPending(f.t.Context(), stream, scripts.Group).Val(); p != nil && p.Count != 0 {
			f.t.Errorf("pending: %+v", p)
		}
	}
}

// delivered delivers all entries of a stream to a worker of which nothing is heard any more.
func (f *fanInTest) delivered(stream string) []scripts.Entry {
	f.t.Helper()
	return delivered(f.t, f.client, stream, "dead")
}

// events are those of a job, without its start.
func (f *fanInTest) events(id string) (names []string) {
	f.t.Helper()
	for _, e := range f.client.XRange(f.t.Context(), f.s.Keys.Events, "-", "+").Val() {
		if e.Values["id"] == id && e.Values["event"] != "started" {
			names = append(names, fmt.Sprint(e.Values["event"]))
		}
	}
	return names
}

// TestABatchOfSmallJobs: what is wrong with one of them harms no other. The good ones are folded
// without a claim, and published and ended together.
func TestABatchOfSmallJobs(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 16})
	ctx := t.Context()
	const good = 20
	for i := range good / 2 {
		f.job(fmt.Sprint("good-", i), fmt.Sprint("value ", i))
	}
	f.job("broken", "x")
	f.client.Del(ctx, f.s.Keys.Job("broken"))
	f.client.Set(ctx, f.s.Keys.Job("broken"), "x", 0)
	f.job("garbled", "x")
	f.client.HSet(ctx, f.s.Keys.Job("garbled"), "job", "1 READY or what")
	f.job("lost", "x")
	f.client.Del(ctx, f.s.Keys.Job("lost"))
	f.running("cancelled", f.e.known[0], time.Hour)
	if outcome, _, err := f.s.Jobs.Cancel(ctx, "cancelled", 1, "by hand"); outcome != scripts.OK || err != nil {
		t.Fatal(outcome, err)
	}
	f.jobOf("unknown", "other", time.Hour, "x")
	f.jobOf("late", f.e.known[0], -time.Second, "x")
	f.job("without-data", "x")
	f.client.HDel(ctx, f.s.Keys.Job("without-data"), "a.v")
	f.job("deleted", "x")
	f.records.mu.Lock()
	delete(f.records.all, "deleted")
	f.records.mu.Unlock()
	f.job("cancelled-record", "x")
	f.records.set("cancelled-record", func(r *engine.Record) { r.Status = report.Cancelled })
	for i := good / 2; i < good; i++ {
		f.job(fmt.Sprint("good-", i), fmt.Sprint("value ", i))
	}
	folding(t, f.e)

	for i := range good {
		f.succeeds(fmt.Sprint("good-", i), fmt.Sprint("value ", i))
	}
	f.ends("late", report.Failed, "deadline passed while the file was being made")
	f.ends("cancelled", report.Cancelled, "by hand")
	f.ends("without-data", report.Failed, "-without-data")
	until(t, "the unknown one is handed back", func() bool {
		return slices.Equal(f.client.ZRange(ctx, f.s.Keys.Delayed, 0, -1).Val(), []string{"unknown/1/" + job.StepFanIn})
	})
	if state, err := f.s.Jobs.Read(ctx, "unknown"); err != nil || state.Status != job.StatusReady || state.Fold.Tries != 0 || state.Fold.Next.IsZero() {
		t.Errorf("unknown: %+v %v", state, err)
	}
	if _, err := f.client.ZScore(ctx, f.s.Keys.Delayed, "unknown/1/"+job.StepFanIn).Result(); err != nil {
		t.Errorf("unknown: %v", err)
	}
	f.emptied()
	for id, want := range map[string]string{"good-7": "SUCCESS", "late": "FAILED", "cancelled": "CANCELLED", "without-data": "FAILED", "deleted": string(report.Deleted), "cancelled-record": "CANCELLED"} {
		if state, err := f.s.Jobs.Read(ctx, id); err != nil || state.Status != want {
			t.Errorf("%s has not ended as %s: %+v %v", id, want, state, err)
		}
	}
	for _, id := range []string{"deleted", "cancelled-record"} { // the file that was made of it
		if found, err := filepath.Glob(filepath.Join(f.root, "r", id+"-*")); err != nil || len(found) > 0 {
			t.Errorf("%q %v", found, err)
		}
	}
	if n := f.client.XLen(ctx, f.s.Keys.Quarantined).Val(); n != 2 {
		t.Errorf("%d entries are in quarantine, not that of the broken and that of the garbled one", n)
	}
	if left := f.client.ZRange(ctx, f.s.Keys.Deadlines, 0, -1).Val(); len(left) != 4 { // unknown, broken, garbled, lost
		t.Errorf("%q have a deadline", left)
	}
	if got := fmt.Sprint(f.events("good-3")); got != "[finished]" {
		t.Errorf("events of a good one: %s", got)
	}
	// Seven of them need a claim.
	if claims, published, settled := f.calls.n("claim"), f.calls.n("publish"), f.calls.n("settle"); claims > 8 || published > 3 || settled > 6 {
		t.Errorf("%d claims, %d calls of publish, %d of settle", claims, published, settled)
	}
}

// TestALargeFold raises the processors while the file is made, and lowers them at its end.
func TestALargeFold(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 1})
	running := 0
	f.sink.before = func(context.Context, string) { running = processors.Running() }
	value := strings.Repeat("y", processors.Large+1)
	f.job("1", value)
	folding(t, f.e)
	f.succeeds("1", value)
	if running == 0 {
		t.Error("the processors are as usual")
	}
	until(t, "its work is over", func() bool { return processors.Running() == 0 })
}

// TestNothingWaitsForLargeJobs: while they have all slots, small jobs and those that are to end
// come to their end.
func TestNothingWaitsForLargeJobs(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 1})
	begun, finish := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	f.sink.before = func(_ context.Context, name string) {
		if strings.Contains(name, "large") {
			begin()
			<-finish
		}
	}
	for i := range 3 {
		f.job(fmt.Sprint("large-", i), large)
	}
	folding(t, f.e)
	<-begun
	f.job("small", "x")
	f.running("cancelled", f.e.known[0], time.Hour)
	if outcome, _, err := f.s.Jobs.Cancel(t.Context(), "cancelled", 1, "by hand"); outcome != scripts.OK || err != nil {
		t.Fatal(outcome, err)
	}
	f.succeeds("small", "x")
	f.ends("cancelled", report.Cancelled, "by hand")
	for i := range 3 {
		if r := f.records.record(fmt.Sprint("large-", i)); r.Status != report.Processing {
			t.Errorf("large-%d is %s before its turn", i, r.Status)
		}
	}
	close(finish)
	for i := range 3 {
		f.succeeds(fmt.Sprint("large-", i), large)
	}
	f.emptied()
}

// TestALargeJobIsSentOn from the stream of small ones, whatever brings it there: a retry or a
// message that was lost. Its worker there is never silent.
func TestALargeJobIsSentOn(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 1, Lease: 200 * time.Millisecond})
	f.job("1", large)
	f.client.Del(t.Context(), f.s.Keys.FanInLarge)
	f.client.XAdd(t.Context(), &redis.XAddArgs{Stream: f.s.Keys.FanIn, Values: []string{"id", "1", "attempt", "1"}})
	f.delivered(f.s.Keys.FanIn)
	folding(t, f.e)
	f.succeeds("1", large)
	f.emptied()
	if n := f.calls.n("claim"); n != 2 {
		t.Errorf("%d claims, not one that sends it on and one that folds it", n)
	}
}

// TestASmallFileIsBegunAfterItsPublish: a batch holds no objects open that are not written.
func TestASmallFileIsBegunAfterItsPublish(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 1})
	f.sink.before = func(ctx context.Context, name string) {
		if state, err := f.s.Jobs.Read(ctx, "1"); err != nil || state.Status != job.StatusPublishing {
			t.Errorf("%s is begun before: %+v %v", name, state, err)
		}
	}
	f.job("1", "x")
	folding(t, f.e)
	f.succeeds("1", "x")
}

// TestALargeJobBesideSmallOnes is claimed and takes its time, while they end.
func TestALargeJobBesideSmallOnes(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 2})
	begun, finish := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	f.sink.before = func(_ context.Context, name string) {
		if strings.Contains(name, "large") {
			begin()
			<-finish
		}
	}
	f.job("small-0", "before")
	f.job("large", large)
	f.job("small-1", "in the same read")
	folding(t, f.e)
	<-begun
	f.job("small-2", "after")
	f.succeeds("small-0", "before")
	f.succeeds("small-1", "in the same read")
	f.succeeds("small-2", "after")
	state, err := f.s.Jobs.Read(t.Context(), "large")
	if err != nil || state.Status != job.StatusFold || !strings.HasPrefix(state.Worker, "c/") || state.Fence != 1 {
		t.Errorf("%+v %v", state, err)
	}
	close(finish)
	f.succeeds("large", large)
	f.emptied()
	if n := f.calls.n("claim"); n != 1 {
		t.Errorf("%d claims for one large job", n)
	}
}

// TestNoMoreFoldsThanTheirLimit: no more than that are read.
func TestNoMoreFoldsThanTheirLimit(t *testing.T) {
	t.Parallel()
	const folds, jobs = 2, 9
	f := newTest(t, report.Limits{LargeFiles: folds})
	var mu sync.Mutex
	open, most := 0, 0
	gate := make(chan struct{})
	f.sink.before = func(context.Context, string) {
		mu.Lock()
		open++
		most = max(most, open)
		mu.Unlock()
		<-gate
		mu.Lock()
		open--
		mu.Unlock()
	}
	for i := range jobs {
		f.job(fmt.Sprint(i), large)
	}
	folding(t, f.e)
	until(t, "they are under way", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return open == folds
	})
	if err := step.Wait(t.Context(), 300*time.Millisecond); err != nil { // in which more could be read
		t.Fatal(err)
	}
	if n := f.client.XLen(t.Context(), f.s.Keys.FanInLarge).Val(); n != jobs {
		t.Errorf("%d entries of %d jobs", n, jobs)
	}
	if p := f.client.XPending(t.Context(), f.s.Keys.FanInLarge, scripts.Group).Val(); p.Count != folds {
		t.Errorf("pending: %+v", p)
	}
	close(gate)
	for i := range jobs {
		f.succeeds(fmt.Sprint(i), large)
	}
	f.emptied()
	for i := range jobs {
		if got := fmt.Sprint(f.events(fmt.Sprint(i))); got != "[finished]" {
			t.Errorf("%d: %s", i, got)
		}
	}
	if most > folds {
		t.Errorf("%d at once", most)
	}
}

// TestAStopLeavesTheFoldToTheNext process at once, wherever the fold is, and no try is used.
func TestAStopLeavesTheFoldToTheNext(t *testing.T) {
	t.Parallel()
	const fileBegins, chunkIsRead = "file begins", "chunk is read"
	for name, c := range map[string]struct{ at, value string }{
		"small":              {fileBegins, "x"},
		"large":              {fileBegins, large},
		"large, in its data": {chunkIsRead, large},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTest(t, report.Limits{LargeFiles: 1, ShutdownTimeout: 50 * time.Millisecond})
			begun := make(chan struct{})
			begin := sync.OnceFunc(func() { close(begun) })
			var over atomic.Bool
			block := func(ctx context.Context, at string) {
				if at == c.at && !over.Load() {
					begin()
					<-ctx.Done()
				}
			}
			f.sink.before = func(ctx context.Context, _ string) { block(ctx, fileBegins) }
			f.calls.before = func(ctx context.Context, command string) {
				if command == "hmget" {
					block(ctx, chunkIsRead)
				}
			}
			f.job("1", c.value)
			stop := folding(t, f.e)
			<-begun
			stop()
			over.Store(true)
			stream := f.s.Keys.FanIn
			if c.value == large {
				stream = f.s.Keys.FanInLarge
			}
			if n, p := f.client.XLen(t.Context(), stream).Val(), f.client.XPending(t.Context(), stream, scripts.Group).Val(); n != 1 || p.Count != 0 {
				t.Errorf("%d entries, pending: %+v", n, p)
			}
			if state, err := f.s.Jobs.Read(t.Context(), "1"); err != nil || state.Worker != "" || state.Fold.Tries != 0 || state.Fold.Error != "" {
				t.Errorf("%+v %v", state, err)
			}
			folding(t, f.engine("next", engine.Options{Limits: f.e.Limits, Reports: f.e.Reports}))
			f.succeeds("1", c.value)
			f.emptied()
		})
	}
}

// TestAWorkerThatDiesInAFold, before or after the point of no return of a job that it has not
// claimed, is taken for silent when the lease has ended. That was a try.
func TestAWorkerThatDiesInAFold(t *testing.T) {
	t.Parallel()
	for name, publish := range map[string]bool{"before it is published": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTest(t, report.Limits{LargeFiles: 1, Lease: 200 * time.Millisecond})
			f.job("1", "x")
			entry := f.delivered(f.s.Keys.FanIn)[0]
			opened, err := f.s.Folds.Open(t.Context(), []scripts.Small{{Message: scripts.Message{ID: "1", Attempt: 1}, Stage: 1, Entry: entry}})
			if err != nil || opened[0] == nil {
				t.Fatal(opened, err)
			}
			if publish {
				if outcomes, err := f.s.Folds.Publish(t.Context(), opened[0]); err != nil || outcomes[0] != scripts.OK {
					t.Fatal(outcomes, err)
				}
			}
			var state *job.State
			f.sink.before = func(context.Context, string) { state, err = f.s.Jobs.Read(context.Background(), "1") }
			folding(t, f.e)
			f.succeeds("1", "x")
			f.emptied()
			if err != nil || state.Fold.Tries != 1 || state.Fold.Error != "worker fell silent" || !strings.HasPrefix(state.Worker, "c/") {
				t.Errorf("%+v %v", state, err)
			}
			if publish {
				if outcomes, err := f.s.Folds.Settle(t.Context(), scripts.End{Fold: opened[0], Status: "FAILED", Detail: "late"}); err != nil || outcomes[0] == scripts.OK {
					t.Errorf("settled by a worker that is late: %v %v", outcomes, err)
				}
			} else if outcomes, err := f.s.Folds.Publish(t.Context(), opened[0]); err != nil || outcomes[0] == scripts.OK {
				t.Errorf("published by a worker that is late: %v %v", outcomes, err)
			}
		})
	}
}

// TestAJobThatEndsItsWorkers fails, although none of them has claimed it at first.
func TestAJobThatEndsItsWorkers(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 1, Lease: 100 * time.Millisecond})
	f.sink.before = func(context.Context, string) { t.Error("it is given to one worker more") }
	f.job("1", "x")
	entry := f.delivered(f.s.Keys.FanIn)[0]
	claim(t, f.s, "1", scripts.Claim{Worker: "dead/1", Entry: entry, Redelivered: true, Known: f.e.known})
	folding(t, f.e)
	f.ends("1", report.Failed, "fan-in: given up after 2 tries: worker dead/1 fell silent")
	f.emptied()
}

// TestALateBatchLeavesAJobToItsNewWorker: another process has taken the entry over, and the
// late one must neither publish the job nor end the entry.
func TestALateBatchLeavesAJobToItsNewWorker(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 1, ShutdownTimeout: time.Minute})
	begun, finish := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	f.calls.before = func(_ context.Context, script string) {
		if script == "publish" {
			begin()
			<-finish
		}
	}
	f.job("1", "x")
	stop := folding(t, f.e)
	<-begun
	entry := f.client.XRange(t.Context(), f.s.Keys.FanIn, "-", "+").Val()[0].ID
	held := claim(t, f.s, "1", scripts.Claim{
		Worker: "new/1", Redelivered: true, Known: f.e.known, Entry: scripts.Entry{Stream: f.s.Keys.FanIn, Consumer: "new", ID: entry},
	})
	close(finish)
	stop()
	state, err := f.s.Jobs.Read(t.Context(), "1")
	if err != nil || state.Status != job.StatusFold || state.Worker != "new/1" || state.Fence != held.Fence || state.Fold.Tries != 1 {
		t.Errorf("%+v %v", state, err)
	}
	if left := f.client.XRange(t.Context(), f.s.Keys.FanIn, "-", "+").Val(); len(left) != 1 || left[0].ID != entry {
		t.Errorf("%+v is not the entry %s", left, entry)
	}
	if r := f.records.record("1"); r.Status != report.Processing {
		t.Errorf("%+v", r)
	}
	if outcome, err := held.Renew(t.Context()); err != nil || outcome != scripts.OK {
		t.Errorf("the new worker has lost it: %v %v", outcome, err)
	}
}

// TestALostAnswerOfAPublish is no reason to wait for a lease, and no try.
func TestALostAnswerOfAPublish(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 1})
	f.calls.lose = "publish"
	for i := range 3 {
		f.job(fmt.Sprint(i), fmt.Sprint("value ", i))
	}
	folding(t, f.e)
	for i := range 3 {
		f.succeeds(fmt.Sprint(i), fmt.Sprint("value ", i))
	}
	f.emptied()
	if n := f.calls.n("claim"); n != 0 || f.calls.n("publish") != 2 {
		t.Errorf("%d claims, %d calls of publish", n, f.calls.n("publish"))
	}
}

// TestASinkThatRefuses a small job uses its tries, one after the other, as for a large one.
func TestASinkThatRefuses(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 1})
	f.sink.Sink = refusing{f.sink.Sink, fmt.Errorf("%w: %w", sink.ErrRefused, errors.New("no entry"))}
	f.job("1", "x")
	folding(t, f.e)
	until(t, "it is requeued", func() bool { return f.client.ZCard(t.Context(), f.s.Keys.Delayed).Val() == 1 })
	state, err := f.s.Jobs.Read(t.Context(), "1")
	if err != nil || state.Fold.Tries != 1 || state.Fold.Blame != job.BlameSink || state.Worker != "" {
		t.Errorf("%+v %v", state, err)
	}
	f.emptied()
	f.client.XAdd(t.Context(), &redis.XAddArgs{Stream: f.s.Keys.FanIn, Values: []string{"id", "1", "attempt", "1"}}) // as the scheduler does
	f.ends("1", report.Failed, "no entry (try 2 of 2)")
	f.emptied()
}

// TestAFileTooLargeForTheSink fails its job at once: another try would write it again.
func TestAFileTooLargeForTheSink(t *testing.T) {
	t.Parallel()
	f := newTest(t, report.Limits{LargeFiles: 1})
	f.sink.Sink = refusing{f.sink.Sink, sink.Failure("more than 1 part", sink.ErrTooLarge)}
	f.job("1", "x")
	folding(t, f.e)
	f.ends("1", report.Failed, "more than 1 part")
	f.emptied()
}

// refusing is a sink that lets nobody in.
type refusing struct {
	sink.Sink
	err error
}

func (r refusing) Create(context.Context, sink.Object) (sink.Writer, error) {
	return nil, r.err
}

// TestEntriesOfADeadWorkerWaitForASlot longer than a lease: no other worker is taken for silent
// meanwhile, and no try more is used than the one of the dead worker.
func TestEntriesOfADeadWorkerWaitForASlot(t *testing.T) {
	t.Parallel()
	const jobs = 5
	f := newTest(t, report.Limits{LargeFiles: 1, Lease: 200 * time.Millisecond})
	var mu sync.Mutex
	tries := map[string]int64{}
	f.sink.before = func(ctx context.Context, name string) {
		state, err := f.s.Jobs.Read(context.Background(), strings.TrimPrefix(strings.TrimSuffix(name, "-1-abc234.csv"), "r/"))
		mu.Lock()
		if err == nil {
			tries[name] = state.Fold.Tries
		}
		mu.Unlock()
		_ = step.Wait(ctx, 600*time.Millisecond)
	}
	for i := range jobs {
		f.job(fmt.Sprint(i), large)
	}
	f.delivered(f.s.Keys.FanInLarge)
	folding(t, f.e)
	folding(t, f.engine("d", engine.Options{Limits: f.e.Limits, Reports: f.e.Reports}))
	for i := range jobs {
		f.succeeds(fmt.Sprint(i), large)
	}
	f.emptied()
	for name, n := range tries {
		if n != 1 {
			t.Errorf("%s used %d tries", name, n)
		}
	}
	if n := f.calls.n("claim"); n != jobs || len(tries) != jobs {
		t.Errorf("%d claims for %d jobs", n, len(tries))
	}
}
