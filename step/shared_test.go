package step

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestSharedReaders read over one connection: a stream with a long backlog and one slot
// keeps no other waiting, nor does one of the wrong type, one without a group, or one
// whose reader has no room. What comes to a stream that was broken is read, too.
func TestSharedReaders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	names := []string{"busy", "full", "broken", "missing", "quiet"}
	key := func(name string) string { return b.options.Stream + ":" + name }
	add := func(name string, from, n int) {
		t.Helper()
		_, err := b.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range n {
				p.XAdd(ctx, &redis.XAddArgs{Stream: key(name), Values: []string{"n", fmt.Sprint(name, from+i)}})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := b.client.Set(ctx, key("broken"), "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	const backlog = 400
	add("busy", 0, backlog)
	add("full", 0, 1)
	var mu sync.Mutex
	var order []string
	position := func(n string) int {
		mu.Lock()
		defer mu.Unlock()
		return slices.Index(order, n)
	}
	release := make(chan struct{})
	shared, end := share(b.client, "c1", len(names))
	stop, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	for _, name := range names {
		o := b.options
		o.Stream, o.Shared, o.MinIdle = key(name), shared, time.Minute
		if name == "busy" || name == "full" {
			o.Slots = 1
		}
		o.Handle = handles(func(ctx context.Context, entries []Entry) {
			if name == "full" {
				<-release
			}
			mu.Lock()
			order = append(order, entries[0].Fields["n"])
			mu.Unlock()
			b.client.XAck(ctx, o.Stream, group, entries[0].ID)
		})
		readers.Go(func() {
			if err := New(o).Run(stop); err != nil {
				t.Error(err)
			}
		})
	}
	b.until("the busy one has begun", func() bool { return position("busy1") >= 0 })
	add("quiet", 0, 3)
	b.until("the quiet one is read", func() bool { return position("quiet2") >= 0 })
	b.client.Del(ctx, key("broken"))
	add("broken", 0, 1)
	b.client.XGroupDestroy(ctx, key("missing"), group)
	add("missing", 0, 1)
	for _, n := range []string{"broken0", "missing0"} {
		b.until(n, func() bool { return position(n) >= 0 })
	}
	close(release)
	last := fmt.Sprint("busy", backlog-1)
	b.until("all of the busy one, and the full one", func() bool { return position(last) >= 0 && position("full0") >= 0 })
	if position("quiet2") > position(last) {
		t.Error("the quiet one waited for the busy one's backlog")
	}
	cancel()
	readers.Wait()
	end()
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(order)
	if n := len(slices.Compact(order)); n != backlog+1+3+1+1 {
		t.Errorf("%d entries were read", n)
	}
}
