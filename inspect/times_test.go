package inspect

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// counter counts the events that Redis was asked for.
type counter struct{ events int }

func (*counter) DialHook(next redis.DialHook) redis.DialHook { return next }
func (*counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (r *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		err := next(ctx, c)
		if found, ok := c.(*redis.XMessageSliceCmd); ok {
			r.events += len(found.Val())
		}
		return err
	}
}

// TestTimesOfOneJob: its end is found behind any number of later events, and few of them are read.
func TestTimesOfOneJob(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	stream, at := b.Scripts[0].Keys.Events, time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	event := func(p redis.Pipeliner, after time.Duration, id string, more ...string) {
		p.XAdd(b.Context(), &redis.XAddArgs{Stream: stream, ID: fmt.Sprintf("%d-*", at.Add(after).UnixMilli()), Values: append([]string{"id", id}, more...)})
	}
	_, err := b.Redis.Pipelined(b.Context(), func(p redis.Pipeliner) error {
		event(p, -time.Second, "x", "event", "finished", "attempt", "1", "ms", "7")
		for range few + 10 {
			event(p, 0, "y")
		}
		event(p, time.Second, "x", "event", "finished", "attempt", "2", "ms", "1500")
		event(p, time.Second, "x", "event", "finished", "attempt", "3", "ms", "8")
		for range newest + 10 {
			event(p, 2*skew, "y")
		}
		return nil
	})
	b.OK(err)
	asked := &counter{}
	b.Redis.AddHook(asked)
	for _, c := range []struct {
		attempt, ms int64
		max         int
	}{{1, 7, few + 13}, {2, 1500, few}, {4, -1, few + 13}} {
		v := Job{ID: "x", Status: report.Success, Attempt: c.attempt, Ended: &at}
		asked.events = 0
		b.OK(b.in.Jobs.Times(b.Context(), &v))
		if known := c.ms >= 0; known != (v.Duration != nil) || known && (*v.Duration != c.ms || !v.Started.Equal(at.Add(-time.Duration(c.ms)*time.Millisecond))) || asked.events > c.max {
			t.Errorf("attempt %d: %+v, %d events", c.attempt, v, asked.events)
		}
	}
}
