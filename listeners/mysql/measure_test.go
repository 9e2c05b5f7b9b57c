package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

// alone starts a server whose measures no other test changes.
func alone(t *testing.T, extra ...string) (*testenv.Database, *bundle) {
	t.Helper()
	server, err := testenv.StartDatabase(t.Context(), t.TempDir(), extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	b := &bundle{}
	if b.admin, err = server.Open(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.admin.Close() })
	return server, b
}

// sleeps runs a statement that sleeps, as a user, until the test ends.
func (b *bundle) sleeps(t *testing.T, server *testenv.Database, user string) {
	t.Helper()
	db := connect(t, strings.Replace(server.DSN(""), "root", user, 1))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = db.ExecContext(ctx, "DO SLEEP(600)")
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// TestThreadsThatRun: sleeping connections do not count, and neither does the one that measures.
func TestThreadsThatRun(t *testing.T) {
	t.Parallel()
	server, b := alone(t)
	source, limits := opened(t, server.DSN(""), 1), report.Protect{ThreadsRunning: 1}
	idle := 0
	if server.MySQL {
		idle = 1 // its event scheduler
	}
	listenertest.Measures(t, source, limits, map[int]string{0: "0 threads run", 1: "1 thread runs"}[idle])
	for range 3 {
		b.sleeps(t, server, "root")
	}
	// A login counts, too: a second measure may fall between the logins and their statements.
	h := listenertest.Measures(t, source, limits, fmt.Sprintf("%d threads run", 3+idle))
	if of, busy := limits.Busy(h); !busy || of.Measure != report.ThreadsRunning {
		t.Errorf("%+v", of)
	}
}

// TestStatementsOfOthers: only statements of other users count, and only an account with the privilege sees them.
func TestStatementsOfOthers(t *testing.T) {
	t.Parallel()
	server, b := alone(t)
	b.exec(t, "CREATE USER app@'%'", "CREATE USER other@'%'")
	source, limits := opened(t, strings.Replace(server.DSN(""), "root", "app", 1), 1), report.Protect{StatementP95: time.Second}
	_, err := source.Measure(t.Context(), limits)
	if mistake, ok := errors.AsType[*report.Mistake](err); !ok || !errors.Is(err, fault.Denied) ||
		mistake.Remedy != "Run GRANT PROCESS ON *.* TO `app`@`%`" {
		t.Errorf("%v", err)
	}
	b.exec(t, "GRANT PROCESS ON *.* TO app@'%'")
	b.sleeps(t, server, "app")
	listenertest.MeasuresOthers(t, source, func() { b.sleeps(t, server, "other") })
}

// replicated returns a server that is a replica of another one, and what it is asked with.
func replicated(t *testing.T) (replica *testenv.Database, b *bundle) {
	t.Helper()
	master, writes := alone(t, "--log-bin=log", "--server-id=1")
	writes.exec(t, "CREATE USER copy@'%'", "GRANT REPLICATION SLAVE ON *.* TO copy@'%'")
	replica, b = alone(t, "--log-bin=log", "--server-id=2")
	host, port, _ := strings.Cut(master.Addr, ":")
	follow := "CHANGE MASTER TO master_host='%s', master_port=%s, master_user='copy'"
	if master.MySQL {
		follow = "CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%s, SOURCE_USER='copy', GET_SOURCE_PUBLIC_KEY=1"
	}
	b.exec(t, fmt.Sprintf(follow, host, port), "START REPLICA")
	return replica, b
}

// TestLag: a replica whose replication is stopped is behind without limit, and only a replica has a lag.
func TestLag(t *testing.T) {
	t.Parallel()
	replica, b := replicated(t)
	source, limits := opened(t, replica.DSN(""), 1), report.Protect{ReplicaLag: time.Minute}
	listenertest.Measures(t, source, limits, "the replica is 0s behind")
	b.exec(t, "STOP REPLICA")
	listenertest.Measures(t, source, limits, "replication is stopped")
	if _, busy := limits.Busy(report.Health{ReplicaLag: report.Stopped}); !busy {
		t.Error("a replica that is stopped counts as one that is not behind")
	}

	b.exec(t, "CREATE USER app@'%'")
	_, err := opened(t, strings.Replace(replica.DSN(""), "root", "app", 1), 1).Measure(t.Context(), limits)
	want := "GRANT REPLICA MONITOR ON *.* TO `app`@`%`"
	if replica.MySQL {
		want = "GRANT REPLICATION CLIENT ON *.* TO `app`@`%`"
	}
	if mistake, ok := errors.AsType[*report.Mistake](err); !ok || !errors.Is(err, fault.Denied) || mistake.Remedy != "Run "+want {
		t.Errorf("%v", err)
	}
	b.exec(t, want)
	if _, err := opened(t, strings.Replace(replica.DSN(""), "root", "app", 1), 1).Measure(t.Context(), limits); err != nil {
		t.Errorf("after that: %v", err)
	}

	primary := opened(t, testmain.SharedDatabase(t).DSN(""), 1)
	if _, err := primary.Measure(t.Context(), limits); !errors.Is(err, listeners.ErrNoReplica) {
		t.Errorf("of a primary: %v", err)
	}
}
