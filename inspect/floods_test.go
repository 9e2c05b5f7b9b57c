package inspect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/installation"
	"github.com/fanfold/fanfold/record"
)

// TestFloods: every value of a parameter has the jobs that wait, run and failed, and what the running ones take.
func TestFloods(t *testing.T) {
	t.Parallel()
	b := setup(t, `  many: {parameters: {customer: {type: integer, list: true}}, listeners: {c: {database: db, query: "SELECT 1 AS k WHERE 1 IN (:customer)"}}}
`)
	ctx, k := t.Context(), b.Keys()
	add := func(report, status, parameters string) string {
		t.Helper()
		id, err := b.Records.Insert(ctx, record.Request{Report: report, Parameters: []byte(parameters)})
		b.OK(err)
		b.Exec("UPDATE file_download_record SET status = ? WHERE id = ?", status, id)
		return id
	}
	runs := func(id string, bytes int, fields ...any) {
		t.Helper()
		line := fmt.Sprintf("1 RUN 1 1 9999999999999 0/2 %d |a|b| 0 1 two/d/p", bytes)
		b.OK(b.Redis.HSet(ctx, k.Job(id), append([]any{"job", line, "listeners", "a,b"}, fields...)...).Err())
		b.Add(k.Deadlines, redis.Z{Score: installation.In(time.Hour), Member: id})
	}
	one := add("two", "PROCESSING", `{"customer": "7"}`)
	ago := b.Redis.Time(ctx).Val().Add(-time.Hour).UnixMilli()
	runs(one, 700, "a:found", "at=1 ms=2500 rows=1", "b:taken", ago) // b waits for its retry
	two := add("two", "PROCESSING", `{"customer": "8"}`)
	runs(two, 50, "a:found", "at=1 ms=500 rows=1", "b:taken", ago, "b:owner", "w")
	started := add("two", "PENDING", `{"customer": "8"}`) // its record was read before
	runs(started, 5)
	waiting := add("two", "PROCESSING", `{"customer": "9"}`)
	runs(waiting, 0, "a:taken", ago, "a:owner", "w", "a:pause", "slots one of the 2 slots of db")
	waits := add("many", "PENDING", `{"customer": [7, 9, 7]}`)
	add("two", "PROCESSING", `{"customer": "8"}`) // it has ended
	add("two", "FAILED", `{"customer": "7"}`)
	add("two", "SUCCESS", `{"customer": "7"}`)
	add("two", "PENDING", `{"other": "7"}`)
	b.Exec("UPDATE file_download_record SET updated_at = NOW() - INTERVAL 2 DAY WHERE id = ?", add("two", "FAILED", `{"customer": "7"}`))

	for report, want := range map[string][]Flood{
		"": {
			{Value: "7", Waiting: 1, Running: 1, Failed: 1, Bytes: 700, Seconds: 2.5, Queued: []string{waits}, Runs: []string{one}},
			{Value: "8", Running: 2, Bytes: 55, Seconds: 3600, Runs: []string{started, two}},
			{Value: "9", Waiting: 1, Running: 1, Queued: []string{waits}, Runs: []string{waiting}},
		},
		"many": {{Value: "7", Waiting: 1, Queued: []string{waits}}, {Value: "9", Waiting: 1, Queued: []string{waits}}},
	} {
		use, err := b.in.Jobs.Use(ctx, report, "customer")
		b.OK(err)
		running, err := b.in.Jobs.Running(ctx, 0)
		b.OK(err)
		got := use.Floods(running)
		for i, f := range got {
			if f.Value == "8" && f.Seconds >= 3600 && f.Seconds < 3700 {
				got[i].Seconds = 3600
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || use.Cut {
			t.Errorf("%q: %s %v", report, diff, use.Cut)
		}
	}
}

// TestReportsOfJobs names the reports of some jobs once each.
func TestReportsOfJobs(t *testing.T) {
	t.Parallel()
	u := Use{values: []record.Value{{ID: "1", Report: "b"}, {ID: "2", Report: "a"}, {ID: "3", Report: "b"}, {ID: "4", Report: "c"}}}
	if got := u.Reports([]string{"3", "2", "1"}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v", got)
	}
}
