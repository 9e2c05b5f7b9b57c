package listeners

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// fields are those of the job's hash that say something of its task, without its data.
func (b *bundle) fields() (names []string) {
	b.t.Helper()
	for _, name := range b.client.HKeys(b.t.Context(), b.s.Keys.Job("1")).Val() {
		if strings.HasPrefix(name, "a:") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// open are the listeners that the job's line says are open, with their generations.
func (b *bundle) open() string {
	b.t.Helper()
	line := strings.Fields(b.client.HGet(b.t.Context(), b.s.Keys.Job("1"), "job").Val())
	if len(line) < 8 {
		b.t.Fatalf("the field job is %q", line)
	}
	return line[7]
}

// TestAFirstDeliveryIsNotTaken: nothing is written before the task is done, and then what it
// found. The pending list says whose it is.
func TestAFirstDeliveryIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string]int{"one chunk": 1, "several": dataset.MaxChunkRows + 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, finish := make(chan struct{}), make(chan struct{})
			b := setup(t, minutely, report.Limits{}, func(_ context.Context, _ int64, out *Writer) error {
				close(begun)
				<-finish
				if err := out.Columns([]dataset.Column{{Name: "c", Kind: report.KindInteger}}); err != nil {
					return err
				}
				for i := range rows {
					out.Builder().Int(0, int64(i))
					if err := out.EndRow(); err != nil {
						return err
					}
				}
				return nil
			})
			before := b.open()
			<-begun
			if got := b.fields(); len(got) > 0 || before != "|a|" || b.open() != before {
				t.Errorf("a worker has it, and the state has %q, open %s", got, b.open())
			}
			if p := b.client.XPending(t.Context(), b.s.Keys.Task("a"), scripts.Group).Val(); p.Count != 1 || p.Consumers["c"] != 1 {
				t.Errorf("pending: %+v", p)
			}
			close(finish)
			state := b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady })
			if task := state.Tasks["a"]; task.Rows != int64(rows) || task.Tries != 1 || task.Error != "" || task.Generation != 0 {
				t.Errorf("%+v", task)
			}
			if got := b.fields(); !slices.Equal(got, []string{"a:found"}) {
				t.Errorf("the state has %q", got)
			}
			b.emptied(b.s.Keys.Task("a"))
			if p := b.client.XPending(t.Context(), b.s.Keys.Task("a"), scripts.Group).Val(); p.Count != 0 {
				t.Errorf("pending: %+v", p)
			}
		})
	}
}

// TestAWorkerThatDiesOnItsFirstDelivery is taken for silent when the lease has ended: that was
// a try. If it was only late, it is refused in all that it does, and the entry stays the new
// worker's.
func TestAWorkerThatDiesOnItsFirstDelivery(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	b := prepare(t, minutely, report.Limits{Lease: 300 * time.Millisecond}, func(_ context.Context, _ int64, out *Writer, task Task) error {
		if task.Before != "worker fell silent" {
			return Permanent(fmt.Errorf("the try before ended so: %q", task.Before))
		}
		close(begun)
		<-finish
		return one(out)
	})
	entry := b.delivered("late")
	late := b.task("late", entry)
	chunk := func(number int64, value string) scripts.Chunk {
		return scripts.Chunk{Number: number, Rows: 1, Columns: []dataset.Column{{Name: "c"}}, Names: []string{"c"}, Fields: [][]byte{[]byte("[" + value + "]")}}
	}
	if outcome, err := late.Append(t.Context(), chunk(0, "7")); outcome != scripts.OK || err != nil {
		t.Fatal(outcome, err)
	}
	from := time.Now()
	b.run("new", nil)
	<-begun
	if took := time.Since(from); took < 200*time.Millisecond {
		t.Errorf("it was taken over after %v, before the lease ended", took)
	}
	state := b.until("taken over", func(s *job.State) bool { return s.Tasks["a"].Owner != "" })
	if task := state.Tasks["a"]; task.Tries != 2 || task.Error != "worker fell silent" || task.Generation != 1 || task.Chunks != 0 || state.Bytes != 0 {
		t.Errorf("%+v, %d bytes", task, state.Bytes)
	}
	for what, do := range map[string]func() (scripts.Outcome, error){
		"append":   func() (scripts.Outcome, error) { return late.Append(t.Context(), chunk(1, "8")) },
		"complete": func() (scripts.Outcome, error) { return late.Complete(t.Context(), chunk(0, "9"), 0) },
		"renew":    func() (scripts.Outcome, error) { return late.Renew(t.Context()) },
		"remember": func() (scripts.Outcome, error) { return late.Remember(t.Context(), []byte("{}")) },
		"requeue": func() (scripts.Outcome, error) {
			return late.Requeue(t.Context(), scripts.Requeue{Counts: true, Error: "late"})
		},
		"omit": func() (scripts.Outcome, error) { return late.Omit(t.Context(), "optional", "late") },
		"fail": func() (scripts.Outcome, error) { return late.Fail(t.Context(), "late", job.BlameSource) },
	} {
		if outcome, err := do(); outcome != scripts.Busy || err != nil {
			t.Errorf("%s by a worker that is late: %v %v", what, outcome, err)
		}
	}
	if p := b.client.XPendingExt(t.Context(), &redis.XPendingExtArgs{Stream: b.s.Keys.Task("a"), Group: scripts.Group, Start: "-", End: "+", Count: 10}).Val(); len(p) != 1 || p[0].ID != entry || p[0].Consumer != "new" {
		t.Errorf("pending: %+v", p)
	}
	close(finish)
	state = b.until("done", func(s *job.State) bool { return s.Status == job.StatusReady })
	if task := state.Tasks["a"]; task.Tries != 2 || task.Rows != 1 || state.Done != 1 {
		t.Errorf("%+v, %d done", task, state.Done)
	}
	if data, err := b.s.Folds.Stored("1", "a").Get(t.Context(), []string{"c"}, 0); err != nil || string(data[0]) != "[1]" {
		t.Errorf("%s %v", data, err)
	}
	b.emptied(b.s.Keys.Task("a"))
}

// TestAPausedListenerPutsItsEntryBack: what a read brings that has waited while the listener or its source was paused
// goes back, once, and no try is used.
func TestAPausedListenerPutsItsEntryBack(t *testing.T) {
	t.Parallel()
	for _, member := range []string{scripts.PausedListener("a"), scripts.PausedSource("db")} {
		t.Run(member, func(t *testing.T) { t.Parallel(); putsBack(t, member) })
	}
}

func putsBack(t *testing.T, member string) {
	b := prepare(t, minutely, report.Limits{}, func(_ context.Context, _ int64, out *Writer, _ Task) error { return one(out) })
	ctx, task := t.Context(), b.s.Keys.Task("a")
	if _, err := (scripts.Partitions{b.s}).Hold(ctx, member, scripts.Hold{}); err != nil {
		t.Fatal(err)
	}
	entry := step.Entry{Entry: scripts.Entry{Stream: task, ID: b.delivered("c"), Deliveries: 1, Fields: map[string]string{}}}
	for name, value := range b.client.XRange(ctx, task, "-", "+").Val()[0].Values {
		entry.Fields[name], _ = value.(string)
	}
	for range 2 { // as if the answer to the first call had been lost
		step.Singles(b.runner.tasks(ctx, "a"), time.Minute, &b.runner.leases)(ctx, []step.Entry{entry})
		now := b.client.XRange(ctx, task, "-", "+").Val()
		if len(now) != 1 || now[0].ID == entry.ID || now[0].Values["id"] != "1" || now[0].Values["attempt"] != "1" {
			t.Errorf("%+v was put back as %+v", entry, now)
		}
	}
	if p := b.client.XPending(ctx, task, scripts.Group).Val(); p.Count != 0 || b.source.tries.Load() != 0 {
		t.Errorf("pending: %+v, %d tries", p, b.source.tries.Load())
	}
	b.run("c", nil)
	if _, _, err := (scripts.Partitions{b.s}).Unhold(ctx, member, false); err != nil {
		t.Fatal(err)
	}
	state := b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
	if got := state.Tasks["a"]; got.Tries != 1 || got.Error != "" || b.source.tries.Load() != 1 {
		t.Errorf("%+v", got)
	}
	b.emptied(task)
}

// TestATaskOfAPausedSource waits if the listener also reads a source that is not paused, or if it was paused while the
// task waited for a slot. It uses no try.
func TestATaskOfAPausedSource(t *testing.T) {
	t.Parallel()
	b := prepare(t, minutely, report.Limits{}, func(_ context.Context, _ int64, out *Writer, _ Task) error { return one(out) })
	p := scripts.Partitions{b.s}
	if _, err := p.Hold(t.Context(), scripts.PausedSource("db"), scripts.Hold{}); err != nil {
		t.Fatal(err)
	}
	other := *b.runner.o.Reports["r"]
	other.Stages = []report.Stage{{Listeners: []report.Listener{other.Stages[0].Listeners[0]}}}
	other.Name, other.Stages[0].Listeners[0].Source = "other", "free"
	b.run("c", func(o *Options) {
		o.Reports = map[string]*report.Report{"r": o.Reports["r"], "other": &other}
		o.Sources = map[string]Source{"db": b.source, "free": b.source}
	})
	b.until("waiting", func(s *job.State) bool { return s.Tasks["a"].Waits == "source db is paused" })
	if _, _, err := p.Unhold(t.Context(), scripts.PausedSource("db"), false); err != nil || b.source.tries.Load() != 0 {
		t.Fatal(err, b.source.tries.Load())
	}
	state := b.until("done", func(s *job.State) bool {
		if !b.delayed().IsZero() {
			b.comes()
		}
		return s.Tasks["a"].Done
	})
	if got := state.Tasks["a"]; got.Tries != 1 || got.Error != "" || b.source.tries.Load() != 1 {
		t.Errorf("%+v", got)
	}
}

// TestAnUnknownDefinitionIsHandedBack by a worker that its entry tells of it, with no try;
// another process does the task.
func TestAnUnknownDefinitionIsHandedBack(t *testing.T) {
	t.Parallel()
	b := prepare(t, minutely, report.Limits{}, func(_ context.Context, _ int64, out *Writer, _ Task) error { return one(out) })
	other := *b.runner.o.Reports["r"]
	other.Stages = []report.Stage{{Listeners: []report.Listener{other.Stages[0].Listeners[0]}}}
	other.Stages[0].Listeners[0].Columns = []string{"c", "other"}
	stop := b.run("new version", func(o *Options) { o.Reports = map[string]*report.Report{"r": &other} })
	b.until("handed back", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() && !b.delayed().IsZero() })
	b.emptied(b.s.Keys.Task("a"))
	stop()
	b.run("old version", nil)
	b.comes()
	state := b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
	if task := state.Tasks["a"]; task.Tries != 1 || task.Error != "" || b.source.tries.Load() != 1 {
		t.Errorf("%+v", task)
	}
}

// TestParametersThatNoEntryCarries are read from the job: those above 1 KB.
func TestParametersThatNoEntryCarries(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"carried": 10, "read": 2 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat("x", size)
			b := prepare(t, minutely, report.Limits{}, func(_ context.Context, _ int64, out *Writer, task Task) error {
				if got := task.Parameters["p"]; got != text {
					return Permanent(fmt.Errorf("the parameter is %.20v", got))
				}
				return one(out)
			})
			b.client.Del(t.Context(), b.s.Keys.Job("1"), b.s.Keys.Task("a")) // another job
			b.withParameter()
			start(t, b.s, "1", `{"p":"`+text+`"}`, plan(b.runner.o.Reports["r"]))
			entry := b.client.XRange(t.Context(), b.s.Keys.Task("a"), "-", "+").Val()[0]
			if _, carried := entry.Values["parameters"]; carried != (size < 1<<10) {
				t.Errorf("%.200v", entry.Values)
			}
			b.run("c", nil)
			state := b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done || s.Status == job.StatusFailing })
			if state.Status != job.StatusReady || !slices.Equal(b.fields(), []string{"a:found"}) {
				t.Errorf("%s %s, the state has %q", state.Status, state.Reason, b.fields())
			}
		})
	}
}

// TestParametersOfAJobThatIsGone: its entry is acknowledged; where a key of another type stands
// in its place, the entry goes to the quarantine, and the worker does the next one.
func TestParametersOfAJobThatIsGone(t *testing.T) {
	t.Parallel()
	b := prepare(t, minutely, report.Limits{}, func(_ context.Context, _ int64, out *Writer, _ Task) error { return one(out) })
	b.withParameter()
	long := `{"p":"` + strings.Repeat("x", 2<<10) + `"}`
	for _, id := range []string{"gone", "broken", "another attempt"} {
		start(t, b.s, strings.ReplaceAll(id, " ", "-"), long, plan(b.runner.o.Reports["r"]))
	}
	ctx := t.Context()
	b.client.Del(ctx, b.s.Keys.Job("gone"), b.s.Keys.Job("broken"))
	b.client.Set(ctx, b.s.Keys.Job("broken"), "x", 0)
	line := b.client.HGet(ctx, b.s.Keys.Job("another-attempt"), "job").Val()
	b.client.HSet(ctx, b.s.Keys.Job("another-attempt"), "job", "2"+strings.TrimPrefix(line, "1"))
	b.run("c", nil)
	b.emptied(b.s.Keys.Task("a"))
	if n := b.source.tries.Load(); n != 0 { // the job that prepare has started is of another definition
		t.Errorf("%d tries", n)
	}
	kept := b.client.XRange(ctx, b.s.Keys.Quarantined, "-", "+").Val()
	if len(kept) != 1 || !strings.Contains(fmt.Sprint(kept[0].Values["fields"]), "id=broken") {
		t.Errorf("%v", kept)
	}
}

// withParameter gives the definition a parameter.
func (b *bundle) withParameter() {
	b.t.Helper()
	o := b.runner.o
	r := *o.Reports["r"]
	r.Parameters = []report.Parameter{{Name: "p", Type: report.ParamString}}
	o.Reports = map[string]*report.Report{"r": &r}
	runner, err := New(o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.runner = runner
}
