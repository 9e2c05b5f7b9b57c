package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// serveRebuilding runs all roles with a recovery whose options change may set.
func (s *stack) serveRebuilding(config string, change func(*recovery.Options)) (stop func()) {
	s.t.Helper()
	b := s.open(config)
	ctx, cancel := context.WithCancel(s.t.Context())
	log := slog.New(slog.NewTextHandler(testLog{s.t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var group errgroup.Group
	s.recover(ctx, &group, s.engine(ctx, &group, engine.Options{
		Redis: b.Blocking, Scripts: b.Partitions.First(), Records: b.Records,
		Reports: b.Config.Reports, Limits: b.Config.Limits, Consumer: process.ConsumerName(), Log: log,
	}, s.dirSink()), func(o *recovery.Options) {
		part := b.Records.Partition(0, 1)
		o.Records, o.Store, o.SnapshotEvery, o.Metrics, o.Log = part, part, 50*time.Millisecond, prometheus.NewRegistry(), log
		if change != nil {
			change(o)
		}
	})
	for _, role := range []string{"listeners", "scheduler"} {
		r, err := b.Role(ctx, role, process.ConsumerName(), slog.New(slog.DiscardHandler))
		if err != nil {
			s.t.Fatal(err)
		}
		group.Go(func() error { return r.Run(ctx) })
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := group.Wait(); err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(stop)
	return stop
}

// audit makes the database record every final status of a record.
func (s *stack) audit() {
	s.t.Helper()
	s.exec("CREATE TABLE finals (id BIGINT UNSIGNED, status VARCHAR(16), attempt INT)")
	s.exec(`CREATE TRIGGER final AFTER UPDATE ON file_download_record FOR EACH ROW
		INSERT INTO finals SELECT NEW.id, NEW.status, NEW.attempt FROM DUAL
		WHERE NEW.status IN ('SUCCESS', 'FAILED') AND OLD.status <> NEW.status`)
}

// checkFinals fails the test unless every record became SUCCESS exactly once.
func (s *stack) checkFinals(ids []string) {
	s.t.Helper()
	for _, v := range s.wait(ids...) {
		s.content(v)
	}
	if n := s.number("SELECT COUNT(*) FROM finals"); n != len(ids) {
		s.t.Errorf("%d records were given a final status %d times", len(ids), n)
	}
}

// inSnapshot waits until the snapshot has this number of members.
func (s *stack) inSnapshot(members int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%d are in the snapshot", members), func() bool { return s.snapshotSize() == members })
}

func (s *stack) snapshotSize() int {
	s.t.Helper()
	n, err := s.b.Records.SnapshotMembers(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// started returns the time of a job's first event started, by Redis's clock.
func (s *stack) started(id string) time.Time {
	s.t.Helper()
	for _, m := range s.b.Redis.XRange(s.t.Context(), s.b.Partitions.First().Keys.Events, "-", "+").Val() {
		if m.Values["id"] == id && m.Values["event"] == "started" {
			ms, _, _ := strings.Cut(m.ID, "-")
			n, _ := strconv.ParseInt(ms, 10, 64)
			return time.UnixMilli(n)
		}
	}
	s.t.Fatalf("job %s was not started", id)
	return time.Time{}
}

const lossLimits = "limits: {grace: 2s, lease: 1s, running_jobs: 20}"

// testLoss makes Redis lose its memory while jobs wait, run and have ended, ids are delayed, and
// timers are set.
func testLoss(t *testing.T, s *stack, lose func(*stack)) {
	s.audit()
	for range 2 {
		s.serve(s.config)
	}
	ctx := t.Context()
	now := s.b.Redis.Time(ctx).Val()
	due := now.Add(20 * time.Second)
	later := []string{s.insert("slow", ""), s.insert("slow", "")}
	for _, id := range later {
		s.b.Redis.ZAdd(ctx, s.b.Partitions.First().Keys.Delayed, redis.Z{Score: float64(due.UnixMilli()), Member: id})
	}
	tomorrow := float64(now.Add(24 * time.Hour).UnixMilli())
	s.b.Redis.ZAdd(ctx, s.b.Partitions.First().Keys.Timers, redis.Z{Score: tomorrow, Member: "send_message-42-welcome"})
	s.b.Redis.ZAdd(ctx, s.b.Partitions.First().Keys.PausedTimers, redis.Z{Score: tomorrow, Member: "paused"})
	s.inSnapshot(4)
	var ids []string
	for range 80 {
		ids = append(ids, s.insert("slow", `{"seconds": 0.3}`))
	}
	s.push(ids...)
	s.eventually("some have ended, some run and some wait", func() bool {
		return s.number("SELECT COUNT(*) FROM file_download_record WHERE status = 'SUCCESS'") >= 10 &&
			s.number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PROCESSING'") > 0 &&
			s.number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PENDING'") > 2
	})
	lose(s)
	s.eventually("timers are back", func() bool {
		return s.b.Redis.ZScore(ctx, s.b.Partitions.First().Keys.Timers, "send_message-42-welcome").Val() == tomorrow &&
			s.b.Redis.ZScore(ctx, s.b.Partitions.First().Keys.PausedTimers, "paused").Val() == tomorrow
	})
	s.checkFinals(append(ids, later...))
	for _, id := range later {
		if at := s.started(id); at.Before(due) {
			t.Errorf("job %s was started %v before it was due", id, due.Sub(at))
		}
	}
	t.Logf("%d of %d needed a second attempt", s.number("SELECT COUNT(*) FROM file_download_record WHERE attempt > 1"), len(ids))
}

// TestFlushAll: FLUSHALL in the middle of a run loses no job.
func TestFlushAll(t *testing.T) {
	t.Parallel()
	testLoss(t, newStack(t, oneReport, lossLimits), (*stack).flushAll)
}

// TestRedisIsReplaced: replacing Redis by an empty server in the middle of a run loses no job.
func TestRedisIsReplaced(t *testing.T) {
	t.Parallel()
	testLoss(t, newStackAlone(t, nil, oneReport, lossLimits), func(s *stack) {
		dir := s.redisDir()
		s.redis.Kill()
		if err := os.RemoveAll(filepath.Join(dir, "appendonlydir")); err != nil {
			s.t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.rdb"))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				s.t.Fatal(err)
			}
		}
		if err := s.redis.Start(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	})
}

// copyRedis copies the data of Redis and returns a function that restarts Redis from the copy.
func (s *stack) copyRedis() (restart func()) {
	s.t.Helper()
	if err := s.b.Redis.ConfigSet(s.t.Context(), "appendfsync", "always").Err(); err != nil {
		s.t.Fatal(err)
	}
	data, backup := filepath.Join(s.redisDir(), "appendonlydir"), s.t.TempDir()
	if err := os.CopyFS(backup, os.DirFS(data)); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		s.redis.Kill()
		if err := errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(backup)), s.redis.Start(s.t.Context())); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *stack) redisDir() string {
	s.t.Helper()
	dir := s.b.Redis.ConfigGet(s.t.Context(), "dir").Val()["dir"]
	if _, err := os.Stat(filepath.Join(dir, "appendonlydir")); err != nil {
		s.t.Fatal(err)
	}
	return dir
}

// TestRedisIsRestoredFromAnOlderCopy: an older copy has the same epoch, but other jobs than those
// that run.
func TestRedisIsRestoredFromAnOlderCopy(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, oneReport, "limits: {grace: 2s, lease: 1s}")
	s.audit()
	s.serveRebuilding(s.config, nil)
	old := s.insert("slow", `{"seconds": 2}`)
	s.push(old)
	s.eventually("the first job runs", func() bool { return s.status(old) == job.StatusRun && s.reads("one") == 1 })
	restart := s.copyRedis()
	s.wait(old)
	ids := []string{old}
	for range 5 {
		ids = append(ids, s.insert("slow", `{"seconds": 1}`))
	}
	s.push(ids[1:]...)
	s.eventually("the others run", func() bool { return s.status(ids[5]) == job.StatusRun && s.reads("one") > 0 })
	restart()
	if s.status(old) == "SUCCESS" || s.status(ids[5]) != "" {
		t.Fatal("this is no older copy")
	}
	s.checkFinals(ids)
	s.idle()
}

// TestTimersOverARestartOfRedis: Fanfold stops, and Redis restarts from an older copy. Timers and
// due times that the copy lacks are restored; those that were removed just before the restart are
// not.
func TestTimersOverARestartOfRedis(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, oneReport, "limits: {grace: 2s, lease: 1s}")
	ctx := t.Context()
	tomorrow := float64(time.Now().Add(24 * time.Hour).UnixMilli())
	add := func(set, member string) { s.b.Redis.ZAdd(ctx, set, redis.Z{Score: tomorrow, Member: member}) }
	has := func(set string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, s.b.Redis.ZRange(ctx, set, 0, -1).Val()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", set, diff)
		}
	}
	delayed, timers, paused := s.b.Partitions.First().Keys.Delayed, s.b.Partitions.First().Keys.Timers, s.b.Partitions.First().Keys.PausedTimers
	stop := s.serveRebuilding(s.config, nil)
	add(timers, "a")
	s.inSnapshot(1)
	restart := s.copyRedis()
	add(timers, "b")
	add(paused, "c")
	add(delayed, s.insert("slow", ""))
	later := s.insert("slow", "")
	add(delayed, later)
	s.inSnapshot(5)
	stop()
	restart()
	has(timers, "a")
	stop = s.serveRebuilding(s.config, nil)
	s.eventually("due times are back", func() bool { return s.b.Redis.ZCard(ctx, delayed).Val() == 2 })
	s.eventually("a snapshot is made", func() bool {
		add(timers, "d")
		return s.snapshotSize() == 6
	})
	has(timers, "a", "b", "d")
	if n := s.number("SELECT COUNT(*) FROM file_download_record WHERE attempt > 0"); n > 0 {
		t.Errorf("%d records that are due tomorrow were started", n)
	}
	has(paused, "c")
	stop()

	s.b.Redis.ZRem(ctx, timers, "a")
	s.b.Redis.ZRem(ctx, paused, "c")
	s.b.Redis.ZRem(ctx, delayed, later)
	s.copyRedis()()
	s.serveRebuilding(s.config, nil)
	s.inSnapshot(3)
	has(timers, "b", "d")
	has(paused, []string{}...)
}

// TestAnIDThatIsNeverPushed: an id that is never pushed is started after the grace time, unless it
// is excluded by the filter, of an unknown report, or delayed.
func TestAnIDThatIsNeverPushed(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {grace: 3s}")
	config := s.write("filtered.yaml", oneReport, "limits: {grace: 3s}")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	filtered := strings.Replace(string(text), "records: {database: db}", "records: {database: db, filter: \"error IS NULL OR error <> 'other'\"}", 1)
	if err := os.WriteFile(config, []byte(filtered), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines lockedLog
	s.serveRebuilding(config, func(o *recovery.Options) {
		o.PassEvery = 200 * time.Millisecond
		o.Log = slog.New(slog.NewTextHandler(&lines, nil))
	})
	later, stranger, other, waiting := s.insert("slow", ""), s.insert("no-such-report", ""), s.insert("slow", ""), s.insert("slow", "")
	s.exec("UPDATE file_download_record SET error = 'other' WHERE id = ?", other)
	ctx := t.Context()
	tomorrow := float64(time.Now().Add(24 * time.Hour).UnixMilli())
	s.b.Redis.ZAdd(ctx, s.b.Partitions.First().Keys.Delayed, redis.Z{Score: tomorrow, Member: later},
		redis.Z{Score: tomorrow, Member: job.Later{ID: waiting, Attempt: 2, Step: job.StepTrigger}.String()})
	bad := s.insert("slow", `{"seconds": "never"}`)
	id := s.insert("slow", "")
	inserted := s.b.Redis.Time(ctx).Val()
	s.content(s.wait(id)[0])
	if v := s.wait(bad)[0]; v.Status != report.Failed || !strings.Contains(v.Error, "never") {
		t.Errorf("%+v", v)
	}
	if at := s.started(id); at.Sub(inserted) < 2*time.Second {
		t.Errorf("started after %v: the grace time is 3 s", at.Sub(inserted))
	}
	s.eventually("the unknown report is counted", func() bool { return strings.Contains(lines.String(), "skipped=1") })
	if n := s.number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PENDING' AND attempt = 0 AND id IN (?, ?, ?, ?)", later, stranger, other, waiting); n != 4 {
		t.Errorf("%d of 4 are left alone", n)
	}
	if reasons := s.quarantined(); len(reasons) > 0 {
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

// TestALostDeadline: a pass restores the deadline of a job that has also lost its message, so that
// the scheduler finds the job and sends the message again.
func TestALostDeadline(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {grace: 1s, lease: 1s}")
	often := func(o *recovery.Options) { o.PassEvery = 200 * time.Millisecond }
	if out, code := s.fanfold("pause", "listener", "one"); code != exitOK {
		t.Fatal(out)
	}
	stop := s.serveRebuilding(s.config, often)
	id := s.insert("slow", "")
	s.push(id)
	s.eventually("it runs", func() bool { return s.ask(id).Job == job.StatusRun })
	stop()
	keys := s.b.Partitions.First().Keys
	s.b.Redis.XTrimMaxLen(t.Context(), keys.Task("one"), 0)
	if n := s.b.Redis.ZRem(t.Context(), keys.Deadlines, id).Val(); n != 1 {
		t.Fatal("it has no deadline")
	}
	if out, code := s.fanfold("resume", "listener", "one"); code != exitOK {
		t.Fatal(out)
	}
	s.serveRebuilding(s.config, often)
	if v := s.wait(id)[0]; v.Status != report.Success || v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
}

// TestALongBacklogIsNotDoubled: an id that waits in the stream and is also started by a rebuild
// runs once.
func TestALongBacklogIsNotDoubled(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {grace: 1s, running_jobs: 4}")
	s.audit()
	var ids []string
	for range 60 {
		ids = append(ids, s.insert("slow", `{"seconds": 0.1}`))
	}
	s.push(ids...)
	s.exec("UPDATE file_download_record SET updated_at = NOW(6) - INTERVAL 1 DAY")
	for range 2 {
		s.serveRebuilding(s.config, func(o *recovery.Options) { o.PassEvery = 100 * time.Millisecond })
	}
	s.checkFinals(ids)
	if n := s.number("SELECT COUNT(*) FROM file_download_record WHERE attempt <> 1"); n != 0 {
		t.Errorf("%d of %d records were started more than once", n, len(ids))
	}
	s.idle()
	for id, n := range s.events("started") {
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
	const limits = "limits: {rebuild: 50, running_jobs: 500}"
	s := newStack(t, oneReport, limits)
	s.audit()
	s.exec(`INSERT INTO file_download_record (report, status, updated_at) SELECT 'slow',
		IF(seq % 1000 = 0, 'PENDING', 'SUCCESS'), NOW(6) - INTERVAL IF(seq % 20000 = 0, 1, 9999) SECOND FROM seq_1_to_200000`)
	records := &pagedRecords{Records: s.b.Records}
	s.serveRebuilding(s.config, func(o *recovery.Options) { o.Records = records })
	s.eventually("the old ones are done", func() bool { return s.number("SELECT COUNT(*) FROM finals") == 190 })
	first, last := s.started("1000"), s.started("199000")
	// 190 records in pages of 50: three pauses of a second between the pages.
	if took := last.Sub(first); took < 2*time.Second {
		t.Errorf("190 records in %v, at a rate of 50 a second", took)
	}
	if records.largest > 50 || records.pages > 30 {
		t.Errorf("%d pages of up to %d", records.pages, records.largest)
	}
	if n := s.number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PENDING' AND attempt = 0"); n != 10 {
		t.Errorf("%d young ones are left alone, not 10", n)
	}
}

// TestWithoutTheTables: without Fanfold's tables, jobs are rebuilt all the same, and the log asks
// once for fanfold migrate.
func TestWithoutTheTables(t *testing.T) {
	t.Parallel()
	s := newStack(t, oneReport, "limits: {grace: 1s, lease: 1s}")
	s.audit()
	s.exec("DROP TABLE fanfold_meta, fanfold_snapshot")
	var lines lockedLog
	s.serveRebuilding(s.config, func(o *recovery.Options) { o.Log = slog.New(slog.NewTextHandler(&lines, nil)) })
	id := s.insert("slow", `{"seconds": 1}`)
	s.push(id)
	s.eventually("the job runs", func() bool { return s.reads("one") == 1 })
	s.flushAll()
	s.checkFinals([]string{id})
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
	s := newStack(t, oneReport)
	key := s.b.Partitions.First().Keys.Lock("rebuilt")
	began := time.Now()
	s.serveRebuilding(s.config, func(o *recovery.Options) { o.PassEvery = every })
	s.eventually("the walk of the start", func() bool { return s.b.Redis.Exists(t.Context(), key).Val() == 1 })
	// As if another process had made a walk, so that the first check of this one is too early.
	ends := began.Add(every + every/12)
	s.b.Redis.Set(t.Context(), key, "another", time.Until(ends))
	s.eventually("this process walks", func() bool {
		who, err := s.b.Redis.Get(t.Context(), key).Result()
		return err == nil && who != "another"
	})
	if late := time.Since(ends); late > every/2 {
		t.Errorf("it came %v after its time, with a period of %v", late, every)
	}
}
