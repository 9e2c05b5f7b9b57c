package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/scripts"
)

// lease is the lease during the storm: another worker takes over after this silence.
const lease = 1500 * time.Millisecond

// havoc causes the faults of a round, and pushes its jobs meanwhile.
type havoc struct{ *round }

// verdict finds the guarantees that a round has broken.
type verdict struct{ *round }

// round is one storm over its own workers, servers and records.
type round struct {
	t       testing.TB
	seed    uint64
	kinds   []string
	storm   time.Duration
	jobs    int
	dir     string
	kind    string // of its Redis
	redis   *chaosRedis
	mariadb *testenv.Database
	direct  *process.Process // without relays, like the next two
	db      *sql.DB
	sink    *badSink
	spool   *spoolPlace
	workers []*worker
	totals  *totals

	mysqlDown sync.Mutex // held while the server restarts

	mu         sync.Mutex
	violations []string
	checked    map[int]bool // records whose file was correct when they became SUCCESS
}

const stormReport = `
  storm:
    timeout: 10m
    keep: 15m
    retry: {retries: 8, delay: 200ms}
    parameters: {job: integer, rows: integer}
    listeners:
      src.a: {database: db, timeout: 4s, @a query: "SELECT seq AS k, seq * :job AS a FROM seq_1_to_20000 WHERE seq <= :rows"}
      src.b: {database: db, timeout: 4s, @b query: "SELECT seq AS k, seq + :job AS b FROM seq_1_to_20000 WHERE seq <= :rows AND seq % 3 <> 0"}
      src.c: {database: db, timeout: 4s, query: "SELECT seq AS k, seq + (SELECT gate(:job)) AS c FROM seq_1_to_20000 WHERE seq IN (:src.a.k)"}
    join: {key: k, listeners: [src.a, {name: src.b, type: left}, src.c]}
`

// rowsOf returns the number of rows of a job's file. Most jobs have some datasets in the spool and some in Redis;
// only a few need more than one chunk, and so more than one segment.
func rowsOf(job int) int {
	if job%50 == 7 {
		return 10_500
	}
	return 1 + job*31%300
}

// fileOf returns the expected file of a job, computed from the records alone.
func fileOf(job int) string {
	var b strings.Builder
	b.WriteString("k,a,b,c\r\n")
	for k := 1; k <= rowsOf(job); k++ {
		left := ""
		if k%3 != 0 {
			left = strconv.Itoa(k + job)
		}
		fmt.Fprintf(&b, "%d,%d,%s,%d\r\n", k, k*job, left, k+7)
	}
	return b.String()
}

// configuration returns the configuration of a worker that reaches the servers at these addresses.
func (r *round) configuration(redisAddr, mysqlAddr, above string) string {
	return fmt.Sprintf(`redis: %s
databases:
  db: {dsn: "root@tcp(%s)/chaos?timeout=1s&readTimeout=5s&writeTimeout=5s"}
records: {database: db}
sink: gs://%s/exports
spool: {url: %s, above: %s}
limits: {lease: %s, recover_after: 2s, shutdown_timeout: 2s, running_jobs: 150, tasks: 8, large_files: 4}
%s
reports:
%s`, r.redis.where(redisAddr), mysqlAddr, chaosBucket, r.spool.url(), above, lease, lanesOf(r.seed),
		r.mariadb.SQL(inParts(r.seed, classOf(r.seed, stormReport)))+r.once())
}

// inLanes reports whether the jobs of a round have lanes: in every third one.
func inLanes(seed uint64) bool { return seed%3 == 1 }

// lanesOf returns the lanes of the configuration of a round.
func lanesOf(seed uint64) string {
	if !inLanes(seed) {
		return ""
	}
	return "lanes: {by: rows, running: 3, weights: {1: 2}, classes: {storms: {running: 100, weight: 2}}}"
}

// classOf adds the class of its report in a round with lanes.
func classOf(seed uint64, text string) string {
	if !inLanes(seed) {
		return text
	}
	return strings.Replace(text, "timeout: 10m\n", "timeout: 10m\n    class: storms\n", 1)
}

// violated records that a guarantee was broken.
func (r *round) violated(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

// run starts everything, runs the storm and judges the result.
func (r *round) run(ctx context.Context) {
	list := schedule(r.seed, r.kinds, relays(r.kind), r.storm)
	if inLanes(r.seed) {
		r.totals.add("rounds with lanes", 1)
	}
	r.t.Logf("seed %d, redis %s, %d jobs, %d faults in %s: %s\n  %s", r.seed, r.kind, r.jobs, len(list), r.storm, strings.Join(r.kinds, ","), scheduleText(list))
	stop := r.start(ctx)
	defer stop()
	began := time.Now()
	havoc{r}.rage(ctx, list)
	left := r.await(ctx, 90*time.Second)
	if left > 0 && r.kind == e2e.Cluster && (verdict{r}).timeless(ctx) {
		r.totals.add("rounds that waited for a pass over the records", 1)
		left = r.await(ctx, 6*time.Minute)
	}
	r.totals.most("longest calm until all are final (s)", int(time.Since(began).Seconds()-r.storm.Seconds()))
	if left > 0 {
		verdict{r}.stuck(ctx)
		return
	}
	verdict{r}.judge(ctx)
}

// start starts the servers and workers; stop ends them.
func (r *round) start(ctx context.Context) (stop func()) {
	t := r.t
	var err error
	folder := func(name string) string {
		dir := filepath.Join(r.dir, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	r.redis = startChaosRedis(ctx, t, r.kind, r.dir)
	if r.mariadb, err = testenv.StartDatabase(ctx, folder("mariadb"), withLog); err != nil {
		t.Fatal(err)
	}
	r.sink = newBadSink(t, r.seed, r.totals)
	r.spool = &spoolPlace{sink: r.sink}
	if inDirectory(r.seed) {
		r.spool.dir = folder("spool")
	}
	r.migrate(ctx)
	names := scripts.Names()
	upstream := map[string]string{"mysql": r.mariadb.Addr, "sink": r.sink.host}
	if r.kind == e2e.Alone {
		upstream["redis"] = r.redis.address()
	}
	for i := range crew {
		r.workers = append(r.workers, r.newWorker(t, i, upstream, names))
	}
	return func() {
		var all sync.WaitGroup
		for _, w := range r.workers {
			all.Go(w.stop)
		}
		all.Wait()
		for _, w := range r.workers {
			w.read()
		}
		r.direct.Close()
		_ = r.db.Close()
		r.sink.close()
		r.redis.stop()
		r.mariadb.Stop()
	}
}

// gateStatements make a function that fails for some jobs as long as a row is in shut. What the others listeners of such
// a job have found is kept for its next attempt.
var gateStatements = []string{
	"CREATE TABLE shut (id INT)", "INSERT INTO shut VALUES (1)",
	`CREATE FUNCTION gate(job BIGINT) RETURNS BIGINT READS SQL DATA BEGIN
		IF job % 20 = 3 AND EXISTS (SELECT 1 FROM shut) THEN
			SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the gate is shut';
		END IF;
		RETURN 7;
	END`,
}

// historyStatements make the database record every change of a record, in order and in the same
// transaction.
var historyStatements = []string{
	`CREATE TABLE history (n BIGINT AUTO_INCREMENT PRIMARY KEY, id BIGINT, attempt INT, was VARCHAR(16), status VARCHAR(16), at TIMESTAMP(6) DEFAULT NOW(6))`,
	`CREATE TRIGGER follow AFTER UPDATE ON file_download_record FOR EACH ROW
		IF NOT (OLD.status <=> NEW.status AND OLD.attempt <=> NEW.attempt AND OLD.file <=> NEW.file) THEN
			INSERT INTO history (id, attempt, was, status) VALUES (NEW.id, NEW.attempt, OLD.status, NEW.status);
		END IF`,
}

// migrate creates the table of records with its rows, and the triggers that record their history.
func (r *round) migrate(ctx context.Context) {
	admin, err := r.mariadb.Open("")
	if err == nil {
		_, err = admin.ExecContext(ctx, "CREATE DATABASE chaos")
		_ = admin.Close()
	}
	if err == nil {
		r.db, err = r.mariadb.Open("chaos")
	}
	if err != nil {
		r.t.Fatal(err)
	}
	config := filepath.Join(r.dir, "direct.yaml") // without relays
	if err := os.WriteFile(config, []byte(r.configuration(r.redis.address(), r.mariadb.Addr, spoolAbove(0))), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if out, err := r.fanfold("migrate"); err != nil {
		r.t.Fatalf("migrate: %v %s", err, out)
	}
	if r.direct, err = process.Open(config, kinds.Standard()); err != nil {
		r.t.Fatal(err)
	}
	r.redis.client, r.redis.partitions = r.direct.Redis, r.direct.Partitions
	for _, statement := range slices.Concat(historyStatements, gateStatements) {
		if _, err := r.db.ExecContext(ctx, statement); err != nil {
			r.t.Fatal(err)
		}
	}
	rows := make([]string, r.jobs)
	for i := range rows {
		rows[i] = r.row(i + 1)
	}
	if _, err := r.db.ExecContext(ctx, "INSERT INTO file_download_record (id, report, parameters, owner) VALUES "+strings.Join(rows, ",")); err != nil {
		r.t.Fatal(err)
	}
}

// await waits until all records are final and returns the number of those that are not. It gives up
// if no record has become final for this long, so that a slow machine does not fail the test.
func (r *round) await(ctx context.Context, most time.Duration) (left int) {
	left = r.jobs
	for moved := time.Now(); left > 0 && ctx.Err() == nil && time.Since(moved) < most; {
		elapse(ctx, 100*time.Millisecond)
		now := left
		_ = r.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM file_download_record WHERE status IN ('PENDING', 'PROCESSING')").Scan(&now)
		if now != left {
			left, moved = now, time.Now()
		}
	}
	return left
}
