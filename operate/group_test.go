package operate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// of inserts a PENDING record of slow for a customer.
func (b *bench) of(customer string) string {
	b.Helper()
	id, err := b.records.Insert(b.Context(), record.Request{
		Report: "slow", Parameters: fmt.Appendf(nil, `{"customer": %q}`, customer),
	})
	b.ok(err)
	return id
}

// statuses returns the numbers of records by their status.
func (b *bench) statuses() map[report.Status]int {
	b.Helper()
	all := map[report.Status]int{}
	records, err := b.records.List(b.Context(), record.Filter{}, 1000)
	b.ok(err)
	for _, r := range records {
		all[r.Status]++
	}
	return all
}

// TestCancelGroup cancels the jobs of a customer, and of them only those that have not started.
func TestCancelGroup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine, other, runs := []string{b.of("7"), b.of("7")}, b.of("77"), b.of("7")
	b.exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", runs)
	if _, err := cancel(t.Context(), b.Jobs, runs, "it waited when it was selected", true); !errors.Is(err, fault.Refused) {
		t.Error(err)
	}
	g := Group{Report: "slow", Parameters: map[string]string{"customer": "7"}, Waiting: true, DryRun: true}
	cancel := func(want Swept, statuses map[report.Status]int) {
		t.Helper()
		got, err := b.Groups.Cancel(acting(t), g, "not needed")
		if err != nil || got.Would != want.Would || got.Done != want.Done || len(got.Left) > 0 ||
			got.ByReport["slow"] != want.Would+want.Done {
			t.Errorf("%+v %v", got, err)
		}
		if got := b.statuses(); !maps.Equal(got, statuses) {
			t.Errorf("%v, not %v", got, statuses)
		}
	}
	cancel(Swept{Would: 2}, map[report.Status]int{report.Pending: 3, report.Processing: 1})
	g.DryRun = false
	cancel(Swept{Done: 2}, map[report.Status]int{report.Pending: 1, report.Processing: 1, report.Cancelled: 2})
	cancel(Swept{}, map[report.Status]int{report.Pending: 1, report.Processing: 1, report.Cancelled: 2})
	g.Waiting = false
	cancel(Swept{Done: 1}, map[report.Status]int{report.Pending: 1, report.Cancelled: 3})
	if r, err := b.inspect.Jobs.Record(t.Context(), other); err != nil || r.Status != report.Pending {
		t.Errorf("%+v %v", r, err)
	}
	slices.Sort(mine)
	got := b.acts()
	slices.Sort(got[:2])
	want := []string{
		"cancel " + mine[0] + " 1: done waiting jobs of slow with customer=7: not needed",
		"cancel " + mine[1] + " 1: done waiting jobs of slow with customer=7: not needed",
		"cancel  0: done waiting jobs of slow with customer=7: not needed",
		"cancel " + runs + " 1: done open jobs of slow with customer=7: not needed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nnot:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPostponeGroup: delayed jobs are due later, and the answer says why others are not.
func TestPostponeGroup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, at := acting(t), time.Now().Add(time.Hour)
	due, runs := b.of("7"), b.of("7")
	b.ok(b.Delayed.Add(ctx, []string{due}, at))
	b.exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", runs)
	score := func() int64 { return int64(b.redis.ZScore(ctx, b.all.Of(due).Keys.Delayed, due).Val()) }
	g := Group{Parameters: map[string]string{"customer": "7"}, DryRun: true}
	for _, want := range []int64{at.UnixMilli(), at.Add(time.Minute).UnixMilli()} {
		got, err := b.Groups.Postpone(ctx, g, time.Minute)
		if err != nil || got.Would+got.Done != 1 || (got.Would == 1) != g.DryRun ||
			got.Left["ID is PROCESSING: only a job that has not started can be delayed"] != 1 {
			t.Errorf("%+v %v", got, err)
		}
		if score() != want {
			t.Errorf("due at %d, not %d", score(), want)
		}
		g.DryRun = false
	}
	if got := b.acts(); !slices.Equal(got[1:], []string{"delay " + due + " 1: done open jobs with customer=7: by 1m0s"}) {
		t.Errorf("%q", got)
	}
}

// TestPostponeGroupChecksOnly: a dry run leaves a job in its queue.
func TestPostponeGroupChecksOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.of("7")
	_, err := b.Pauses.Pause(acting(t), "report/slow", Terms{})
	b.ok(err)
	b.ok(b.all.Of(id).Gate.Park(t.Context(), "slow", id))
	got, err := b.Groups.Postpone(t.Context(), Group{Report: "slow", DryRun: true}, time.Hour)
	if err != nil || got.Would != 1 {
		t.Errorf("%+v %v", got, err)
	}
	if n := b.total(func(k *scripts.Keys) *redis.IntCmd { return b.redis.ZCard(t.Context(), k.Delayed) }); n != 0 {
		t.Errorf("%d are delayed", n)
	}
}

// TestGroupIsBounded: more jobs than one act can change are refused, and nothing changes.
func TestGroupIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(`INSERT INTO file_download_record (report, parameters) SELECT 'slow', '{}' FROM seq_1_to_100001`)
	_, err := b.Groups.Cancel(acting(t), Group{Report: "slow"}, "")
	b.refused(err, fault.Refused)
	if got := b.acts(); !slices.Equal(got, []string{"cancel  0: refused open jobs of slow: "}) {
		t.Errorf("%q", got)
	}
}
