package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestWhys says of many jobs what Why says of each, and reads a stream once for all of them.
func TestWhys(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, s, now := t.Context(), b.o.Scripts.Home(), time.Now()
	var ids []string
	run := func(stream bool) {
		t.Helper()
		id := b.insert()
		ids = append(ids, id)
		_, err := b.db.ExecContext(ctx, "UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", id)
		b.ok(err)
		of := fmt.Sprintf("two/%s/d", b.o.Config.Reports["two"].Hash())
		b.ok(b.o.Redis.HSet(ctx, s.Keys.Job(id), "job", fmt.Sprintf("1 RUN 1 0 %d 1/2 0 |b| %d %d %s", now.Add(time.Hour).UnixMilli(), now.UnixMilli(), now.UnixMilli(), of),
			"parameters", "{}", "listeners", "a,b", "a:found", "at=1 ms=1 chunks=0 rows=0 bytes=0 columns=[]").Err())
		if stream {
			b.ok(b.o.Redis.XAdd(ctx, &redis.XAddArgs{Stream: s.Keys.Task("b"), Values: []string{"id", id, "attempt", "1"}}).Err())
		}
	}
	for i := range 20 {
		run(i != 10) // which is lost
	}
	b.ok(b.o.Redis.XGroupCreate(ctx, s.Keys.Task("b"), scripts.Group, "0").Err())
	b.ok(b.o.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "w", Streams: []string{s.Keys.Task("b"), ">"}, Count: 8}).Err())
	ids = append(ids, b.insert(), "999999") // not pushed, and none
	b.add(s.Keys.Delayed, redis.Z{Score: in(time.Hour), Member: ids[20]})
	ids = append(ids, b.insert())

	counted := b.o.Redis.(*redis.Client)
	reads := &readCounter{}
	counted.AddHook(reads)
	got, err := b.Whys(ctx, ids)
	b.ok(err)
	streams := reads.n.Load()
	kinds := map[Kind]int{}
	for i, id := range ids {
		want, err := b.Why(ctx, id)
		b.ok(err)
		ages := cmpopts.IgnoreFields(Verdict{}, "Now", "Upcoming", "Details", "Summary", "Steps")
		if diff := cmp.Diff(want, got[i], ages); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
		kinds[got[i].Kind]++
	}
	if diff := cmp.Diff(map[Kind]int{KindBarrier: 8, KindQueued: 11, KindLost: 1, KindDelayed: 1, KindNoRecord: 1, KindNotPushed: 1}, kinds); diff != "" {
		t.Error(diff)
	}
	if most := int64(14); streams > most { // of tasks, jobs and the quarantine, and by itself for what may have moved
		t.Errorf("%d reads of streams", streams)
	}
	found, err := b.Because(ctx, ids, KindQueued, 5)
	if b.ok(err); len(found) != 5 || !slices.ContainsFunc(found, func(v Verdict) bool { return v.ID == ids[8] }) {
		t.Errorf("%+v", found)
	}
}

// TestWhyNamesAKeyOfAnotherType: a job cannot start because the stream of one of its tasks is something else.
func TestWhyNamesAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, s, id := t.Context(), b.o.Scripts.Home(), b.insert()
	b.ok(b.o.Redis.Set(ctx, s.Keys.Task("a"), "x", 0).Err())
	b.add(s.Keys.Delayed, redis.Z{Score: in(time.Minute), Member: id + "/1/@trigger"})
	v, err := b.Why(ctx, id)
	b.ok(err)
	if want := "the key " + s.Keys.Task("a") + " is a string, not a stream"; v.Kind != KindWrongType || !strings.Contains(v.Summary, want) {
		t.Errorf("%s: %s, not %s", v.Kind, v.Summary, want)
	}
	_, err = b.db.ExecContext(ctx, "UPDATE file_download_record SET status = 'SUCCESS', file = 'f' WHERE id = ?", id)
	b.ok(err)
	if v, err := b.Why(ctx, id); err != nil || v.Kind != KindEnded {
		t.Errorf("of a record that has ended: %s: %s; %v", v.Kind, v.Summary, err)
	}
}

// readCounter counts XRANGE and XREVRANGE.
type readCounter struct{ n atomic.Int64 }

func (c *readCounter) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *readCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (c *readCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "xrange" || cmd.Name() == "xrevrange" {
			c.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

// TestTold counts the ends of jobs and the tries that failed, each once.
func TestTold(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	_, place, err := b.Told(t.Context(), nil)
	b.ok(err)
	for _, values := range [][]string{
		{"event", "finished", "status", "SUCCESS", "tasks", "a:3:1:42,b:-:1:,c::2:"}, {"event", "retry", "step", "a"}, {"event", "failing", "by", "a"}, {"event", "omitted", "listener", "b"}, {"event", "started"},
	} {
		b.ok(b.o.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: b.o.Scripts.Home().Keys.Events, Values: values}).Err())
	}
	got, place, err := b.Told(t.Context(), place)
	b.ok(err)
	if diff := cmp.Diff(Told{map[report.Status]int{report.Success: 1}, map[string]int{"a": 2, "b": 1}, map[string][]time.Duration{"a": {42 * time.Millisecond}}}, got); diff != "" {
		t.Error(diff)
	}
	if got, _, err := b.Told(t.Context(), place); err != nil || len(got.Ended)+len(got.Failed)+len(got.Took) != 0 {
		t.Errorf("%v %v", got, err)
	}
}
