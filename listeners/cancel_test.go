package listeners

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// canceling is a source that ends what tasks have begun.
type canceling struct {
	*counting
	cancels atomic.Int64
	tasks   chan Task
	end     func(try int64) error
}

func (c *canceling) Cancel(_ context.Context, task Task) error {
	err := c.end(c.cancels.Add(1))
	c.tasks <- task
	return err
}

// TestACancelEntry has the source end what the task began, from what its memo says
// alone; it is tried again, and its entry goes whatever comes of it.
func TestACancelEntry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(try int64) error
		want int64
	}{
		"ended":        {func(int64) error { return nil }, 1},
		"tried again":  {func(try int64) error { return map[int64]error{1: errors.New("away")}[try] }, 2},
		"not possible": {func(int64) error { return Permanent(errors.New("403")) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupTask(t, minutely, report.Limits{}, func(ctx context.Context, _ int64, _ *Writer, task Task) error {
				if err := task.Remember(ctx, []byte(`{"job":7}`)); err != nil {
					return err
				}
				return Wait(minutely.Delay, "vendor")
			})
			state := b.until("it waits", func(s *job.State) bool { return s.Tasks["a"].Waits != "" })
			b.stop()
			source := &canceling{counting: b.source, tasks: make(chan Task, 10), end: c.end}
			stop := b.run("c", func(o *Options) { o.Sources = map[string]Source{"db": source} })
			b.client.Del(t.Context(), b.s.Keys.Job("1")) // the job has ended
			b.client.XAdd(t.Context(), &redis.XAddArgs{Stream: b.s.Keys.Task("a"), Values: []string{
				"id", "1", "attempt", "1", "cancel", "1", "memo", string(state.Tasks["a"].Memo),
			}})
			for range c.want {
				task := <-source.tasks
				if task.ID != "1" || task.Attempt != 1 || string(task.Memo) != `{"job":7}` || task.Listener.Name != "a" || task.Report.Name != "r" {
					t.Errorf("%+v", task)
				}
			}
			b.emptied(b.s.Keys.Task("a"))
			stop()
			if source.cancels.Load() != c.want {
				t.Errorf("%d cancels", source.cancels.Load())
			}
		})
	}
}

// emptied waits until a stream has no entry.
func (b *bundle) emptied(stream string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	for b.client.XLen(ctx, stream).Val() > 0 {
		select {
		case <-ctx.Done():
			b.t.Fatalf("not within a minute: %s is empty", stream)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
