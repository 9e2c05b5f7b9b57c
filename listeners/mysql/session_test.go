package mysql

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

// running counts the queries on the server that hold a text.
func (b *bundle) running(t *testing.T, text string) (n int) {
	t.Helper()
	if err := b.admin.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID() AND COMMAND IN ('Query', 'Execute') AND INFO LIKE ?", "%"+text+"%").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// await polls until so many of these queries run.
func (b *bundle) await(t *testing.T, text string, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for b.running(t, text) != want {
		select {
		case <-ctx.Done():
			t.Fatalf("%d queries with %q are running, want %d", b.running(t, text), text, want)
		case <-tick.C:
		}
	}
}

func TestTimeoutIsTheServers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (v INT)", "INSERT INTO t VALUES (1), (2)")
	read := task(t, "SELECT v, SLEEP(10) AS timeout_test FROM t", "v timeout_test")
	read.Listener.Timeout = 200 * time.Millisecond
	var before, after int
	if err := b.db.QueryRow("SELECT CONNECTION_ID()").Scan(&before); err != nil {
		t.Fatal(err)
	}
	_, err := b.read(t.Context(), read)
	if !errors.Is(err, ErrTimeout) || errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), "after 200ms: raise the timeout") {
		t.Errorf("%v", err)
	}
	b.await(t, "timeout_test", 0)
	var limit float64
	variable := "@@max_statement_time"
	if testmain.SharedDatabase(t).MySQL {
		variable = "@@max_execution_time"
	}
	if err := b.db.QueryRow("SELECT CONNECTION_ID(), "+variable).Scan(&after, &limit); err != nil || limit != 0 {
		t.Errorf("the connection keeps a limit of %v s, %v", limit, err)
	}
	if after != before {
		t.Error("the query was killed, which its connection does not survive")
	}
}

// TestTimeoutWithoutAnError: MySQL ends SLEEP at the timeout without an error, and a subquery after it
// is NULL. This is no result.
func TestTimeoutWithoutAnError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (v INT)", "INSERT INTO t VALUES (1), (2)")
	read := task(t, "SELECT 1 AS k, SLEEP(10) AS slept, (SELECT COUNT(*) FROM t) AS n", "k slept n")
	read.Listener.Timeout = 200 * time.Millisecond
	d, err := b.read(t.Context(), read)
	if !errors.Is(err, ErrTimeout) || errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("%v %v", d.Rows, err)
	}
	b.mustRead(t, task(t, "SELECT 1 AS v", "v"))
}

// TestALateResult: a result that only arrives late is taken from MariaDB, which counts the queries
// that it interrupts. From MySQL it is not, nor from a connection on which a query was interrupted.
func TestALateResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		query              string
		times, interrupted bool
	}{
		{"SELECT 1 AS late", false, testmain.SharedDatabase(t).MySQL},
		{"SELECT SLEEP(10) AS late", true, true},
	} {
		read := task(t, c.query, "late")
		read.Listener.Timeout = 200 * time.Millisecond
		session, err := b.source.open(t.Context(), read.Listener)
		if err != nil {
			t.Fatal(err)
		}
		err = (&reader{task: read, out: listeners.NewWriter(nil)}).run(t.Context(), session, "")
		if errors.Is(err, ErrTimeout) != c.times {
			t.Errorf("%s: %v", c.query, err)
		}
		session.began = session.began.Add(-time.Minute)
		if err := session.interrupted(t.Context()); errors.Is(err, ErrTimeout) != c.interrupted {
			t.Errorf("%s, late: %v", c.query, err)
		}
		session.close(t.Context())
	}
}

// TestTimeoutWithoutTheServer: the server knows no limit, or does not keep it.
func TestTimeoutWithoutTheServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	read := task(t, "SELECT SLEEP(10) AS own_timeout_test", "own_timeout_test")
	session, err := b.source.open(t.Context(), &report.Listener{Name: "l"})
	if err != nil {
		t.Fatal(err)
	}
	if session.limit != "" {
		t.Errorf("limited by %s without a timeout", session.limit)
	}
	read.Listener.Timeout = 100 * time.Millisecond
	session.listener = read.Listener
	err = (&reader{task: read, out: listeners.NewWriter(nil)}).run(t.Context(), session, "")
	session.close(t.Context())
	if !errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	b.await(t, "own_timeout_test", 0)
}

func TestCancelKillsTheQuery(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		_, err := b.read(ctx, task(t, "SELECT SLEEP(60) AS cancel_test", "cancel_test"))
		return err
	})
	b.await(t, "cancel_test", 1)
	cancel()
	if err := g.Wait(); !errors.Is(err, context.Canceled) || errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("%v", err)
	}
	b.await(t, "cancel_test", 0)
	b.mustRead(t, task(t, "SELECT 1 AS v", "v"))
}

// TestAbortEndsALongResult: the writer refuses a chunk of a result that would
// take for ever.
func TestAbortEndsALongResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lost := errors.New("lost")
	out := listeners.NewWriter(func([]dataset.Column, *dataset.Builder, bool) error { return lost })
	err := b.source.Read(t.Context(), task(t, "SELECT a.seq AS abort_test FROM seq_1_to_100000 a, seq_1_to_100000 b", "abort_test"), out)
	if !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
	b.await(t, "abort_test", 0)
	b.mustRead(t, task(t, "SELECT 1 AS v", "v"))
}

func TestKilledByAnOperator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (v INT)", "INSERT INTO t VALUES (1), (2)")
	var g errgroup.Group
	g.Go(func() error {
		_, err := b.read(t.Context(), task(t, "SELECT v, SLEEP(60) AS killed_test FROM t", "v killed_test"))
		return err
	})
	b.await(t, "killed_test", 1)
	var id string
	if err := b.admin.QueryRow("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID() AND INFO LIKE '%killed_test%'").Scan(&id); err != nil {
		t.Fatal(err)
	}
	b.exec(t, "KILL QUERY "+id)
	if err := g.Wait(); err == nil || !strings.Contains(err.Error(), "killed on the server") || errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("%v", err)
	}
}

// TestOneSnapshot: what is committed after the start of a task is not seen.
func TestOneSnapshot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB", "INSERT INTO t VALUES (1, 0), (2, 0)")
	server := testmain.SharedDatabase(t)
	dsn := server.DSN(b.schema) + "?tx_isolation=%27READ-COMMITTED%27"
	if server.MySQL {
		dsn = strings.Replace(dsn, "tx_isolation", "transaction_isolation", 1)
	}
	b.source = newSource(connect(t, dsn), connect(t, dsn))
	read := listenertest.From(task(t, "SELECT v FROM t WHERE id IN (:s.v)", "v"), dataset.Column{Kind: report.KindInteger}, func(yield func([]byte, error) bool) {
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
		return b.mustRead(t, task(t, "SELECT CONNECTION_ID() AS id", "id")).JSON("id")
	}
	first := connection()
	if again := connection(); again != first {
		t.Errorf("connection %s after %s", again, first)
	}
	b.mustRead(t, from(task(t, "SELECT 1 AS v FROM DUAL WHERE 'a' NOT IN (:s.v)", "v"), `"a@x"`, `"get_lock("`))
	if again := connection(); again != first {
		t.Error("values of an earlier stage cost the connection")
	}
	b.mustRead(t, task(t, "SELECT @x := 5 AS v", "v"))
	if got := b.mustRead(t, task(t, "SELECT @x AS v", "v")).JSON("v"); got != "[null]" {
		t.Errorf("the variable of another task: %s", got)
	}
	b.mustRead(t, task(t, "SELECT GET_LOCK('"+b.schema+"', 0) AS v", "v"))
	// A connection that was closed here ends on the server a moment later.
	b.becomes(t, "the lock of another task is free", "SELECT IS_FREE_LOCK('"+b.schema+"')", 1)
	if _, err := b.read(t.Context(), task(t, "SELECT nothing AS v", "v")); err == nil {
		t.Fatal("no error")
	}
	second := connection()
	if second == first {
		t.Error("a connection with traces was used again")
	}
	if again := connection(); again != second {
		t.Error("an error of the query cost the connection")
	}
	b.becomes(t, "no transaction is open", "SELECT COUNT(*) FROM information_schema.INNODB_TRX x JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id WHERE p.DB = DATABASE()", 0)
}

// becomes polls until a query gives a number.
func (b *bundle) becomes(t *testing.T, what, query string, want int) {
	t.Helper()
	listenertest.Becomes(t, what, func() (got string) {
		if err := b.admin.QueryRow(query).Scan(&got); err != nil {
			t.Fatal(err)
		}
		return got
	}, strconv.Itoa(want))
}

func TestServerThatGoesAway(t *testing.T) {
	t.Parallel()
	m, err := testenv.StartDatabase(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	admin, err := m.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.Exec("CREATE DATABASE x"); err != nil {
		t.Fatal(err)
	}
	b := &bundle{schema: "x", source: newSource(connect(t, m.DSN("x")), connect(t, m.DSN("x")))}
	b.admin, err = m.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	defer b.admin.Close()
	var g errgroup.Group
	g.Go(func() error {
		_, err := b.read(t.Context(), task(t, "SELECT SLEEP(60) AS v", "v"))
		return err
	})
	b.await(t, "SLEEP", 1)
	m.Kill()
	if err := g.Wait(); err == nil || errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), "connection to database d") {
		t.Errorf("%v", err)
	}
}

// through has the source reach its server through a proxy.
func (b *bundle) through(t *testing.T) testmain.Proxy {
	t.Helper()
	proxy := testmain.NewProxy(t, testmain.SharedDatabase(t).Addr)
	dsn := strings.Replace(testmain.SharedDatabase(t).DSN(b.schema), testmain.SharedDatabase(t).Addr, proxy.Addr, 1)
	b.db = connect(t, dsn)
	b.source = newSource(b.db, connect(t, dsn))
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
		d, err := b.read(t.Context(), task(t, "SELECT seq, 'text' AS text FROM seq_1_to_1000000", "seq text"))
		if !errors.Is(err, listeners.ErrOutage) || !strings.Contains(err.Error(), "the connection to database d failed") {
			t.Errorf("after %d bytes: %v", bytes, err)
		}
		if d.Columns == nil && bytes > 500_000 {
			t.Errorf("after %d bytes: no chunk", bytes)
		}
		if err := proxy.Cure(t.Context(), "cut"); err != nil {
			t.Fatal(err)
		}
	}
	b.mustRead(t, task(t, "SELECT 1 AS a", "a"))
}

// TestADatabaseThatFallsSilent, on a connection that is open already and on a new
// one, is away: that is not the query's fault.
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
