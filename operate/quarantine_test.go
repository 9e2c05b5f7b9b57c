package operate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/scripts"
)

// quarantine puts an entry into the quarantine of a partition.
func (b *bench) quarantine(partition int, stream string, fields map[string]string) inspect.Quarantined {
	b.Helper()
	b.ok(b.all[partition].Streams.Quarantine(b.Context(), stream, "1-1", fields, "a reason"))
	last := b.redis.XRevRangeN(b.Context(), b.all[partition].Keys.Quarantined, "+", "-", 1).Val()[0].ID
	found, err := b.Quarantine.Find(b.Context(), []string{fmt.Sprintf("%d:%s", partition, last)})
	b.ok(err)
	return found[0]
}

// TestRequeue puts entries back into their own partitions, and refuses those that would be quarantined
// again.
func TestRequeue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, home := acting(t), b.all.First().Keys
	refused := func(partition int, stream string, fields map[string]string, why string) {
		t.Helper()
		entry := b.quarantine(partition, stream, fields)
		if _, err := b.Quarantine.Requeue(ctx, entry, time.Now()); !errors.Is(err, scripts.ErrNotRequeued) || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, not with %q", err, why)
		}
		if _, err := b.Quarantine.Find(ctx, []string{entry.Entry}); err != nil {
			t.Error(err)
		}
	}
	refused(0, home.Jobs, map[string]string{"id": "1"}, "there is no record with exactly this id")
	refused(1, home.Jobs, map[string]string{"id": "a b"}, "its field id is missing, or does not match")
	refused(0, home.Task("gone"), map[string]string{"id": "1", "attempt": "1"}, "no listener gone")
	refused(2, home.FanIn, map[string]string{"id": "1", "x": strings.Repeat("x", 2000)}, "more than 1 KB was cut")
	refused(0, home.Timers, map[string]string{"name": "a b", "due": "none"}, "its name cannot be one of a timer")
	refused(0, home.Delayed, map[string]string{"member": "1/2"}, "neither <id> nor")

	for i := range 6 {
		id := b.insert("slow")
		entry := b.quarantine(i%3, b.all[(i+1)%3].Keys.Jobs, map[string]string{"id": id, "note": `a "b" =`})
		text, err := b.Quarantine.Requeue(ctx, entry, time.Now())
		if err != nil || !strings.Contains(text, b.all.Of(id).Keys.Jobs) {
			t.Errorf("%s %v", text, err)
		}
		pushed := b.redis.XRevRangeN(ctx, b.all.Of(id).Keys.Jobs, "+", "-", 1).Val()
		if len(pushed) != 1 || pushed[0].Values["id"] != id || pushed[0].Values["note"] != `a "b" =` {
			t.Errorf("%v", pushed)
		}
		_, err = b.Quarantine.Find(ctx, []string{entry.Entry})
		b.refused(err, fault.NotFound)
	}
}

// TestRemoveFromQuarantine removes entries of several partitions, and counts those that existed.
func TestRemoveFromQuarantine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var names []string
	for i := range 7 {
		names = append(names, b.quarantine(i%3, b.all.First().Keys.Jobs, map[string]string{"id": "1"}).Entry)
	}
	if n, err := b.Quarantine.Remove(acting(t), append(slices.Clone(names[:5]), "1:1-1")); n != 5 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n := b.total(func(k *scripts.Keys) *redis.IntCmd { return b.redis.XLen(acting(t), k.Quarantined) }); n != 2 {
		t.Errorf("%d are left", n)
	}
	for _, name := range []string{"x", "9:1-1"} {
		_, err := b.Quarantine.Remove(acting(t), []string{name})
		b.refused(err, fault.Input)
	}
}
