package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestAFullRedisDrains: 24 jobs of several megabytes do not fit into a Redis of 32 MB at once. They
// wait, and all of them succeed.
func TestAFullRedisDrains(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, []string{"--maxmemory", "32mb"}, `
  big:
    retry: {delay: 200ms}
    listeners: {one: {database: db, query: "SELECT seq AS k, REPEAT('x', 100) AS v FROM seq_1_to_30000"}}
`, "limits: {lease: 2s, recover_after: 5m}")
	var ids []string
	for range 24 {
		ids = append(ids, s.Records.Insert("big", ""))
	}
	s.Serve(s.File)
	s.Jobs.Push(ids...)
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
	preempted := s.Jobs.Events("preempted")
	full := 0
	for _, id := range ids {
		n, counted := s.Jobs.Retries(id, "one")
		if full += n + preempted[id]; counted != 0 {
			t.Errorf("job %s used %d tries", id, counted)
		}
	}
	if full == 0 {
		t.Error("Redis was never full: the test is not what it says")
	}
	t.Logf("%d times a task met a full Redis", full)
}

// fullRows returns how many rows each listener of a large job reads: FULL_ROWS, or 250,000.
func fullRows(t *testing.T) int {
	t.Helper()
	rows, err := strconv.Atoi(cmp.Or(os.Getenv("FULL_ROWS"), "250000"))
	if err != nil || rows < 100_000 {
		t.Fatalf("FULL_ROWS: %d %v", rows, err)
	}
	return rows
}

// largeReports has a report with two listeners of that many rows, which take about 125 bytes in Redis for
// a row of the file, and one of a few rows.
func largeReports(rows int) string {
	return fmt.Sprintf(`
  large:
    retry: {delay: 200ms}
    listeners:
      a: {database: db, query: "SELECT seq AS k, REPEAT('x', 50) AS a FROM seq_1_to_%[1]d"}
      b: {database: db, query: "SELECT seq AS k, REPEAT('y', 50) AS b FROM seq_1_to_%[1]d"}
    join: {key: k}
  small:
    retry: {delay: 200ms}
    listeners: {s: {database: db, query: "SELECT seq AS k FROM seq_1_to_10"}}
`, rows)
}

// TestTwoLargeJobsOnAFullRedis: a Redis that has room for one of them.
func TestTwoLargeJobsOnAFullRedis(t *testing.T) {
	t.Parallel()
	largeJobs(t, 2, 1)
}

// TestFourLargeJobsOnAFullRedis: a Redis that has room for one of them.
func TestFourLargeJobsOnAFullRedis(t *testing.T) {
	t.Parallel()
	largeJobs(t, 4, 1)
}

// TestLargeJobsOfPartitionsOnAFullRedis: two partitions share a Redis that has room for one of four.
func TestLargeJobsOfPartitionsOnAFullRedis(t *testing.T) {
	t.Parallel()
	largeJobs(t, 4, 2)
}

// largeJobs checks that jobs of which one fits into Redis go on one after another, the oldest first,
// while small jobs pass.
func largeJobs(t *testing.T, jobs, partitions int) {
	rows := fullRows(t)
	memory := strconv.Itoa(16<<20 + 190*rows) // one job fits, and two do not
	s := e2e.NewAloneIn(t, partitions, []string{"--maxmemory", memory}, largeReports(rows),
		"limits: {lease: 2s, recover_after: 5m, job_bytes: 4GB}")
	var ids, small []string
	for range jobs {
		ids = append(ids, s.Records.Insert("large", ""))
	}
	for range 5 {
		small = append(small, s.Records.Insert("small", ""))
	}
	s.Serve(s.File)
	began := time.Now()
	s.Jobs.Push(ids...)
	s.Eventually("Redis was full", func() bool {
		return slices.ContainsFunc(s.Partitions, func(p *scripts.Scripts) bool {
			return s.Redis.Exists(t.Context(), p.Keys.Full).Val() == 1
		})
	})
	s.Jobs.PushAgain(small...) // as a service does that a full Redis refuses
	for _, v := range s.Jobs.Wait(small...) {
		if v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}
	t.Logf("small jobs after %v", time.Since(began))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Duration(rows)*time.Millisecond/4)
	defer cancel()
	views, err := (&backend{s.Process}).await(ctx, ids, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views {
		if v.Status != report.Success || v.Rows == nil || *v.Rows != int64(rows) {
			t.Errorf("%+v", v)
		}
		t.Logf("%s ended as attempt %d after %v", v.ID, v.Attempt, time.Since(began))
	}
	s.Jobs.Idle()
}

// TestAJobLargerThanRedis fails at once, with the arithmetic.
func TestAJobLargerThanRedis(t *testing.T) {
	t.Parallel()
	rows := fullRows(t)
	s := newStackAlone(t, []string{"--maxmemory", strconv.Itoa(16<<20 + 50*rows)}, largeReports(rows), "limits: {lease: 2s, recover_after: 5m, job_bytes: 4GB}")
	id := s.Records.Insert("large", "")
	s.Serve(s.File)
	s.Jobs.Push(id)
	v := s.Jobs.Wait(id)[0]
	if v.Status != report.Failed || !strings.Contains(v.Error, "does not fit into Redis") || !strings.Contains(v.Error, "do not fit into maxmemory") || v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
	t.Log(v.Error)
	s.Jobs.Idle()
}

// TestAPreemptedJob starts again as the next attempt, after an older one that runs; it can be
// cancelled, and fails if it waits for longer than its deadline.
func TestAPreemptedJob(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, `
  held:
    timeout: 10m
    listeners: {one: {database: db, query: "SELECT id AS k FROM {schema}.held"}}
`, "limits: {lease: 2s}")
	s.Records.Exec("CREATE TABLE held (id INT PRIMARY KEY)")
	s.Records.Exec("INSERT INTO held VALUES (1)")
	release := hold(s.Stack)
	s.Serve(s.File)
	memory, keys := s.Partitions.First().Memory, s.Partitions.First().Keys
	var ids []string
	for range 4 {
		id := s.Records.Insert("held", "")
		s.Jobs.Push(id)
		s.States.Taken(id)
		ids = append(ids, id)
	}
	older, again, cancelled, late := ids[0], ids[1], ids[2], ids[3]
	for _, id := range ids[1:] {
		if outcome, err := memory.Preempt(t.Context(), scripts.Contender{ID: id, Attempt: 1}, scripts.Contender{ID: older, Since: time.UnixMilli(1)}); err != nil || outcome != scripts.OK {
			t.Fatal(outcome, err)
		}
	}
	s.because(again, why.KindRedisFull, "made room for an older one")
	if err := s.Redis.ZAdd(t.Context(), keys.Contenders, redis.Z{Member: late, Score: float64(time.Now().Add(-11 * time.Minute).UnixMilli())}).Err(); err != nil {
		t.Fatal(err)
	}
	s.must("cancel "+cancelled, "cancelled")
	v := s.Jobs.Wait(cancelled, late)
	if v[0].Status != report.Cancelled || v[1].Status != report.Failed || !strings.Contains(v[1].Error, "deadline passed while the job waited for memory in Redis") {
		t.Errorf("%+v", v)
	}
	// The older job runs, and Redis counts as full: the other one polls.
	s.Eventually("it waits for the older one", func() bool { return s.Redis.ZScore(t.Context(), keys.Delayed, again).Err() == nil })
	if n := s.Records.Number("SELECT attempt FROM file_download_record WHERE id = " + again); n != 1 {
		t.Errorf("it has attempt %d while an older one runs", n)
	}
	release()
	for i, v := range s.Jobs.Wait(older, again) {
		if v.Status != report.Success || v.Attempt != int64(i+1) {
			t.Errorf("%+v", v)
		}
	}
	s.Jobs.Idle()
	if left := s.Redis.ZRange(t.Context(), keys.Contenders, 0, -1).Val(); len(left) > 0 {
		t.Errorf("%v still compete", left)
	}
}
