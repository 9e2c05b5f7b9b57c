package waiting

import (
	"context"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
	"github.com/redis/go-redis/v9"
)

// hanging is a Redis in which one stream hangs and the others are empty.
type hanging struct{ begun, goes chan struct{} }

func (hanging) DialHook(next redis.DialHook) redis.DialHook { return next }
func (hanging) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (h hanging) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, c redis.Cmder) error {
		if slices.Contains(c.Args(), any("away")) {
			close(h.begun)
			<-h.goes
		}
		return nil
	}
}

// TestAQueueThatHangs: it does not delay the pages of other queues.
func TestAQueueThatHangs(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })
	h := hanging{make(chan struct{}), make(chan struct{})}
	client.AddHook(h)
	p := New(Options{Inspect: inspect.New(inspect.Options{Scripts: scripts.Partitions{scripts.New(scripts.Options{Redis: client})}})})
	read := make(chan error)
	go func() {
		_, err := p.queues.heads.Get(t.Context(), "away")
		read <- err
	}()
	<-h.begun
	if b, err := p.queues.heads.Get(t.Context(), "here"); b.positions == nil || err != nil {
		t.Error(b, err)
	}
	close(h.goes)
	if err := <-read; err != nil {
		t.Error(err)
	}
}
