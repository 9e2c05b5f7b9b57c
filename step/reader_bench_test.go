package step

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/scripts"
)

// BenchmarkReader measures an entry that is read, handled and acknowledged by
// itself.
func BenchmarkReader(b *testing.B) {
	client := testmain.SharedRedis(b).Client()
	b.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(b)
	for first := 0; first < b.N; first += 10_000 {
		if _, err := client.Pipelined(b.Context(), func(p redis.Pipeliner) error {
			for range min(10_000, b.N-first) {
				p.XAdd(b.Context(), &redis.XAddArgs{Stream: name, Values: []string{"n", "1"}})
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var handled atomic.Int64
	all := make(chan struct{})
	reader := New(Options{
		Redis: client, Scripts: scripts.New(scripts.Options{Redis: client}), Stream: name, Consumer: "c1", Slots: 64, MinIdle: time.Minute, Log: slog.New(slog.DiscardHandler),
		Handle: handles(func(ctx context.Context, entries []Entry) {
			if err := client.XAck(context.WithoutCancel(ctx), name, group, entries[0].ID).Err(); err != nil {
				b.Error(err)
			}
			if handled.Add(1) == int64(b.N) {
				close(all)
			}
		}),
	})
	b.ReportAllocs()
	b.ResetTimer()
	ended := make(chan error, 1)
	go func() { ended <- reader.Run(ctx) }()
	<-all
	b.StopTimer() // a stop waits for the read that waits
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}
