package listeners

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/processors"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// TestSlotsOfAProcess are those of all its Runners: no more tasks are at work, and none is read
// while one waits.
func TestSlotsOfAProcess(t *testing.T) {
	t.Parallel()
	const tasks, jobs = 2, 20
	var now, most atomic.Int64
	b := prepare(t, minutely, report.Limits{Tasks: tasks, ShutdownTimeout: time.Second}, func(ctx context.Context, _ int64, out *Writer, _ Task) error {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			before := most.Load()
			if n <= before || most.CompareAndSwap(before, n) {
				break
			}
		}
		if err := step.Wait(ctx, 5*time.Millisecond); err != nil {
			return err
		}
		return one(out)
	})
	for i := range jobs {
		start(t, b.s, fmt.Sprint("j", i), "{}", plan(b.runner.o.Reports["r"]))
	}
	slots := NewSlots(report.Limits{Tasks: tasks}, nil)
	for _, consumer := range []string{"c", "d", "e"} {
		b.run(consumer, func(o *Options) { o.Slots = slots })
	}
	b.until("all are done", func(*job.State) bool { return b.client.XLen(t.Context(), b.s.Keys.FanIn).Val() == jobs+1 })
	if most.Load() != tasks {
		t.Errorf("%d tasks at once, not %d", most.Load(), tasks)
	}
}

// TestASlotThatOthersHave leaves a Runner the rest of them, and at least one task, which waits in
// line.
func TestASlotThatOthersHave(t *testing.T) {
	t.Parallel()
	all := NewSlots(report.Limits{Tasks: 2}, nil).listener("a", "db")
	here, there := &share{slots: all}, &share{slots: all}
	for _, want := range []int{2, 1, 1} {
		if n := here.free(); n != want {
			t.Errorf("%d have one or wait there, %d are free here", there.wanted.Load(), n)
		}
		if n := there.free(); n != 2 {
			t.Errorf("%d are free there", n)
		}
		_ = there.take(t.Context(), nil, time.Millisecond)
	}
	if here.free() != 1 || len(all.taken) != 2 {
		t.Errorf("%d are free, %d taken", here.free(), len(all.taken))
	}
}

// TestConnectionsThatOthersHave limit the tasks that a listener reads: at least one, which waits.
func TestConnectionsThatOthersHave(t *testing.T) {
	t.Parallel()
	b := prepare(t, minutely, report.Limits{Tasks: 16}, func(context.Context, int64, *Writer, Task) error { return nil })
	for name, test := range map[string]struct {
		connections map[string]int
		want        []int // tasks that a may read while another listener has 0, 1, 2 and 3 connections
	}{
		"few":       {map[string]int{"db": 3}, []int{3, 2, 1, 1}},
		"many":      {map[string]int{"db": 100}, []int{16, 16, 16, 16}},
		"unlimited": {map[string]int{"other": 1}, []int{16, 16, 16, 16}},
	} {
		slots := NewSlots(report.Limits{Tasks: 16}, test.connections)
		b.runner.slots = slots
		tasks := b.runner.tasks(t.Context(), "a")
		for taken, want := range test.want {
			if n, err := tasks.admit(t.Context()); n != want || err != nil {
				t.Errorf("%s, %d taken: %d, want %d, error %v", name, taken, n, want, err)
			}
			if of := slots.source("db"); of != nil && taken < 3 {
				if err := (&share{slots: of}).take(t.Context(), nil, time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestATaskWithoutASlot of its process is left to another process, and begins no more in one that
// stops.
func TestATaskWithoutASlot(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan string, 3), make(chan struct{})
	b := prepare(t, minutely, report.Limits{Tasks: 1, ShutdownTimeout: 20 * time.Second}, func(ctx context.Context, _ int64, out *Writer, task Task) error {
		begun <- task.ID
		select {
		case <-finish:
			return one(out)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	task := b.s.Keys.Task("a")
	slots := NewSlots(report.Limits{Tasks: 1}, nil)
	var stops []func()
	for _, consumer := range []string{"c", "d"} {
		stops = append(stops, b.run(consumer, func(o *Options) { o.Slots = slots }))
	}
	<-begun
	start(t, b.s, "2", "{}", plan(b.runner.o.Reports["r"]))
	b.until("it is handed back", func(*job.State) bool {
		return b.client.ZScore(t.Context(), b.s.Keys.Delayed, "2/1/a").Err() == nil && b.client.XPending(t.Context(), task, scripts.Group).Val().Count == 1
	})
	state, err := b.s.Jobs.Read(t.Context(), "2")
	if err != nil || state.Tasks["a"].Tries != 0 || state.Tasks["a"].Waits != "one of the 1 slots of a process" {
		t.Errorf("%+v %v", state, err)
	}
	start(t, b.s, "3", "{}", plan(b.runner.o.Reports["r"]))
	b.until("one more waits", func(*job.State) bool {
		state, err := b.s.Jobs.Read(t.Context(), "3")
		return slots.listener("a", "db").wanted.Load() == 2 && err == nil && state.Tasks["a"].Pause == "one of the 1 slots of a process"
	})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		go stops[0]()
		stops[1]()
		stops[0]()
	}()
	b.until("it is handed back at the stop", func(*job.State) bool {
		return slots.listener("a", "db").wanted.Load() == 1 && b.client.XLen(t.Context(), task).Val() == 2 && b.client.XPending(t.Context(), task, scripts.Group).Val().Count == 1
	})
	b.run("idle", nil)
	if id := <-begun; id != "3" {
		t.Errorf("%s has begun", id)
	}
	close(finish)
	<-stopped
	if len(begun) > 0 {
		t.Errorf("%s has begun after the stop", <-begun)
	}
}

// TestAnOutageOfOnePartition leaves the slots to the tasks of others; then the task goes on, although
// no slot is free: those that have them may wait for what it holds.
func TestAnOutageOfOnePartition(t *testing.T) {
	t.Parallel()
	away, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(away.Stop)
	client := away.Client()
	t.Cleanup(func() { _ = client.Close() })
	begun, kill, well, finish := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	b := prepare(t, minutely, report.Limits{Tasks: 1, ShutdownTimeout: 20 * time.Second}, func(ctx context.Context, _ int64, out *Writer, task Task) error {
		if task.ID == "1" {
			close(well)
			select {
			case <-finish:
			case <-ctx.Done():
			}
			return one(out)
		}
		close(begun)
		<-kill
		if err := out.Columns([]dataset.Column{{Name: "c", Kind: report.KindInteger}}); err != nil {
			return err
		}
		for i := range 2*dataset.MaxChunkRows + 1 {
			out.Builder().Int(0, int64(i))
			if err := out.EndRow(); err != nil {
				return err
			}
		}
		return nil
	})
	other := scripts.New(scripts.Options{Redis: client, Keys: b.s.Keys.Keys})
	start(t, other, "2", "{}", plan(b.runner.o.Reports["r"]))
	slots := NewSlots(report.Limits{Tasks: 1}, nil)
	b.run("c", func(o *Options) { o.Slots, o.Redis, o.Scripts = slots, client, other })
	<-begun
	away.Kill()
	close(kill)
	// Before that a task would wait for a second and then for a scheduler, which there is none here.
	b.until("the slot is free", func(*job.State) bool { return slots.listener("a", "db").wanted.Load() == 0 })
	b.run("c", func(o *Options) { o.Slots = slots })
	select {
	case <-well:
	case <-time.After(time.Minute):
		t.Fatal("the task of the healthy partition does not begin")
	}
	if err := away.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.until("the other one is done", func(*job.State) bool {
		s, err := other.Jobs.Read(t.Context(), "2")
		return err == nil && s.Tasks["a"].Done
	})
	close(finish)
	b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
	b.until("no slot is taken", func(*job.State) bool {
		return len(slots.listener("a", "db").taken) == 0 && slots.listener("a").wanted.Load() == 0
	})
}

// TestALargeTask raises the processors when its rows have become large, and lowers them at its end.
func TestALargeTask(t *testing.T) {
	t.Parallel()
	wrote, finish := make(chan struct{}), make(chan struct{})
	b := prepare(t, minutely, report.Limits{ShutdownTimeout: 20 * time.Second}, func(_ context.Context, _ int64, out *Writer, _ Task) error {
		if err := out.Columns([]dataset.Column{{Name: "c", Kind: report.KindInteger}}); err != nil {
			return err
		}
		for range processors.Large/len("1000000000,") + 2*dataset.MaxChunkRows {
			out.Builder().Int(0, 1_000_000_000)
			if err := out.EndRow(); err != nil {
				return err
			}
		}
		close(wrote)
		<-finish
		return nil
	})
	finished := sync.OnceFunc(func() { close(finish) })
	defer finished()
	b.run("c", nil)
	<-wrote
	b.until("its work is large", func(*job.State) bool { return processors.Running() > 0 })
	finished()
	b.until("done", func(s *job.State) bool { return s.Tasks["a"].Done })
	b.until("its work is over", func(*job.State) bool { return processors.Running() == 0 })
}
