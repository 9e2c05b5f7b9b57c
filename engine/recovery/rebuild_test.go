package recovery_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

const lossLimits = "limits: {recover_after: 2s, lease: 1s, running_jobs: 20}"

// testLoss makes Redis lose its memory while jobs wait, run and have ended, ids are delayed, and
// timers are set.
func testLoss(t *testing.T, s *e2e.Stack, lose func(*e2e.Stack)) {
	s.Records.Audit()
	for range 2 {
		s.Serve(s.File)
	}
	ctx := t.Context()
	now := s.Redis.Time(ctx).Val()
	due := now.Add(20 * time.Second)
	later := []string{s.Records.Insert("slow", ""), s.Records.Insert("slow", "")}
	for _, id := range later {
		s.Redis.ZAdd(ctx, s.Partitions.First().Keys.Delayed, redis.Z{Score: float64(due.UnixMilli()), Member: id})
	}
	tomorrow := float64(now.Add(24 * time.Hour).UnixMilli())
	s.Redis.ZAdd(ctx, s.Partitions.First().Keys.Timers, redis.Z{Score: tomorrow, Member: "send_message-42-welcome"})
	s.Redis.ZAdd(ctx, s.Partitions.First().Keys.PausedTimers, redis.Z{Score: tomorrow, Member: "paused"})
	s.Records.InSnapshot(4)
	var ids []string
	for range 80 {
		ids = append(ids, s.Records.Insert("slow", `{"seconds": 0.3}`))
	}
	s.Jobs.Push(ids...)
	s.Eventually("some have ended, some run and some wait", func() bool {
		return s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'") >= 10 &&
			s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PROCESSING'") > 0 &&
			s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PENDING'") > 2
	})
	lose(s)
	s.Eventually("timers are back", func() bool {
		return s.Redis.ZScore(ctx, s.Partitions.First().Keys.Timers, "send_message-42-welcome").Val() == tomorrow &&
			s.Redis.ZScore(ctx, s.Partitions.First().Keys.PausedTimers, "paused").Val() == tomorrow
	})
	s.Jobs.CheckFinals(append(ids, later...))
	for _, id := range later {
		if at := s.Jobs.Started(id); at.Before(due) {
			t.Errorf("job %s was started %v before it was due", id, due.Sub(at))
		}
	}
	t.Logf("%d of %d needed a second attempt", s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE attempt > 1"), len(ids))
}

// TestFlushAll: FLUSHALL in the middle of a run loses no job.
func TestFlushAll(t *testing.T) {
	t.Parallel()
	testLoss(t, e2e.New(t, e2e.Slow, lossLimits), func(s *e2e.Stack) { s.Server.FlushAll() })
}

// TestFlushAllWithRecordsInPostgres: FLUSHALL loses no job of records in PostgreSQL.
func TestFlushAllWithRecordsInPostgres(t *testing.T) {
	t.Parallel()
	testLoss(t, e2e.NewAlone(t, nil, e2e.Slow, lossLimits, e2e.InPostgres(t)), func(s *e2e.Stack) { s.Server.FlushAll() })
}

// TestPartitionsWithRecordsInPostgres: every partition starts its own records again.
func TestPartitionsWithRecordsInPostgres(t *testing.T) {
	t.Parallel()
	s := e2e.NewAloneIn(t, 3, nil, e2e.Slow, lossLimits, e2e.InPostgres(t))
	s.Records.Audit()
	s.Serve(s.File)
	s.Jobs.Succeed("slow", "")
	ids := []string{"1"}
	for range 40 {
		ids = append(ids, s.Records.Insert("slow", "")) // nobody pushes them
	}
	s.Server.FlushAll()
	s.Jobs.CheckFinals(ids)
}

// TestRedisIsReplaced: replacing Redis by an empty server in the middle of a run loses no job.
func TestRedisIsReplaced(t *testing.T) {
	t.Parallel()
	testLoss(t, e2e.NewAlone(t, nil, e2e.Slow, lossLimits), func(s *e2e.Stack) {
		dir := s.Server.Folder()
		s.Server.Kill()
		if err := os.RemoveAll(filepath.Join(dir, "appendonlydir")); err != nil {
			s.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.rdb"))
		if err != nil {
			s.Fatal(err)
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				s.Fatal(err)
			}
		}
		if err := s.Server.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
	})
}

// TestRedisIsRestoredFromAnOlderCopy: an older copy has the same epoch, but other jobs than those
// that run.
func TestRedisIsRestoredFromAnOlderCopy(t *testing.T) {
	t.Parallel()
	s := e2e.NewAlone(t, nil, e2e.Slow, "limits: {recover_after: 2s, lease: 1s}")
	s.Records.Audit()
	s.Roles.Rebuilding(s.File, nil)
	old := s.Records.Insert("slow", `{"seconds": 2}`)
	s.Jobs.Push(old)
	s.Eventually("the first job runs", func() bool { return s.Jobs.Status(old) == job.StatusRun && s.Jobs.Reads("one") == 1 })
	restart := s.Server.Copy()
	s.Jobs.Wait(old)
	ids := []string{old}
	for range 5 {
		ids = append(ids, s.Records.Insert("slow", `{"seconds": 1}`))
	}
	s.Jobs.Push(ids[1:]...)
	s.Eventually("the others run", func() bool { return s.Jobs.Status(ids[5]) == job.StatusRun && s.Jobs.Reads("one") > 0 })
	restart()
	if s.Jobs.Status(old) == "SUCCESS" || s.Jobs.Status(ids[5]) != "" {
		t.Fatal("this is no older copy")
	}
	s.Jobs.CheckFinals(ids)
	s.Jobs.Idle()
}

// TestTimersOverARestartOfRedis: Fanfold stops, and Redis restarts from an older copy. Timers and
// due times that the copy lacks are restored; those that were removed just before the restart are
// not.
func TestTimersOverARestartOfRedis(t *testing.T) {
	t.Parallel()
	s := e2e.NewAlone(t, nil, e2e.Slow, "limits: {recover_after: 2s, lease: 1s}")
	ctx := t.Context()
	tomorrow := float64(time.Now().Add(24 * time.Hour).UnixMilli())
	add := func(set, member string) { s.Redis.ZAdd(ctx, set, redis.Z{Score: tomorrow, Member: member}) }
	has := func(set string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, s.Redis.ZRange(ctx, set, 0, -1).Val()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", set, diff)
		}
	}
	delayed, timers, paused := s.Partitions.First().Keys.Delayed, s.Partitions.First().Keys.Timers, s.Partitions.First().Keys.PausedTimers
	stop := s.Roles.Rebuilding(s.File, nil)
	add(timers, "a")
	s.Records.InSnapshot(1)
	restart := s.Server.Copy()
	add(timers, "b")
	add(paused, "c")
	add(delayed, s.Records.Insert("slow", ""))
	later := s.Records.Insert("slow", "")
	add(delayed, later)
	s.Records.InSnapshot(5)
	stop()
	restart()
	has(timers, "a")
	stop = s.Roles.Rebuilding(s.File, nil)
	s.Eventually("due times are back", func() bool { return s.Redis.ZCard(ctx, delayed).Val() == 2 })
	s.Eventually("a snapshot is made", func() bool {
		add(timers, "d")
		return s.Records.SnapshotSize() == 6
	})
	has(timers, "a", "b", "d")
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE attempt > 0"); n > 0 {
		t.Errorf("%d records that are due tomorrow were started", n)
	}
	has(paused, "c")
	stop()

	s.Redis.ZRem(ctx, timers, "a")
	s.Redis.ZRem(ctx, paused, "c")
	s.Redis.ZRem(ctx, delayed, later)
	s.Server.Copy()()
	s.Roles.Rebuilding(s.File, nil)
	s.Records.InSnapshot(3)
	has(timers, "b", "d")
	has(paused, []string{}...)
}

// TestAnIDThatIsNeverPushed: an id that is never pushed is started after the grace time, unless it
// is excluded by the filter, of an unknown report, or delayed.
func TestAnIDThatIsNeverPushed(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {recover_after: 3s}")
	config := s.Write("filtered.yaml", e2e.Slow, "limits: {recover_after: 3s}")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	filtered := strings.Replace(string(text), "records: {database: db}", "records: {database: db, filter: \"error IS NULL OR error <> 'other'\"}", 1)
	if err := os.WriteFile(config, []byte(filtered), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines lockedLog
	s.Roles.Rebuilding(config, func(o *recovery.Options) {
		o.PassEvery = 200 * time.Millisecond
		o.Log = slog.New(slog.NewTextHandler(&lines, nil))
	})
	later, stranger, other, waiting := s.Records.Insert("slow", ""), s.Records.Insert("no-such-report", ""), s.Records.Insert("slow", ""), s.Records.Insert("slow", "")
	s.Records.Exec("UPDATE file_download_record SET error = 'other' WHERE id = ?", other)
	ctx := t.Context()
	tomorrow := float64(time.Now().Add(24 * time.Hour).UnixMilli())
	s.Redis.ZAdd(ctx, s.Partitions.First().Keys.Delayed, redis.Z{Score: tomorrow, Member: later},
		redis.Z{Score: tomorrow, Member: job.Later{ID: waiting, Attempt: 2, Step: job.StepTrigger}.String()})
	bad := s.Records.Insert("slow", `{"seconds": "never"}`)
	id := s.Records.Insert("slow", "")
	inserted := s.Redis.Time(ctx).Val()
	s.Files.Content(s.Jobs.Wait(id)[0])
	if v := s.Jobs.Wait(bad)[0]; v.Status != report.Failed || !strings.Contains(v.Error, "never") {
		t.Errorf("%+v", v)
	}
	if at := s.Jobs.Started(id); at.Sub(inserted) < 2*time.Second {
		t.Errorf("started after %v: the grace time is 3 s", at.Sub(inserted))
	}
	s.Eventually("the unknown report is counted", func() bool { return strings.Contains(lines.String(), "skipped=1") })
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PENDING' AND attempt = 0 AND id IN (?, ?, ?, ?)", later, stranger, other, waiting); n != 4 {
		t.Errorf("%d of 4 are left alone", n)
	}
	if reasons := s.Jobs.Quarantined(); len(reasons) > 0 {
		t.Errorf("quarantined: %v", reasons)
	}
}

// lockedLog is a log that a test reads while it is written.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

var _ io.Writer = (*lockedLog)(nil)

// TestALongBacklogIsNotDoubled: an id that waits in the stream and is also started by a rebuild
// runs once.
func TestALongBacklogIsNotDoubled(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {recover_after: 1s, running_jobs: 4}")
	s.Records.Audit()
	var ids []string
	for range 60 {
		ids = append(ids, s.Records.Insert("slow", `{"seconds": 0.1}`))
	}
	s.Jobs.Push(ids...)
	s.Records.Exec("UPDATE file_download_record SET updated_at = NOW(6) - INTERVAL 1 DAY")
	for range 2 {
		s.Roles.Rebuilding(s.File, func(o *recovery.Options) { o.PassEvery = 100 * time.Millisecond })
	}
	s.Jobs.CheckFinals(ids)
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE attempt <> 1"); n != 0 {
		t.Errorf("%d of %d records were started more than once", n, len(ids))
	}
	s.Jobs.Idle()
	for id, n := range s.Jobs.Events("started") {
		if n != 1 {
			t.Errorf("job %s was started %d times", id, n)
		}
	}
}

// pagedRecords records the pages of a rebuild.
type pagedRecords struct {
	recovery.Records
	mu      sync.Mutex
	pages   int
	largest int
}

func (r *pagedRecords) Startable(ctx context.Context, after string, grace time.Duration, most int) ([]engine.Record, error) {
	page, err := r.Records.Startable(ctx, after, grace, most)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pages++
	r.largest = max(r.largest, len(page))
	return page, err
}

// TestARebuildOfALargeTable: a rebuild reads the table page by page and keeps to its rate.
func TestARebuildOfALargeTable(t *testing.T) {
	t.Parallel()
	const limits = "limits: {rebuild_per_second: 50, running_jobs: 500}"
	s := e2e.New(t, e2e.Slow, limits)
	s.Records.Audit()
	s.Records.Exec(`INSERT INTO file_download_record (report, status, updated_at) SELECT 'slow',
		IF(seq % 1000 = 0, 'PENDING', 'SUCCESS'), NOW(6) - INTERVAL IF(seq % 20000 = 0, 1, 9999) SECOND FROM seq_1_to_200000`)
	records := &pagedRecords{Records: s.Process.Records}
	s.Roles.Rebuilding(s.File, func(o *recovery.Options) { o.Records = records })
	s.Eventually("the old ones are done", func() bool { return s.Records.Number("SELECT COUNT(*) FROM finals") == 190 })
	first, last := s.Jobs.Started("1000"), s.Jobs.Started("199000")
	// 190 records in pages of 50: three pauses of a second between the pages.
	if took := last.Sub(first); took < 2*time.Second {
		t.Errorf("190 records in %v, at a rate of 50 a second", took)
	}
	if records.largest > 50 || records.pages > 30 {
		t.Errorf("%d pages of up to %d", records.pages, records.largest)
	}
	if n := s.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PENDING' AND attempt = 0"); n != 10 {
		t.Errorf("%d young ones are left alone, not 10", n)
	}
}

// TestWithoutTheTables: without Fanfold's tables, jobs are rebuilt all the same, and the log asks
// once for fanfold migrate.
func TestWithoutTheTables(t *testing.T) {
	t.Parallel()
	s := e2e.New(t, e2e.Slow, "limits: {recover_after: 1s, lease: 1s}")
	s.Records.Audit()
	s.Records.Exec("DROP TABLE fanfold_meta, fanfold_snapshot")
	var lines lockedLog
	s.Roles.Rebuilding(s.File, func(o *recovery.Options) { o.Log = slog.New(slog.NewTextHandler(&lines, nil)) })
	id := s.Records.Insert("slow", `{"seconds": 1}`)
	s.Jobs.Push(id)
	s.Eventually("the job runs", func() bool { return s.Jobs.Reads("one") == 1 })
	s.Server.FlushAll()
	s.Jobs.CheckFinals([]string{id})
	if n := strings.Count(lines.String(), "create the tables with fanfold migrate"); n != 1 {
		t.Errorf("said %d times:\n%s", n, lines.String())
	}
}

// TestAWalkFollowsOneOfAnotherProcess: if the process that made the last walk dies, another process
// makes the next one when the period since that walk has passed, and not a whole period after its
// own check.
func TestAWalkFollowsOneOfAnotherProcess(t *testing.T) {
	t.Parallel()
	const every = 6 * time.Second
	s := e2e.New(t, e2e.Slow)
	key := s.Partitions.First().Keys.Lock("rebuilt")
	began := time.Now()
	s.Roles.Rebuilding(s.File, func(o *recovery.Options) { o.PassEvery = every })
	s.Eventually("the walk of the start", func() bool { return s.Redis.Exists(t.Context(), key).Val() == 1 })
	// As if another process had made a walk, so that the first check of this one is too early.
	ends := began.Add(every + every/12)
	s.Redis.Set(t.Context(), key, "another", time.Until(ends))
	s.Eventually("this process walks", func() bool {
		who, err := s.Redis.Get(t.Context(), key).Result()
		return err == nil && who != "another"
	})
	if late := time.Since(ends); late > every/2 {
		t.Errorf("it came %v after its time, with a period of %v", late, every)
	}
}
