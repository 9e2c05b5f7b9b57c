package why

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

	"github.com/fanfold/fanfold/cmd/fanfold/installation"
	"github.com/fanfold/fanfold/scripts"
)

// TestWhys says of many jobs what Why says of each, and reads a stream once for all of them.
func TestWhys(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, s, now := t.Context(), b.Scripts.First(), time.Now()
	var ids []string
	run := func(stream bool) {
		t.Helper()
		id := b.Insert()
		ids = append(ids, id)
		_, err := b.DB.ExecContext(ctx, "UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", id)
		b.OK(err)
		of := fmt.Sprintf("two/%s/d", b.Config.Reports["two"].Hash())
		b.OK(b.Redis.HSet(ctx, s.Keys.Job(id), "job", fmt.Sprintf("1 RUN 1 0 %d 1/2 0 |b| %d %d %s", now.Add(time.Hour).UnixMilli(), now.UnixMilli(), now.UnixMilli(), of),
			"parameters", "{}", "listeners", "a,b", "a:found", "at=1 ms=1 chunks=0 rows=0 bytes=0 columns=[]").Err())
		if stream {
			b.OK(b.Redis.XAdd(ctx, &redis.XAddArgs{Stream: s.Keys.Task("b"), Values: []string{"id", id, "attempt", "1"}}).Err())
		}
	}
	for i := range 20 {
		run(i != 10) // which is lost
	}
	b.OK(b.Redis.XGroupCreate(ctx, s.Keys.Task("b"), scripts.Group, "0").Err())
	b.OK(b.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "w", Streams: []string{s.Keys.Task("b"), ">"}, Count: 8}).Err())
	ids = append(ids, b.Insert(), "999999") // not pushed, and none
	b.Add(s.Keys.Delayed, redis.Z{Score: installation.In(time.Hour), Member: ids[20]})
	ids = append(ids, b.Insert())

	counted := b.Redis
	reads := &readCounter{}
	counted.AddHook(reads)
	got, err := All(ctx, b.in, ids)
	b.OK(err)
	streams := reads.n.Load()
	kinds := map[Kind]int{}
	for i, id := range ids {
		want, err := Of(ctx, b.in, id)
		b.OK(err)
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
	found, err := OfKind(ctx, b.in, ids, KindQueued, 5)
	if b.OK(err); len(found) != 5 || !slices.ContainsFunc(found, func(v Verdict) bool { return v.ID == ids[8] }) {
		t.Errorf("%+v", found)
	}
}

// TestWhyNamesAKeyOfAnotherType: a job cannot start because the stream of one of its tasks is something else.
func TestWhyNamesAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	b := setup(t, "")
	ctx, s, id := t.Context(), b.Scripts.First(), b.Insert()
	b.OK(b.Redis.Set(ctx, s.Keys.Task("a"), "x", 0).Err())
	b.Add(s.Keys.Delayed, redis.Z{Score: installation.In(time.Minute), Member: id + "/1/@trigger"})
	v, err := Of(ctx, b.in, id)
	b.OK(err)
	if want := "the key " + s.Keys.Task("a") + " is a string, not a stream"; v.Kind != KindWrongType || !strings.Contains(v.Summary, want) {
		t.Errorf("%s: %s, not %s", v.Kind, v.Summary, want)
	}
	_, err = b.DB.ExecContext(ctx, "UPDATE file_download_record SET status = 'SUCCESS', file = 'f' WHERE id = ?", id)
	b.OK(err)
	if v, err := Of(ctx, b.in, id); err != nil || v.Kind != KindEnded {
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
