package command

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
)

// aside starts a database server whose load no other test changes.
func aside(t *testing.T, extra ...string) (*testenv.Database, *sql.DB) {
	t.Helper()
	server, err := testenv.StartDatabase(t.Context(), t.TempDir(), extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	db, err := server.Open("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return server, db
}

// sleeping runs statements that sleep until stop is called or the test ends.
func sleeping(t *testing.T, db *sql.DB, n int) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range n {
		all.Go(func() { _, _ = db.ExecContext(ctx, "DO SLEEP(600)") })
	}
	stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// execute executes statements.
func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestABusyDatabaseIsLeftAlone: while more threads run than a database may have, its jobs wait and use no try, and
// why, status and doctor say so.
func TestABusyDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	server, db := aside(t)
	stop := sleeping(t, db, 4)
	s := newStack(t, `
  shop:
    retry: 0
    listeners: {goods: {database: shop, query: SELECT 7 AS n}}
`, fmt.Sprintf(`databases: {db: {dsn: "{dsn}"}, shop: {dsn: "%s", protect: {threads_running: 2}}}`, server.DSN("")))
	s.Serve(s.File)
	id := s.Records.Insert("shop", "")
	s.Jobs.Push(id)
	says := " threads run, and protect.threads_running is 2"
	v := s.because(id, why.KindSourceBusy, "It waits for goods: the database shop is busy: ", says)
	if len(v.Remedies) == 0 || !strings.Contains(v.Remedies[0], "raise the limit in databases.shop.protect") {
		t.Errorf("%q", v.Remedies)
	}
	s.Eventually("status says so", func() bool { // a worker that looks again says nothing for a moment
		out, _ := s.fanfold("status", id)
		return strings.Contains(out, "the database shop is busy: ")
	})
	if f := s.finding("protection of database shop"); f.Result != doctor.Warn || !strings.Contains(f.Detail, "(threads_running: 2)") {
		t.Errorf("%+v", f)
	}
	stop()
	if job := s.Jobs.Wait(id)[0]; s.Files.Content(job) != "n\r\n7\r\n" {
		t.Errorf("%+v", job)
	}
	if f := s.finding("protection of database shop"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
}

// TestAReplicaThatIsBehind: a listener reads the replica, unless that is too far behind.
func TestAReplicaThatIsBehind(t *testing.T) {
	t.Parallel()
	primary, writes := aside(t, "--log-bin=log", "--server-id=1")
	execute(t, writes, "CREATE USER copy@'%'", "GRANT REPLICATION SLAVE ON *.* TO copy@'%'")
	replica, db := aside(t, "--log-bin=log", "--server-id=2")
	host, port, _ := strings.Cut(primary.Addr, ":")
	follow := "CHANGE MASTER TO master_host='%s', master_port=%s, master_user='copy'"
	if primary.MySQL {
		follow = "CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%s, SOURCE_USER='copy', GET_SOURCE_PUBLIC_KEY=1"
	}
	execute(t, db, fmt.Sprintf(follow, host, port))
	s := newStack(t, `
  shop:
    retry: 0
    listeners:
      beside: {database: shop, query: SELECT @@server_id AS n, read_from: replica}
`, fmt.Sprintf(`databases: {db: {dsn: "{dsn}"}, shop: {dsn: "%s", replica: "%s", protect: {replica_lag: 30s}}}`, primary.DSN(""), replica.DSN("")))
	s.Serve(s.File)
	id := s.Records.Insert("shop", "")
	s.Jobs.Push(id)
	s.because(id, why.KindSourceBusy, "the database shop.replica is busy: replication is stopped, and protect.replica_lag is 30s")
	if f := s.finding("protection of database shop.replica"); f.Result != doctor.Warn || f.Detail != "replication is stopped (replica_lag: 30s)" {
		t.Errorf("%+v", f)
	}
	execute(t, db, "START REPLICA")
	if job := s.Jobs.Wait(id)[0]; s.Files.Content(job) != "n\r\n2\r\n" {
		t.Errorf("%+v", job)
	}
	if f := s.finding("protection of database shop.replica"); f.Result != doctor.Pass {
		t.Errorf("%+v", f)
	}
}

// TestPartsOfABusyDatabase: a reader in parts pauses before its next part while more threads run than may, and then reads
// all rows once.
func TestPartsOfABusyDatabase(t *testing.T) {
	t.Parallel()
	server, db := aside(t)
	execute(t, db, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", "USE shop; "+server.SQL("INSERT INTO t SELECT seq FROM seq_1_to_80000"))
	s := newStack(t, `
  shop:
    retry: 0
    listeners:
      goods: {database: shop, query: "SELECT id, SLEEP(IF(id % 10000 = 1, 0.3, 0)) AS s FROM t", divide: {by: id, parts: 8, snapshot: approximate}}
`, fmt.Sprintf(`databases: {db: {dsn: "{dsn}"}, shop: {dsn: "%s", max_connections: 2, protect: {threads_running: 3}}}
spool: file://%s`, server.DSN("shop"), t.TempDir()))
	s.Serve(s.File)
	id := s.Records.Insert("shop", "")
	s.Jobs.Push(id)
	s.Eventually("a part is read", func() bool {
		state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
		return err == nil && state.Tasks["goods"].PartsRead > 0
	})
	stop := sleeping(t, db, 5)
	paused := s.because(id, why.KindRunning, "it pauses before the next part: the database shop is busy: ", " threads run, and protect.threads_running is 3")
	if out, _ := s.fanfold("status", id, "-o", "json"); !strings.Contains(out, `"why": "the database shop is busy: `) {
		t.Errorf("%s %s", paused.Summary, out)
	}
	stop()
	job := s.Jobs.Wait(id)[0]
	if rows := strings.Count(s.Files.Content(job), "\n"); rows != 80_001 || len(job.Listeners) != 1 || job.Attempt != 1 {
		t.Errorf("%d lines: %+v", rows, job)
	}
}

// TestDoctorOfLimits: doctor refuses limits that the account or the server cannot have, with what to do.
func TestDoctorOfLimits(t *testing.T) {
	t.Parallel()
	server, db := aside(t)
	execute(t, db, "CREATE USER app@'%'")
	s := newStack(t, `
  shop:
    listeners: {goods: {database: shop, query: SELECT 7 AS n}}
`, fmt.Sprintf(`databases: {db: {dsn: "{dsn}"}, shop: {dsn: "%s", protect: {statement_p95: 2s}}, alone: {dsn: "%s", protect: {replica_lag: 5s}}}`,
		strings.Replace(server.DSN(""), "root", "app", 1), server.DSN("")))
	if f := s.finding("protection of database shop"); f.Result != doctor.Fail || f.Detail != "its account lacks the privilege PROCESS" ||
		f.Hint != "Run GRANT PROCESS ON *.* TO `app`@`%`" {
		t.Errorf("%+v", f)
	}
	if f := s.finding("protection of database alone"); f.Result != doctor.Fail || !strings.HasPrefix(f.Detail, "the server is not a replica") ||
		f.Hint != "Write the DSN of the replica, or remove replica_lag" {
		t.Errorf("%+v", f)
	}
}

// vendor is an API that refuses its first calls.
type vendor struct {
	mu      sync.Mutex
	refuses int           // calls that are refused
	now     int           // calls that are answered
	calls   []vendorsCall // in order
}

type vendorsCall struct {
	at      time.Time
	path    string
	refused bool
	now     int // calls at this moment, with this one
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	v.now++
	call := vendorsCall{time.Now(), r.URL.Path, v.refuses > 0, v.now}
	v.refuses--
	v.calls = append(v.calls, call)
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		v.now--
		v.mu.Unlock()
	}()
	if call.refused {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	}
	select { // long enough for others to come meanwhile
	case <-r.Context().Done():
	case <-time.After(100 * time.Millisecond):
	}
	fmt.Fprint(w, `[{"n": 7}]`)
}

// TestARefusalSlowsAllProcesses: after a 429, no process calls the API before its time, and then one call is tried
// first. The tasks that wait use no try.
func TestARefusalSlowsAllProcesses(t *testing.T) {
	t.Parallel()
	v := &vendor{refuses: 1}
	api := httptest.NewServer(v)
	t.Cleanup(api.Close)
	listener := "{kind: http, api: vendor, columns: {n: {path: $.n, type: integer}}, result: {path: /%s}}"
	s := newStack(t, fmt.Sprintf(`
  one: {retry: 0, listeners: {first: `+listener+`}}
  two: {retry: 0, listeners: {second: `+listener+`}}
`, "first", "second"), fmt.Sprintf(`apis: {vendor: {url: "%s"}}`, api.URL))
	s.process("-c", s.File, "serve", "--listeners", "first")
	s.process("-c", s.File, "serve", "--roles", "listeners", "--listeners", "second")
	refused := s.Records.Insert("one", "")
	s.Jobs.Push(refused)
	s.Eventually("the API refuses a call", func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return len(v.calls) > 0
	})
	var ids []string
	for range 4 {
		ids = append(ids, s.Records.Insert("two", ""))
	}
	s.Jobs.Push(ids...)
	for _, job := range s.Jobs.Wait(append(ids, refused)...) {
		if job.Status != report.Success {
			t.Errorf("%s is %s: %s", job.ID, job.Status, job.Error)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.calls) != 6 || !v.calls[0].refused {
		t.Errorf("%d calls: %+v", len(v.calls), v.calls)
	}
	for _, call := range v.calls[1:] {
		if after := call.at.Sub(v.calls[0].at); after < time.Second {
			t.Errorf("%s was called %v after a refusal for a second", call.path, after)
		}
	}
	tried := v.calls[1].at
	for _, call := range v.calls[2:] {
		if after := call.at.Sub(tried); after < 100*time.Millisecond {
			t.Errorf("%s was called %v after the first call that is tried, which takes 100 ms", call.path, after)
		}
	}
}
