package operate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// finishedAs returns status, attempt and reason of the finished events of a record.
func (b *bench) finishedAs(id string) (all []string) {
	b.Helper()
	for _, m := range b.redis.XRange(b.Context(), b.all.Of(id).Keys.Events, "-", "+").Val() {
		if m.Values["event"] == "finished" && m.Values["id"] == id {
			all = append(all, fmt.Sprint(m.Values["status"], " ", m.Values["attempt"], " ", m.Values["reason"]))
		}
	}
	return all
}

// TestCancelWhatDoesNotRun: a PENDING record is cancelled without a worker, also if it is delayed or
// waits for its report. A record that has ended, or whose file is being committed, is not cancelled.
func TestCancelWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := acting(t)
	pending, delayed, parked, done := b.insert("slow"), b.insert("slow"), b.insert("slow"), b.insert("slow")
	b.ok(b.Delayed.Add(ctx, []string{delayed}, time.Now().Add(time.Hour)))
	_, err := b.Pauses.Pause(ctx, "report/slow", Terms{})
	b.ok(err)
	b.ok(b.all.Of(parked).Gate.Park(ctx, "slow", parked))
	b.exec("UPDATE file_download_record SET status = 'SUCCESS' WHERE id = ?", done)
	for _, id := range []string{pending, delayed, parked} {
		if outcome, err := b.Jobs.Cancel(ctx, id, "not needed"); outcome != "cancelled" || err != nil {
			t.Errorf("%s: %s %v", id, outcome, err)
		}
		if got := b.finishedAs(id); !slices.Equal(got, []string{"CANCELLED 0 not needed"}) {
			t.Errorf("record %s has finished as %q", id, got)
		}
	}
	for name, n := range map[string]int{
		"delayed": b.total(func(k *scripts.Keys) *redis.IntCmd { return b.redis.ZCard(ctx, k.Delayed) }),
		"waiting": b.total(func(k *scripts.Keys) *redis.IntCmd { return b.redis.ZCard(ctx, k.Waiting("slow")) }),
	} {
		if n != 0 {
			t.Errorf("%d are %s", n, name)
		}
	}
	if outcome, err := b.Jobs.Cancel(ctx, pending, ""); outcome != "cancelled before" || err != nil {
		t.Errorf("%s %v", outcome, err)
	}
	_, err = b.Jobs.Cancel(ctx, done, "")
	b.refused(err, fault.Refused)
	_, err = b.Jobs.Cancel(ctx, "777", "")
	b.refused(err, engine.ErrNoRecord)

	late := b.insert("slow")
	b.exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", late)
	b.ok(b.redis.HSet(ctx, b.all.Of(late).Keys.Job(late), "job", "1 PUBLISHING 1 1 9999999999999 1/1 0 | 9999999999999 1 slow/d/p", "listeners", "one").Err())
	_, err = b.Jobs.Cancel(ctx, late, "")
	b.refused(err, fault.Refused)
	if r, err := b.inspect.Jobs.Record(ctx, late); err != nil || r.Status != report.Processing {
		t.Errorf("%+v %v", r, err)
	}
}

// TestCancelAgain: if a cancellation was interrupted after the record became CANCELLED, a second one
// writes the event, with the first reason, and has an engine delete the file of the lost attempt.
func TestCancelAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.insert("slow")
	b.exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", id)
	if ok, err := b.records.Cancel(acting(t), engine.Run{ID: id, Attempt: 1}, "the first reason"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if outcome, err := b.Jobs.Cancel(acting(t), id, "the second"); outcome != "cancelled before" || err != nil {
		t.Errorf("%s %v", outcome, err)
	}
	if got := b.finishedAs(id); !slices.Equal(got, []string{"CANCELLED 1 the first reason"}) {
		t.Errorf("it has finished as %q", got)
	}
	sent := b.redis.XRange(acting(t), b.all.Of(id).Keys.FanIn, "-", "+").Val()
	if len(sent) != 1 || sent[0].Values["id"] != id || sent[0].Values["attempt"] != "1" || sent[0].Values["report"] != "slow" {
		t.Errorf("%v", sent)
	}
}
