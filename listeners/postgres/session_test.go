package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

func TestTimeoutIsTheServers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pid := func() string {
		return b.mustRead(t, task(t, "SELECT pg_backend_pid() AS pid", "pid")).JSON("pid")
	}
	before := pid()
	read := task(t, "SELECT pg_sleep(10)::text AS timeout_test", "timeout_test")
	read.Listener.Timeout = 200 * time.Millisecond
	began := time.Now()
	_, err := b.read(t.Context(), read)
	if !errors.Is(err, ErrTimeout) || errors.Is(err, listeners.ErrPermanent) ||
		!strings.Contains(err.Error(), "after 200ms: raise the timeout") {
		t.Errorf("%v", err)
	}
	if pid() != before {
		t.Errorf("the server did not end the query itself, after %s", time.Since(began))
	}
	limit := b.mustRead(t, task(t, "SELECT current_setting('statement_timeout') AS v", "v")).JSON("v")
	if limit != `["1min"]` {
		t.Errorf("the next query has a limit of %s", limit)
	}
}

// TestTimeoutWithoutTheServer: the server does not keep the limit.
func TestTimeoutWithoutTheServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	read := task(t, "SELECT pg_sleep(10)::text AS own_timeout_test", "own_timeout_test")
	session, err := b.source.open(t.Context(), read.Listener)
	if err != nil {
		t.Fatal(err)
	}
	read.Listener.Timeout = 100 * time.Millisecond
	err = (&reader{task: read, out: listeners.NewWriter(nil)}).run(t.Context(), session)
	session.close()
	if !errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	b.await(t, "own_timeout_test", "0")
	b.mustRead(t, task(t, "SELECT 1 AS v", "v"))
}

func TestCancelEndsTheQuery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		_, err := b.read(ctx, task(t, "SELECT pg_sleep(60)::text AS cancel_test", "cancel_test"))
		return err
	})
	// A server drops a request to cancel that comes between two messages of a query: this one is in its function.
	b.becomes(t, "queries that sleep", "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "+
		"wait_event = 'PgSleep' AND query LIKE '%cancel_test%'", "1")
	cancel()
	if err := g.Wait(); !errors.Is(err, context.Canceled) || errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("%v", err)
	}
	b.await(t, "cancel_test", "0")
	b.mustRead(t, task(t, "SELECT 1 AS v", "v"))
}

// TestAbortEndsALongResult: the writer refuses a chunk of a result that would take for ever. It is not read to its end.
func TestAbortEndsALongResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lost := errors.New("lost")
	out := listeners.NewWriter(func([]dataset.Column, *dataset.Builder, bool) error { return lost })
	endless := task(t, "SELECT a AS abort_test FROM generate_series(1, 100000) a, generate_series(1, 1000000) b", "abort_test")
	began := time.Now()
	if err := b.source.Read(t.Context(), endless, out); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("after %s", took)
	}
	b.await(t, "abort_test", "0")
	b.mustRead(t, task(t, "SELECT 1 AS v", "v"))
}

func TestEndedByAnOperator(t *testing.T) {
	t.Parallel()
	for function, want := range map[string]struct {
		outage bool
		text   string
	}{"pg_cancel_backend": {false, "cancelled on the server"}, "pg_terminate_backend": {true, "database d: FATAL"}} {
		b := setup(t)
		var g errgroup.Group
		g.Go(func() error {
			_, err := b.read(t.Context(), task(t, "SELECT pg_sleep(60)::text AS ended_test", "ended_test"))
			return err
		})
		b.await(t, "ended_test", "1")
		b.ask(t, "SELECT "+function+"(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE "+
			"'%ended_test%' AND pid <> pg_backend_pid()")
		if err := g.Wait(); err == nil || !strings.Contains(err.Error(), want.text) ||
			errors.Is(err, listeners.ErrPermanent) || errors.Is(err, listeners.ErrOutage) != want.outage {
			t.Errorf("%s: %v", function, err)
		}
		b.mustRead(t, task(t, "SELECT 1 AS v", "v"))
	}
}

// TestOneSnapshot: what is committed after the start of a task is not seen.
func TestOneSnapshot(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE t (id int PRIMARY KEY, v int)", "INSERT INTO t VALUES (1, 0), (2, 0)")
	read := listenertest.From(task(t, "SELECT v FROM t WHERE id IN (:s.v)", "v"), dataset.Column{Kind: report.KindInteger},
		func(yield func([]byte, error) bool) {
			b.exec(t, "UPDATE t SET v = 1")
			if yield([]byte("1"), nil) {
				b.exec(t, "UPDATE t SET v = 2")
				yield([]byte("2"), nil)
			}
		})
	if got := b.mustRead(t, read).JSON("v"); got != "[0,0]" {
		t.Errorf("%s", got)
	}
}

func TestConnectionsAreCleanForTheNext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	connection := func() (id string) {
		return b.mustRead(t, task(t, "SELECT pg_backend_pid() AS id", "id")).JSON("id")
	}
	first := connection()
	if again := connection(); again != first {
		t.Errorf("connection %s after %s", again, first)
	}
	b.mustRead(t, task(t, "SELECT set_config('fanfold.x', '5', false) AS v", "v"))
	got := b.mustRead(t, task(t, "SELECT NULLIF(current_setting('fanfold.x', true), '') AS v", "v")).JSON("v")
	if got != "[null]" {
		t.Errorf("the setting of another task: %s", got)
	}
	if _, err := b.read(t.Context(), task(t, "SELECT nothing AS v", "v")); err == nil {
		t.Fatal("no error")
	}
	if again := connection(); again != first {
		t.Error("an error of the query cost the connection")
	}
	b.mustRead(t, task(t, "SELECT pg_advisory_lock(7)::text AS v", "v"))
	b.becomes(t, "the lock of another task is free", "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", "0")
	if connection() == first {
		t.Error("a connection with traces was used again")
	}
	b.becomes(t, "no transaction is open", "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "+
		"AND state LIKE 'idle in%'", "0")
	// A connection that the server has closed is replaced.
	b.ask(t, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND "+
		"pid <> pg_backend_pid()")
	b.becomes(t, "no connection is open", "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "+
		"AND pid <> pg_backend_pid()", "0")
	connection()
	if err := b.source.Reach(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestConnectionsAreBounded: a source has no more connections than its database may have, also after cancelled queries.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	limited, err := Open(report.Database{DSN: report.Secret(testmain.SharedPostgres(t).DSN(b.database)), MaxConnections: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer limited.Close()
	b.source = limited
	var g errgroup.Group
	for n := range 12 {
		g.Go(func() error {
			ctx := t.Context()
			if n%3 == 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
			}
			d, err := b.read(ctx, task(t, "SELECT count(*) AS n, pg_sleep(0.1)::text AS s FROM pg_stat_activity WHERE "+
				"datname = current_database()", "n s"))
			if err == nil && d.JSON("n") > "[3]" {
				return fmt.Errorf("%s connections", d.JSON("n"))
			}
			if n%3 != 0 {
				return err
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

func TestServersThatRefuse(t *testing.T) {
	t.Parallel()
	p, err := testenv.StartPostgres(t.Context(), "-cmax_connections=4", "-csuperuser_reserved_connections=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	for _, statement := range []string{"CREATE USER app", "CREATE DATABASE closed", "CREATE USER locked NOLOGIN",
		"REVOKE CONNECT ON DATABASE closed FROM PUBLIC"} {
		if err := p.Exec(t.Context(), "postgres", statement); err != nil {
			t.Fatal(err)
		}
	}
	one := task(t, "SELECT 1 AS v", "v")
	// The server frees the connection of a login that it refused a little later.
	settled := func(ask func() error) (err error) {
		listenertest.Becomes(t, "the connection is free", func() string {
			err = ask()
			return strconv.FormatBool(err != nil && strings.Contains(err.Error(), "53300"))
		}, "false")
		return err
	}
	dsn := strings.Replace(p.DSN("postgres"), "postgres@", "app:s3cret@", 1)
	for refused, text := range map[string]string{
		strings.Replace(dsn, "/postgres?", "/missing?", 1): "3D000",
		strings.Replace(dsn, "/postgres?", "/closed?", 1):  "42501",
		strings.Replace(dsn, "app:", "locked:", 1):         "28000",
		strings.Replace(dsn, "app:", "nobody:", 1):         "28000",
	} {
		b := &bundle{source: open(t, refused)}
		read := func() error { _, err := b.read(t.Context(), one); return err }
		err := settled(read)
		if err == nil || errors.Is(err, listeners.ErrOutage) || errors.Is(err, listeners.ErrPermanent) ||
			!strings.Contains(err.Error(), "refuses the login") || !strings.Contains(err.Error(), text) ||
			strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", text, err)
		}
		if err := settled(func() error { return b.source.Reach(t.Context()) }); !errors.Is(err, fault.Login) {
			t.Errorf("%s: Reach says %v", text, err)
		}
	}
	// Two queries take all connections that the account may have: a query needs no other, also for new types.
	first, second := &bundle{source: open(t, dsn)}, &bundle{source: open(t, dsn)}
	if err := p.Exec(t.Context(), "postgres", "CREATE TYPE colour AS ENUM ('red')"); err != nil {
		t.Fatal(err)
	}
	for b, of := range map[*bundle]listeners.Task{first: one, second: task(t, "SELECT 'red'::colour AS v", "v")} {
		if err := settled(func() error { _, err := b.read(t.Context(), of); return err }); err != nil {
			t.Fatal(err)
		}
	}
	third := &bundle{source: open(t, dsn)}
	if _, err := third.read(t.Context(), one); !errors.Is(err, listeners.ErrOutage) || !strings.Contains(err.Error(), "53300") {
		t.Errorf("too many connections: %v", err)
	}
	var g errgroup.Group
	g.Go(func() error {
		_, err := first.read(t.Context(), task(t, "SELECT pg_sleep(60)::text AS v", "v"))
		return err
	})
	time.AfterFunc(300*time.Millisecond, p.Stop)
	if err := g.Wait(); !errors.Is(err, listeners.ErrOutage) || !strings.Contains(err.Error(), "database d") {
		t.Errorf("a server that stops: %v", err)
	}
	if _, err := second.read(t.Context(), one); !errors.Is(err, listeners.ErrOutage) ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a server that is down: %v", err)
	}
}

// through has the source reach its server through a proxy.
func (b *bundle) through(t *testing.T) testmain.Proxy {
	t.Helper()
	server := testmain.SharedPostgres(t)
	proxy := testmain.NewProxy(t, server.Addr)
	b.source = open(t, strings.Replace(server.DSN(b.database), server.Addr, proxy.Addr, 1))
	return proxy
}

// TestAConnectionThatBreaksInAResult is no end of the result, wherever it breaks.
func TestAConnectionThatBreaksInAResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	proxy := b.through(t)
	for _, bytes := range []int{30_000, 30_001, 30_011, 100_000, 1_000_000} {
		toxic := fmt.Sprintf(`{"name": "cut", "type": "limit_data", "attributes": {"bytes": %d}}`, bytes)
		if err := proxy.Poison(t.Context(), toxic); err != nil {
			t.Fatal(err)
		}
		_, err := b.read(t.Context(), task(t, "SELECT n, 'text' AS text FROM generate_series(1, 1000000) n", "n text"))
		if !errors.Is(err, listeners.ErrOutage) || !strings.Contains(err.Error(), "the connection to database d failed") {
			t.Errorf("after %d bytes: %v", bytes, err)
		}
		if err := proxy.Cure(t.Context(), "cut"); err != nil {
			t.Fatal(err)
		}
	}
	b.mustRead(t, task(t, "SELECT 1 AS a", "a"))
}

// TestADatabaseThatFallsSilent, on a connection that is open already and on a new one, is away: that is not the
// query's fault.
func TestADatabaseThatFallsSilent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	proxy := b.through(t)
	b.mustRead(t, task(t, "SELECT 1 AS a", "a")) // its connection stays open
	if err := proxy.Poison(t.Context(), `{"name": "hole", "type": "timeout", "attributes": {"timeout": 0}}`); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"an open connection", "a new connection"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := b.read(ctx, task(t, "SELECT 1 AS a", "a"))
		cancel()
		if !errors.Is(err, listeners.ErrOutage) || !strings.Contains(err.Error(), "did not answer") {
			t.Errorf("%s: %v", state, err)
		}
	}
	if err := proxy.Cure(t.Context(), "hole"); err != nil {
		t.Fatal(err)
	}
}

// TestMemoryIsBounded: the heap does not grow with the result.
func TestMemoryIsBounded(t *testing.T) {
	b := setup(t)
	peak := func(rows int) (most uint64) {
		chunks := 0
		out := listeners.NewWriter(func([]dataset.Column, *dataset.Builder, bool) error {
			if chunks++; chunks%20 == 0 {
				runtime.GC()
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
			return nil
		})
		read := task(t, fmt.Sprintf("SELECT n, repeat('x', 200) AS text FROM generate_series(1, %d) n", rows), "n text")
		if err := b.source.Read(t.Context(), read, out); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		return most
	}
	small, large := peak(30_000), peak(600_000)
	if large > small+4<<20 {
		t.Errorf("%d bytes for 600,000 rows, %d for 30,000", large, small)
	}
}
