package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/spool"
)

// watch checks the file of every record when it first sees that the record is SUCCESS: from then on
// the file must exist and be complete.
func (r verdict) watch(ctx context.Context) {
	for ctx.Err() == nil {
		elapse(ctx, 50*time.Millisecond)
		rows, err := r.db.QueryContext(ctx, "SELECT id, file FROM file_download_record WHERE status = 'SUCCESS'")
		if err != nil {
			continue // the database is down
		}
		for rows.Next() {
			var id int
			var file string
			if rows.Scan(&id, &file) == nil && !r.checked[id] {
				r.checked[id] = true
				r.compare(id, file)
			}
		}
		rows.Close()
	}
}

func (r verdict) compare(id int, file string) {
	if got, err := r.sink.read(file); err != nil || got != fileOf(r.asks(id)) {
		r.violated("record %d is SUCCESS, and its file %s is not whole: %v, %d bytes, %d expected", id, file, err, len(got), len(fileOf(r.asks(id))))
	}
}

// judge checks all guarantees after the faults are over and every record is final.
func (r verdict) judge(ctx context.Context) {
	r.drained(ctx)
	r.preempted(ctx)
	r.histories(ctx)
	failed := r.failures(ctx)
	if r.kind == e2e.Alone { // a promoted replica may lack the last writes, and repeat what they did
		r.barriers()
	}
	r.files(ctx)
	if len(failed) == 0 {
		return
	}
	// Jobs failed only because of the faults and the gate: a retry succeeds now.
	if _, err := r.db.ExecContext(ctx, "DELETE FROM shut"); err != nil {
		r.violated("open the gate: %v", err)
	}
	r.totals.add("jobs of which datasets are kept", len(r.kept(ctx, failed)))
	again := failed
	for tries := 0; len(again) > 0; tries++ {
		if tries == maxRetries {
			r.violated("%d records FAILED again after the storm: %v", len(again), again)
			break
		}
		for _, id := range again {
			if out, err := r.fanfold("retry", id); err != nil {
				r.violated("fanfold retry %s: %v %s", id, err, out)
			}
		}
		if left := r.await(ctx, time.Minute); left > 0 {
			r.stuck(ctx)
			return
		}
		r.drained(ctx)
		again = r.failures(ctx)
		r.harmed(ctx, again)
	}
	if kept := r.kept(ctx, failed); len(kept) > 0 {
		r.violated("datasets of ended jobs are still kept: %v", kept)
	}
	r.reused(ctx)
	r.files(ctx)
}

// maxRetries is how often a failed job may be retried until it succeeds. The storm harms segments that are kept: an
// attempt that reuses one finds that out when another listener may have used its values, fails, and leaves it out of
// what is kept. A job has two listeners whose values another one uses.
const maxRetries = 3

// harmed checks that records failed once more only because a segment is harmed.
func (r verdict) harmed(ctx context.Context, again []string) {
	for _, id := range again {
		var reason string
		if err := r.db.QueryRowContext(ctx, "SELECT error FROM file_download_record WHERE id = ?", id).Scan(&reason); err != nil ||
			!strings.Contains(reason, "of the spool") {
			r.violated("record %s FAILED again after the storm: %s %v", id, reason, err)
		}
		r.totals.add("retries that found a kept segment harmed", 1)
	}
}

// kept returns the jobs of which datasets are kept.
func (r verdict) kept(ctx context.Context, ids []string) (kept []string) {
	for _, id := range ids {
		p := r.redis.partitions.Of(id)
		if r.redis.client.Exists(ctx, p.Keys.Kept(id)).Val() > 0 {
			kept = append(kept, id)
		}
	}
	return kept
}

// reused counts the attempts that have reused datasets.
func (r verdict) reused(ctx context.Context) {
	for _, p := range r.redis.partitions {
		for _, m := range r.redis.client.XRange(ctx, p.Keys.Events, "-", "+").Val() {
			if m.Values["event"] == "started" && m.Values["reused"] != nil {
				r.totals.add("attempts that reused datasets", 1)
			}
		}
	}
}

func (r *round) fanfold(args ...string) ([]byte, error) {
	c := fanfold(append([]string{"-c", r.dir + "/direct.yaml"}, args...)...)
	c.Env = append(c.Env, "STORAGE_EMULATOR_HOST="+r.sink.host)
	return c.CombinedOutput()
}

// preempted counts the jobs that made room in a full Redis.
func (r verdict) preempted(ctx context.Context) {
	for _, p := range r.redis.partitions {
		for _, m := range r.redis.client.XRange(ctx, p.Keys.Events, "-", "+").Val() {
			if m.Values["event"] == "preempted" {
				r.totals.add("jobs preempted in a full Redis", 1)
			}
		}
	}
}

// drained waits until Redis has no work left, and checks which keys remain.
func (r verdict) drained(ctx context.Context) {
	rdb := r.redis.client
	left := func() (found []string) {
		for _, s := range r.redis.streams() {
			if n, err := rdb.XLen(ctx, s).Result(); err != nil || n > 0 {
				found = append(found, fmt.Sprintf("%d entries in %s %v", n, s, err))
			}
			if p, err := rdb.XPending(ctx, s, "fanfold").Result(); err == nil && p.Count > 0 {
				found = append(found, fmt.Sprintf("%d pending in %s", p.Count, s))
			}
		}
		if ids := rdb.HGetAll(ctx, r.redis.partitions.First().Keys.Once).Val(); len(ids) > 0 {
			found = append(found, fmt.Sprintf("ids share a run: %v", ids))
		}
		for _, p := range r.redis.partitions {
			if of, err := rdb.HGetAll(ctx, p.Keys.Lanes).Result(); err != nil || len(of) > 0 {
				found = append(found, fmt.Sprintf("%v in %s %v", of, p.Keys.Lanes, err))
			}
			for _, z := range []string{p.Keys.Deadlines, p.Keys.Delayed} {
				members, err := rdb.ZRange(ctx, z, 0, 9).Result()
				if err != nil || len(members) > 0 {
					found = append(found, fmt.Sprintf("%v in %s %v", members, z, err))
				}
				for _, m := range members {
					id, _, _ := strings.Cut(m, "/")
					found = append(found, fmt.Sprintf("state of %s: %v", id, rdb.HGet(ctx, p.Keys.Job(id), "job").Val()))
				}
			}
		}
		return found
	}
	began := time.Now()
	rest := left()
	for len(rest) > 0 && time.Since(began) < drainTime && ctx.Err() == nil {
		elapse(ctx, 100*time.Millisecond)
		rest = left()
	}
	r.totals.most("longest until Redis has nothing left to do (s)", int(time.Since(began).Seconds()))
	for _, text := range rest {
		r.violated("not drained after %s: %s", drainTime, text)
	}
	r.keys(ctx)
}

// drainTime is the maximum time for the rest of the work after the last record is final. A slot of a lane that a
// crash has left comes back after a minute.
const drainTime = 100 * time.Second

func (r verdict) keys(ctx context.Context) {
	for _, text := range r.redis.left(ctx) {
		r.violated("%s", text)
	}
}

// histories checks that every record became final exactly once. A trigger in the database has
// recorded every change, in order and in the same transaction.
func (r verdict) histories(ctx context.Context) {
	rows, err := r.db.QueryContext(ctx, "SELECT id, attempt, was, status FROM history ORDER BY n")
	if err != nil {
		r.violated("history: %v", err)
		return
	}
	defer rows.Close()
	ends, attempts := map[int]int{}, map[int]int{}
	for rows.Next() {
		var id, attempt int
		var was, status string
		if err := rows.Scan(&id, &attempt, &was, &status); err != nil {
			r.violated("history: %v", err)
			return
		}
		if was != "PENDING" && was != "PROCESSING" {
			r.violated("record %d was %s and became %s", id, was, status)
		}
		if attempt < attempts[id] {
			r.violated("record %d went from attempt %d back to %d", id, attempts[id], attempt)
		}
		if attempts[id] = attempt; status != "PENDING" && status != "PROCESSING" {
			ends[id]++
		}
		if attempt > 1 && was != status && status == "SUCCESS" {
			r.totals.add("jobs that needed another attempt", 1)
		}
		r.totals.most("most attempts of a job", attempt)
	}
	var longest float64
	if err := r.db.QueryRowContext(ctx, `SELECT MAX(took) FROM
		(SELECT TIMESTAMPDIFF(MICROSECOND, MIN(at), MAX(at)) AS took FROM history GROUP BY id) AS jobs`).Scan(&longest); err == nil {
		r.totals.most("longest job (ms)", int(longest/1000))
	}
	for id := 1; id <= r.jobs; id++ {
		if ends[id] != 1 {
			r.violated("record %d became final %d times", id, ends[id])
		}
	}
}

// failures returns the records that are FAILED and checks that each has a reason.
func (r verdict) failures(ctx context.Context) (failed []string) {
	rows, err := r.db.QueryContext(ctx, "SELECT id, COALESCE(error, '') FROM file_download_record WHERE status = 'FAILED' ORDER BY id")
	if err != nil {
		r.violated("records: %v", err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var id, reason string
		if err := rows.Scan(&id, &reason); err != nil || reason == "" {
			r.violated("record %s FAILED without a reason %v", id, err)
		}
		failed = append(failed, id)
		if len(failed) <= 10 {
			r.t.Logf("record %s FAILED: %s", id, reason)
		}
	}
	r.totals.add("FAILED", len(failed))
	return failed
}

// sweep does what an engine does once a day: it deletes files and segments of workers that hung, wrote them
// after the job had ended, and died.
func (r verdict) sweep(ctx context.Context) (deleted int, err error) {
	b, err := process.Open(filepath.Join(r.dir, "direct.yaml"), kinds.Standard())
	if err != nil {
		return 0, err
	}
	defer b.Close()
	tag, err := b.Records.Installation(ctx)
	if err != nil {
		return 0, err
	}
	bucket, err := r.sink.open(ctx, "gs://"+chaosBucket+"/exports")
	if err != nil {
		return 0, err
	}
	defer bucket.Close()
	place, err := r.spool.open(ctx)
	if err != nil {
		return 0, err
	}
	defer place.Close()
	e, err := engine.New(engine.Options{Redis: b.Redis, Scripts: b.Partitions.First(), Records: b.Records, Consumer: "judge"})
	if err != nil {
		return 0, err
	}
	f, err := files.New(e, files.Options{Spool: spool.New(spool.Options{Sink: place, Tag: tag}), Sink: bucket, Formats: kinds.Standard().Formats, Installation: tag, Sharing: b.Records.Sharing(), OrphanAge: 1})
	if err != nil {
		return 0, err
	}
	return f.Sweep(ctx)
}

// files checks that every SUCCESS record points to its own file with the expected bytes, and that
// the sink has only these files and their manifests after the sweep.
func (r verdict) files(ctx context.Context) {
	segments, _ := r.spool.objects(ctx)
	deleted, err := r.sweep(ctx)
	if err != nil {
		r.violated("sweep of the sink: %v", err)
		return
	}
	r.totals.add("files and segments of hung workers that a sweep deleted", deleted)
	r.totals.add("objects in the spool before the sweep", len(segments))
	r.segments(ctx)
	there, err := r.sink.objects()
	if err != nil {
		r.violated("list of the sink: %v", err)
		return
	}
	rows, err := r.db.QueryContext(ctx, "SELECT id, file, row_count FROM file_download_record WHERE status = 'SUCCESS'")
	if err != nil {
		r.violated("records: %v", err)
		return
	}
	defer rows.Close()
	success, found := 0, map[string]bool{}
	for rows.Next() {
		var id, count int
		var file string
		if err := rows.Scan(&id, &file, &count); err != nil || count != rowsOf(r.asks(id)) {
			r.violated("record %d has %d rows, not %d %v", id, count, rowsOf(r.asks(id)), err)
		}
		success++
		r.compare(id, file)
		r.made(id, file)
		for _, name := range []string{file, file + ".manifest.json"} {
			if _, ok := there[name]; !ok && (!r.shares() || !found[name]) {
				r.violated("%s of record %d is not in the sink, or another record has it, too", name, id)
			}
			delete(there, name)
			found[name] = true
		}
	}
	for name := range there {
		if strings.HasPrefix(name, "gs://"+chaosBucket+"/"+spoolFolder) {
			continue // see segments
		}
		if strings.HasPrefix(name, "gs://"+chaosBucket+"/exports/fanfold-check-") {
			// A process that dies while it tests the sink at its start leaves this object.
			r.totals.add("objects of tried sinks", 1)
			continue
		}
		r.violated("%s is in the sink and no record points to it", name)
	}
	r.totals.most("SUCCESS in a round", success)
}

// timeless tells whether no unfinished job has a deadline: a slot that moves while its master is cut off can
// lose a key of a job, which a pass over the records restores.
func (r verdict) timeless(ctx context.Context) bool {
	rows, err := r.db.QueryContext(ctx, "SELECT id FROM file_download_record WHERE status IN ('PENDING', 'PROCESSING')")
	if err != nil {
		return false
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil || !errors.Is(r.redis.client.ZScore(ctx, r.redis.partitions.Of(id).Keys.Deadlines, id).Err(), redis.Nil) {
			return false
		}
	}
	return rows.Err() == nil
}

// stuck reports jobs that are not final although there are no more faults.
func (r verdict) stuck(ctx context.Context) {
	rows, err := r.db.QueryContext(ctx, "SELECT id, status, attempt, updated_at FROM file_download_record WHERE status IN ('PENDING', 'PROCESSING') ORDER BY id")
	if err != nil {
		r.violated("jobs are stuck; records: %v", err)
		return
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var id, status, attempt, updated string
		_ = rows.Scan(&id, &status, &attempt, &updated)
		if n++; n <= 5 {
			r.violated("record %s is stuck: %s, attempt %s, changed %s, state %v", id, status, attempt, updated,
				r.redis.client.HGet(ctx, r.redis.partitions.Of(id).Keys.Job(id), "job").Val())
		}
	}
	r.violated("%d jobs are stuck", n)
	for _, stream := range r.redis.streams() {
		if waiting := r.redis.client.XLen(ctx, stream).Val(); waiting > 0 {
			r.violated("%s has %d entries", stream, waiting)
		}
	}
	for _, p := range r.redis.partitions {
		r.violated("%s: %v; %d deadlines", p.Keys.Delayed, r.redis.client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: p.Keys.Delayed, Start: 0, Stop: 5}).Val(),
			r.redis.client.ZCard(ctx, p.Keys.Deadlines).Val())
	}
}
