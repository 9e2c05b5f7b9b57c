package operate

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestPush appends each id to the stream of its own partition.
func TestPush(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := []string{"1", "2", "3", "4", "5", "6", "7"}
	b.ok(b.Jobs.Push(acting(t), ids...))
	var got []string
	for _, s := range b.all {
		for _, e := range b.redis.XRange(acting(t), s.Keys.Jobs, "-", "+").Val() {
			id, _ := e.Values["id"].(string)
			if b.all.Of(id) != s {
				t.Errorf("%s is in %s", id, s.Keys.Jobs)
			}
			got = append(got, id)
		}
	}
	if slices.Sort(got); !slices.Equal(got, ids) {
		t.Errorf("%q", got)
	}
}

// TestRetry runs a record with a final status again, and removes it from the dead jobs.
func TestRetry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	failed, running, gone := b.insert("slow"), b.insert("slow"), b.insert("slow")
	b.kill(failed)
	b.exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", running)
	b.exec("UPDATE file_download_record SET status = 'FAILED', report = 'gone' WHERE id = ?", gone)
	retry := func(id string) error {
		_, err := b.Jobs.Retry(acting(t), id, job.AnyAge)
		return err
	}
	b.ok(retry(failed))
	if r, err := b.inspect.Jobs.Record(acting(t), failed); err != nil || r.Status != report.Pending {
		t.Errorf("%+v %v", r, err)
	}
	b.refused(retry(running), fault.Refused)
	b.refused(retry(gone), fault.Refused)
	if dead, pushed := b.dead(), b.pushed(); len(dead) != 0 || pushed != 1 {
		t.Errorf("%q are dead, %d are pushed", dead, pushed)
	}
}

// TestCheck refuses ids whose records cannot start.
func TestCheck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pending, final, odd, gone := b.insert("slow"), b.insert("slow"), b.insert("slow"), b.insert("slow")
	b.exec("UPDATE file_download_record SET status = 'FAILED' WHERE id = ?", final)
	b.exec("UPDATE file_download_record SET status = 'odd' WHERE id = ?", odd)
	b.exec("UPDATE file_download_record SET report = 'gone' WHERE id = ?", gone)
	b.ok(b.Jobs.Check(acting(t), []string{pending}))
	for _, id := range []string{final, odd, gone} {
		b.refused(b.Jobs.Check(acting(t), []string{pending, id}), fault.Refused)
	}
}

// TestPauses pauses listeners and reports in every partition, and resumes them.
func TestPauses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := acting(t)
	first, err := b.Pauses.Pause(ctx, "listener/one", Terms{})
	b.ok(err)
	again, err := b.Pauses.Pause(ctx, "listener/one", Terms{Reason: "slow", For: time.Hour})
	left := time.Duration(0)
	if again.Until != nil {
		left = time.Until(*again.Until)
	}
	if b.ok(err); !again.Since.Equal(first.Since) || again.Who != "ann" || again.Reason != "slow" || left < 59*time.Minute {
		t.Errorf("%+v, first %+v", again, first)
	}
	b.ok(b.Pauses.Explain(ctx, "listener/one", " its disk is full "))
	held, err := b.all.Holds(ctx)
	if one := held["listener/one"]; err != nil || one.Reason != "its disk is full" || one.Who != "ann" || one.Until.UnixMilli() != again.Until.UnixMilli() || !one.Since.Equal(first.Since) {
		t.Errorf("%+v, not %+v: %v", one, again, err)
	}
	if acts := b.acts(); acts[len(acts)-1] != "pause reason listener/one 1: done its disk is full" {
		t.Errorf("%q", acts)
	}
	b.refused(b.Pauses.Explain(ctx, "report/slow", "none"), fault.NotFound)
	_, err = b.Pauses.Pause(ctx, "report/slow", Terms{})
	b.ok(err)
	source, err := b.Pauses.Pause(ctx, "source/db", Terms{Until: time.Now().Add(time.Hour)})
	if b.ok(err); len(source.Reports) == 0 {
		t.Errorf("%+v", source)
	}
	for _, name := range []string{"listener/none", "listener/service", "report/none", "source/none", "database/db"} {
		_, err := b.Pauses.Pause(ctx, name, Terms{})
		b.refused(err, fault.Input)
	}
	_, err = b.Pauses.Pause(ctx, "report/slow", Terms{Until: time.Now().Add(-time.Second)})
	b.refused(err, fault.Input)
	if n := b.total(func(k *scripts.Keys) *redis.IntCmd { return b.redis.HLen(ctx, k.Holds) }); n != 3*len(b.all) {
		t.Errorf("%d members are paused", n)
	}
	for _, id := range []string{"1", "2", "3"} {
		b.ok(b.all.Of(id).Gate.Park(ctx, "slow", id))
	}
	if was, released, err := b.Pauses.Resume(ctx, "report/slow"); !was || released != 3 || err != nil || b.pushed() != 3 {
		t.Errorf("%v %d %v", was, released, err)
	}
	for _, want := range []bool{true, false} {
		if was, _, err := b.Pauses.Resume(ctx, "listener/one"); was != want || err != nil {
			t.Errorf("%v %v", was, err)
		}
	}
}
