package why

import (
	"strconv"
	"testing"

	"github.com/fanfold/fanfold/scripts"
	"github.com/redis/go-redis/v9"
)

// TestQueue finds the newest of the oldest entries of an id, who has read it, and how many
// are before it.
func TestQueue(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	g := &gatherer{Inspector: b.in}
	const page = 1000 // of a search
	ctx, key := t.Context(), b.Keys().Task("a")
	if q, err := g.queue(ctx, b.Scripts.First(), key, "7", 1); err != nil || q.Length != 0 || q.Entry != nil || !q.Whole {
		t.Fatalf("%+v %v", q, err)
	}
	_, err := b.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range page + 10 {
			p.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{"id", strconv.Itoa(i), "attempt", "1"}})
		}
		return nil
	})
	b.OK(err)
	b.OK(b.Redis.XGroupCreate(ctx, key, scripts.Group, "0").Err())
	b.OK(b.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "w", Streams: []string{key, ">"}, Count: 8}).Err())
	for _, c := range []struct {
		id       string
		attempt  int64
		ahead    int64
		consumer string
	}{{"7", 1, 7, "w"}, {"8", 0, 8, ""}, {strconv.Itoa(page + 5), 1, page + 5, ""}} {
		q, err := g.queue(ctx, b.Scripts.First(), key, c.id, c.attempt)
		if err != nil || q.Entry == nil || q.Entry.Ahead != c.ahead || q.Entry.Consumer != c.consumer || q.Length != page+10 || len(q.Consumers) != 1 {
			t.Errorf("%+v: %+v %v", c, q, err)
		}
	}
	if q, err := g.queue(ctx, b.Scripts.First(), key, "7", 2); err != nil || q.Entry != nil || !q.Whole || q.Searched != page+10 {
		t.Errorf("%+v %v", q, err)
	}
}
