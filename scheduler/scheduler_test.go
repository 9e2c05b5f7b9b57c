package scheduler

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
)

func TestRunMovesWhatIsDueAndStops(t *testing.T) {
	t.Parallel()
	b := shared(t)
	scheduler := b.scheduler("a")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- scheduler.Run(ctx) }()
	if err := b.s.Clock.Delay(ctx, "1", 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.XRead(ctx, &redis.XReadArgs{Streams: []string{b.s.Keys.Jobs, "0"}, Block: 20 * time.Second}).Result(); err != nil {
		t.Errorf("not moved: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	b := shared(t)
	registry := b.run("a")
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) != 0 {
		t.Errorf("%v %v", problems, err)
	}
}
