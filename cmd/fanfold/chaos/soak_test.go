package chaos

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"github.com/fanfold/fanfold/internal/audit"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

// TestSoak runs a week of a company: the number of downloads follows office hours, one source is
// slow, another one fails sometimes and is down on Wednesday, a new version is deployed every
// weekday, and Redis fails over three times. No job may be lost, and a process must not use more at
// the end than after the first day. A short week has one deploy and one failover, and checks only the
// scratch files of the processes.
//
//	SOAK        duration of the week; default 20s; make soak sets 30m
//	SOAK_REDIS  alone, sentinel or cluster; default sentinel
//	SOAK_JOBS   jobs of the week; default 10 for every second of it
func TestSoak(t *testing.T) {
	t.Parallel()
	lasts, err := time.ParseDuration(cmp.Or(os.Getenv("SOAK"), "20s"))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := strconv.Atoi(cmp.Or(os.Getenv("SOAK_JOBS"), strconv.Itoa(int(10*lasts.Seconds()))))
	if err != nil {
		t.Fatal(err)
	}
	if lasts > time.Minute {
		logging.Disable() // outages of Redis are expected here
		t.Cleanup(logging.Enable)
	}
	w := newWeek(t, cmp.Or(os.Getenv("SOAK_REDIS"), e2e.Sentinel), lasts/hoursOfWeek, jobs)
	w.live()
	w.judge()
}

const (
	hoursOfWeek = 7 * 24
	hoursOfDay  = 24
)

// officeHours are the relative numbers of downloads in every hour of a weekday: two peaks, and at
// night only those of machines. Monday has half more, a day of the weekend a sixth.
var officeHours = [hoursOfDay]float64{1, 1, 3, 1, 1, 2, 4, 10, 22, 32, 30, 20, 12, 18, 26, 24, 16, 10, 6, 4, 3, 2, 2, 1}

func arrivals(hour int) float64 {
	n := officeHours[hour%hoursOfDay]
	switch day := hour / hoursOfDay; {
	case day == 0:
		return n * 1.5
	case day >= 5:
		return n / 6
	}
	return n
}

// week is a company, its services, and the operators of its Fanfold.
type week struct {
	*e2e.Stack
	t         *testing.T
	redis     *chaosRedis
	hour      time.Duration
	jobs      int
	random    *rand.Rand
	api       *httptest.Server
	down      atomic.Bool // the API
	version   int         // of the reports
	deployed  string      // the configuration of that version; commands use the first one
	workers   []*exec.Cmd // deploys skip the first one
	admin     string      // address of the first one
	cancelled int
	retried   int
	scratch   string
	before    footprint
}

// weekReports returns the reports of a version: payments has a column with the name of the version.
func weekReports(version int, minute time.Duration) string {
	retry := fmt.Sprintf("retry: {retries: 6, delay: %s}", minute)
	return fmt.Sprintf(`
  payments:
    timeout: 20m
    %[2]s
    parameters: {job: integer}
    listeners:
      users: {database: db, query: "SELECT seq AS k, seq * :job AS a FROM seq_1_to_40"}
      sums: {database: db, query: "SELECT seq AS k, seq + :job AS b FROM seq_1_to_40"}
      tags: {database: db, query: "SELECT seq AS k, seq + 7 AS v%[1]d FROM seq_1_to_40 WHERE seq IN (:users.k)"}
    join: {key: k}
  slow:
    timeout: 20m
    %[2]s
    parameters: {job: integer}
    listeners: {archive: {database: db, query: "SELECT :job AS k, SLEEP(0.2) AS v"}}
  vendor:
    timeout: 20m
    %[2]s
    parameters: {job: integer}
    listeners:
      names: {database: db, query: "SELECT seq AS k FROM seq_1_to_5"}
      scores: {after: names, kind: http, api: vendor, columns: {k: $.k, score: $.score}, result: {path: /scores, query: {job: ":job"}, rows: $.rows}}
    join: {key: k}
  export:
    timeout: 20m
    %[2]s
    parameters: {job: integer}
    listeners:
      all_users: {database: db, query: "SELECT SHA2(seq, 224) AS k, seq AS a FROM seq_1_to_20000"}
      all_sums: {database: db, query: "SELECT SHA2(seq, 224) AS k, seq + :job AS b FROM seq_20000_to_1"}
    join: {key: k}
  nightly:
    timeout: 20m
    %[2]s
    listeners: {night: {database: db, query: "SELECT 1 AS k"}}
`, version, retry)
}

// weekFile returns the expected file of a job; version is that of its definition.
func weekFile(name string, job int, version string) string {
	var b strings.Builder
	switch name {
	case "payments":
		b.WriteString("k,a,b,v" + version + "\r\n")
		for k := 1; k <= 40; k++ {
			fmt.Fprintf(&b, "%d,%d,%d,%d\r\n", k, k*job, k+job, k+7)
		}
	case "slow":
		fmt.Fprintf(&b, "k,v\r\n%d,0\r\n", job)
	case "vendor":
		b.WriteString("k,score\r\n")
		for k := 1; k <= 5; k++ {
			fmt.Fprintf(&b, "%d,%d\r\n", k, k*job)
		}
	case "export":
		b.WriteString("k,a,b\r\n")
		for k := 1; k <= 20_000; k++ {
			sum := sha256.Sum224([]byte(strconv.Itoa(k)))
			fmt.Fprintf(&b, "%s,%d,%d\r\n", hex.EncodeToString(sum[:]), k, k+job)
		}
	case "nightly":
		b.WriteString("k\r\n1\r\n")
	}
	return b.String()
}

func newWeek(t *testing.T, kind string, hour time.Duration, jobs int) *week {
	w := &week{t: t, hour: hour, jobs: jobs, random: rand.New(rand.NewPCG(uint64(jobs), 1)), scratch: t.TempDir(), admin: e2e.Address(t)}
	w.redis = startChaosRedis(t.Context(), t, kind, t.TempDir())
	t.Cleanup(w.redis.stop)
	w.api = httptest.NewServer(http.HandlerFunc(w.score))
	t.Cleanup(w.api.Close)
	where := func(int) string { return w.redis.where(w.redis.address()) }
	w.Stack = e2e.NewBehind(t, where, 1, weekReports(1, w.minute()), w.above())
	w.redis.client, w.redis.partitions = w.Redis, w.Partitions
	for _, statement := range historyStatements {
		w.Records.Exec(statement)
	}
	return w
}

func (w *week) minute() time.Duration { return max(100*time.Millisecond, w.hour/60) }

// above returns the configuration without its reports.
func (w *week) above() string {
	night := max(time.Second, (hoursOfDay * w.hour).Round(time.Second))
	return fmt.Sprintf(`limits: {lease: 2s, recover_after: 2s, shutdown_timeout: 5s, running_jobs: 200, tasks: 16, fold_memory: 1MB}
apis: {vendor: {url: "%s", parallel: 4}}
timers: {nightly: {key: "nightly-{n}", every: %s, submit: {report: nightly}}}
`, w.api.URL, night)
}

// score is the API of a vendor.
func (w *week) score(out http.ResponseWriter, r *http.Request) {
	dice := rand.IntN(100)
	if w.down.Load() || dice < 5 {
		http.Error(out, "we are sorry", http.StatusServiceUnavailable)
		return
	}
	if dice < 7 {
		elapse(r.Context(), time.Second)
	}
	job, _ := strconv.Atoi(r.URL.Query().Get("job"))
	var rows []string
	for k := 1; k <= 5; k++ {
		rows = append(rows, fmt.Sprintf(`{"k": %d, "score": %d}`, k, k*job))
	}
	fmt.Fprintf(out, `{"rows": [%s]}`, strings.Join(rows, ","))
}

// start starts a worker of the deployed version and waits until it is ready.
func (w *week) start(admin string) *exec.Cmd {
	c := fanfold("-c", w.deployed, "serve", "--admin", admin)
	c.Env = append(c.Env, "TMPDIR="+w.scratch)
	var log bytes.Buffer
	c.Stdout, c.Stderr = &log, &log
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
		if w.t.Failed() {
			w.t.Logf("process %d: %s", c.Process.Pid, log.String())
		}
	})
	w.Eventually("a worker is ready", func() bool { code, _ := e2e.Get(w.t, admin, "/readyz"); return code == http.StatusOK })
	return c
}

// deploy rolls out a new version, one worker after the other. It skips the first worker.
func (w *week) deploy() {
	w.version++
	w.deployed = w.Write(fmt.Sprintf("version%d.yaml", w.version), weekReports(w.version, w.minute()), w.above())
	for i := range w.workers[1:] {
		c := w.workers[i+1]
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			w.t.Errorf("a worker that is asked to stop: %v", err)
		}
		w.workers[i+1] = w.start(e2e.Address(w.t))
	}
}

// event is an operation or a failure at an hour of the week.
type event struct {
	hour int
	do   func()
}

func (w *week) events() (all []event) {
	fault := func(kind string, lasts time.Duration) func() {
		return func() {
			if kind == faultHandOver && w.redis.kind == e2e.Alone {
				return
			}
			if err := w.redis.cause(w.t.Context(), w.t.Context(), incident{kind: kind, lasts: lasts}); err != nil {
				w.t.Errorf("%s: %v", kind, err)
			}
		}
	}
	for day := range 5 {
		all = append(all, event{day*hoursOfDay + 11, w.deploy})
	}
	if w.hour < time.Second { // there is time for one of each
		all = all[:1]
	}
	all = append(all,
		event{1*hoursOfDay + 15, fault(faultRedis, max(2*time.Second, w.hour))},
		event{2*hoursOfDay + 10, func() { w.down.Store(true) }},
		event{2*hoursOfDay + 12, func() { w.down.Store(false) }},
		event{2*hoursOfDay + 13, w.retryAll},
	)
	if w.hour < time.Second {
		return all
	}
	return append(all,
		event{3*hoursOfDay + 15, fault(faultHandOver, 0)},
		event{4*hoursOfDay + 10, fault(faultFreeze, 3*time.Second)},
	)
}

// retryAll runs all dead jobs again, as an operator does after an outage.
func (w *week) retryAll() {
	for _, id := range w.failed() {
		if out, err := fanfold("-c", w.File, "retry", id).CombinedOutput(); err == nil {
			w.retried++
		} else {
			w.t.Logf("retry %s: %s", id, out)
		}
	}
}

// failed returns the ids of the records that are FAILED.
func (w *week) failed() (ids []string) {
	rows, err := w.DB.QueryContext(w.t.Context(), "SELECT id FROM file_download_record WHERE status = 'FAILED'")
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// live runs the week.
func (w *week) live() {
	w.version, w.deployed = 1, w.File
	w.workers = []*exec.Cmd{w.start(w.admin), w.start(e2e.Address(w.t)), w.start(e2e.Address(w.t))}
	timers := w.Partitions.Of("nightly-1").Keys.Timers
	w.Redis.ZAdd(w.t.Context(), timers, redis.Z{Score: float64(time.Now().Add(2 * w.hour).UnixMilli()), Member: "nightly-1"})
	total := 0.0
	for hour := range hoursOfWeek {
		total += arrivals(hour)
	}
	events := w.events()
	slices.SortStableFunc(events, func(a, b event) int { return a.hour - b.hour })
	operated := make(chan struct{})
	hours := make(chan int, hoursOfWeek)
	go func() {
		defer close(operated)
		for hour := range hours {
			for len(events) > 0 && events[0].hour <= hour {
				events[0].do()
				events = events[1:]
			}
		}
	}()
	came, sum, began := 0, 0.0, time.Now()
	for hour := range hoursOfWeek {
		if hour == hoursOfDay+3 { // the night after the first day
			w.rest()
			w.before = w.measure()
			began = time.Now().Add(-time.Duration(hour) * w.hour)
		}
		sum += arrivals(hour)
		now := int(sum / total * float64(w.jobs))
		w.arrive(now-came, began.Add(time.Duration(hour)*w.hour))
		came = now
		hours <- hour
		elapse(w.t.Context(), time.Until(began.Add(time.Duration(hour+1)*w.hour)))
	}
	close(hours)
	<-operated
	w.Redis.ZRem(w.t.Context(), timers, "nightly-1")
	w.rest()
	w.retryAll()
	w.rest()
}

// arrive makes services request downloads, spread over an hour.
func (w *week) arrive(jobs int, from time.Time) {
	ctx := w.t.Context()
	for i := range jobs {
		elapse(ctx, time.Until(from.Add(w.hour*time.Duration(i)/time.Duration(jobs))))
		name := "payments"
		switch dice := w.random.IntN(100); {
		case dice < 2:
			name = "export"
		case dice < 12:
			name = "slow"
		case dice < 30:
			name = "vendor"
		}
		id := w.Records.Insert(name, fmt.Sprintf(`{"job": %d}`, w.random.IntN(1000)))
		push := func() error { return w.Operate.Jobs.Push(audit.With(ctx, &audit.Actor{Who: "test"}), id) }
		if w.random.IntN(10) == 0 {
			due := float64(time.Now().Add(time.Duration(w.random.Float64() * 2 * float64(w.hour))).UnixMilli())
			push = func() error {
				return w.Redis.ZAdd(ctx, w.Partitions.Of(id).Keys.Delayed, redis.Z{Score: due, Member: id}).Err()
			}
		}
		for ctx.Err() == nil && push() != nil {
			elapse(ctx, 50*time.Millisecond)
		}
		if w.random.IntN(100) == 0 {
			if fanfold("-c", w.File, "cancel", id).Run() == nil {
				w.cancelled++
			}
		}
	}
}

// rest waits until all records are final.
func (w *week) rest() {
	w.t.Helper()
	left := -1
	for moved := time.Now(); left != 0 && w.t.Context().Err() == nil; elapse(w.t.Context(), 50*time.Millisecond) {
		now := w.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status IN ('PENDING', 'PROCESSING')")
		if now != left {
			left, moved = now, time.Now()
		}
		if time.Since(moved) > 90*time.Second {
			w.t.Fatalf("%d records do not become final", left)
		}
	}
}

// footprint is what the first worker and the servers use while no job runs.
type footprint struct {
	goroutines, files, memory int // of the worker; memory is resident, in bytes
	redis, mysql              int // connections
	scratch                   int // files in the worker's temporary folder
}

func (w *week) measure() footprint {
	w.t.Helper()
	// Idle connections and the memory of the last peak are released after a while.
	elapse(w.t.Context(), min(10*w.hour, 30*time.Second))
	code, text := e2e.Get(w.t, w.admin, "/metrics")
	if code != http.StatusOK {
		w.t.Fatalf("metrics: %d %s", code, text)
	}
	metric := func(name string) int {
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(line, name+" "); ok {
				n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
				if err != nil {
					w.t.Fatal(err)
				}
				return int(n)
			}
		}
		w.t.Fatalf("no %s in the metrics", name)
		return 0
	}
	f := footprint{goroutines: metric("go_goroutines"), files: metric("process_open_fds"), memory: metric("process_resident_memory_bytes")}
	master, err := w.redis.master(w.t.Context(), w.Partitions.First().Keys.Jobs)
	if err != nil {
		w.t.Fatal(err)
	}
	client := master.Client()
	defer client.Close()
	f.redis = strings.Count(client.ClientList(w.t.Context()).Val(), "\n")
	f.mysql = w.Records.Number("SELECT COUNT(*) FROM information_schema.processlist WHERE db = ?", w.Schema)
	entries, err := os.ReadDir(w.scratch)
	if err != nil {
		w.t.Fatal(err)
	}
	f.scratch = len(entries)
	return f
}

// judge checks the results of the week.
func (w *week) judge() {
	t := w.t
	after := w.measure()
	t.Logf("%d jobs of services and %d of the timer, %d cancelled, %d retried\nafter a day:  %+v\nafter a week: %+v",
		w.jobs, w.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE report = 'nightly'"), w.cancelled, w.retried, w.before, after)
	for _, c := range []struct {
		what               string
		before, after, add int
	}{
		{"goroutines", w.before.goroutines, after.goroutines, 20},
		{"open files", w.before.files, after.files, 20},
		{"connections to Redis", w.before.redis, after.redis, 20},
		{"connections to MySQL", w.before.mysql, after.mysql, 20},
		{"bytes of memory", w.before.memory, after.memory, w.before.memory/2 + 32<<20},
		{"scratch files", 0, after.scratch, 0},
	} {
		// The pools of a short week are not full after its first day.
		if (w.hour >= time.Second || c.add == 0) && c.after > c.before+c.add {
			t.Errorf("%d %s after the week, %d after the first day", c.after, c.what, c.before)
		}
	}
	for _, c := range w.workers {
		_ = c.Process.Signal(syscall.SIGTERM)
	}
	w.Jobs.Idle()
	for _, text := range w.redis.left(t.Context()) {
		t.Error(text)
	}
	if n := w.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE report <> 'nightly'"); n != w.jobs {
		t.Errorf("%d records of %d", n, w.jobs)
	}
	if n := w.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE report = 'nightly'"); n < 3 {
		t.Errorf("%d records of the timer", n)
	}
	if n := w.Records.Number("SELECT COUNT(*) FROM file_download_record WHERE status = 'CANCELLED'"); n != w.cancelled {
		t.Errorf("%d records are CANCELLED, and %d were cancelled", n, w.cancelled)
	}
	// Each record became final once, and once more for each retry of an operator.
	ends := w.Records.Number("SELECT COUNT(*) FROM history WHERE status NOT IN ('PENDING', 'PROCESSING') AND was IN ('PENDING', 'PROCESSING')")
	if records := w.Records.Number("SELECT COUNT(*) FROM file_download_record"); ends != records+w.retried {
		t.Errorf("%d records, of which %d were retried, became final %d times", records, w.retried, ends)
	}
	w.files()
}

// files compares every file with the one that its record requests.
func (w *week) files() {
	t := w.t
	rows, err := w.DB.QueryContext(t.Context(), "SELECT id, report, COALESCE(JSON_VALUE(parameters, '$.job'), 0), status, COALESCE(file, ''), COALESCE(error, '') FROM file_download_record")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	known := map[string]bool{}
	for rows.Next() {
		var id, name, status, file, failure string
		var job int
		if err := rows.Scan(&id, &name, &job, &status, &file, &failure); err != nil {
			t.Fatal(err)
		}
		if status == string(report.Cancelled) && file == "" {
			continue
		}
		path := strings.TrimPrefix(file, "file://")
		known[path], known[path+".manifest.json"] = true, true
		got, err := os.ReadFile(path)
		version := ""
		if header, _, ok := strings.Cut(string(got), "\r\n"); ok && name == "payments" {
			version = header[strings.LastIndexByte(header, 'v')+1:]
		}
		if n, _ := strconv.Atoi(version); err != nil || string(got) != weekFile(name, job, version) || name == "payments" && (n < 1 || n > w.version) {
			t.Errorf("%s %s is %s with %d bytes in %s: %v %s", name, id, status, len(got), file, err, failure)
		}
	}
	if err := filepath.WalkDir(w.Dir+"/files", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !known[path] {
			t.Errorf("%s is in the sink and no record points to it", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
