package operate

import (
	"path"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestDiscard removes dead jobs and does not change their records.
func TestDiscard(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := []string{b.insert("slow"), b.insert("external"), b.insert("slow"), b.insert("slow")}
	b.kill(ids...)
	b.ok(b.Dead.Remove(acting(t), ids[3]))
	b.refused(b.Dead.Remove(acting(t), ids[3]), fault.NotFound)
	b.exec("DELETE FROM file_download_record WHERE id = ?", ids[2])
	swept, err := b.Dead.Discard(acting(t), Sweep{Match: func(j inspect.DeadJob) bool { return j.Report != "external" }})
	if err != nil || swept.Done != 2 || swept.ByReport["slow"] != 1 {
		t.Errorf("%+v %v", swept, err)
	}
	if got := b.dead(); !slices.Equal(got, ids[1:2]) || b.pushed() != 0 {
		t.Errorf("%q are dead, %d are pushed", got, b.pushed())
	}
	if r, err := b.inspect.Jobs.Record(acting(t), ids[0]); err != nil || r.Status != report.Failed || r.Error != "reason "+ids[0] {
		t.Errorf("%+v %v", r, err)
	}
}

// TestRetryAll runs thousands of dead jobs again, in pages.
func TestRetryAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const jobs = 5200
	b.exec(`INSERT INTO file_download_record (id, report, status, attempt, error)
		SELECT seq, IF(seq % 2 = 0, 'slow', 'gone'), 'FAILED', seq % 3, CONCAT('reason ', seq) FROM seq_1_to_5200`)
	b.exec("UPDATE file_download_record SET status = 'PENDING', error = NULL WHERE id = 2")
	b.exec("UPDATE file_download_record SET status = 'CANCELLED' WHERE id = 4")
	b.exec("DELETE FROM file_download_record WHERE id = 6")
	all := map[string][]redis.Z{}
	for i := range jobs {
		id := strconv.Itoa(i + 1)
		key := b.all.Of(id).Keys.Dead
		all[key] = append(all[key], redis.Z{Score: 1717200000000, Member: id})
	}
	for key, members := range all {
		b.ok(b.redis.ZAdd(acting(t), key, members...).Err())
	}
	sweep := func(s Sweep) Swept {
		t.Helper()
		swept, err := b.Dead.Retry(acting(t), s)
		b.ok(err)
		return swept
	}
	if r := sweep(Sweep{DryRun: true}); r.Would != jobs/2-2 || r.Done != 0 || r.Left["its report is not in the configuration"] != jobs/2 ||
		r.Left["the record was deleted"] != 1 || r.Left["the record is CANCELLED"] != 1 {
		t.Errorf("%+v", r)
	}
	if n := b.pushed(); n != 0 {
		t.Errorf("a dry run pushed %d", n)
	}
	if r := sweep(Sweep{Match: func(j inspect.DeadJob) bool { ok, _ := path.Match("reason 51?8", j.Error); return ok }}); r.Done != 10 || r.ByReport["slow"] != 10 {
		t.Errorf("%+v", r)
	}
	if r := sweep(Sweep{Limit: 1001}); r.Done != 1001 {
		t.Errorf("%+v", r)
	}
	pages := 0
	if r := sweep(Sweep{Each: func(Swept) { pages++ }}); r.Done != jobs/2-2-10-1001 || pages < 3 {
		t.Errorf("%+v in %d pages", r, pages)
	}
	if n := b.pushed(); n != jobs/2-2 {
		t.Errorf("%d were pushed", n)
	}
	if n := b.total(func(k *scripts.Keys) *redis.IntCmd { return b.redis.ZCard(acting(t), k.Dead) }); n != jobs/2+2 {
		t.Errorf("%d are still dead", n)
	}
	if n := b.number("SELECT COUNT(*) FROM file_download_record WHERE status = 'PENDING' AND error IS NULL AND report = 'slow'"); n != jobs/2-2 {
		t.Errorf("%d are PENDING", n)
	}
}
