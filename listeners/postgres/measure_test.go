package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

// started returns a server whose measures no other test changes.
func started(t *testing.T, extra ...string) *testenv.Postgres {
	t.Helper()
	server, err := testenv.StartPostgres(t.Context(), extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// as returns the DSN of a server for a user.
func as(server *testenv.Postgres, user string) string {
	return strings.Replace(server.DSN("postgres"), "postgres@", user+"@", 1)
}

// sleeps runs a statement that sleeps, as a user, until the test ends.
func sleeps(t *testing.T, server *testenv.Postgres, user string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), as(server, user))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = conn.Exec(ctx, "SELECT pg_sleep(600)").Close()
	}()
	t.Cleanup(func() { cancel(); <-done; <-conn.CleanupDone() })
}

// TestMeasures: statements that run, and those of other users, for an account that may see them.
func TestMeasures(t *testing.T) {
	t.Parallel()
	server := started(t)
	run := func(statements string) {
		t.Helper()
		if err := server.Exec(t.Context(), "postgres", statements); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE ROLE app LOGIN; CREATE ROLE other LOGIN")
	source := open(t, as(server, "app"))
	_, err := source.Measure(t.Context(), report.Protect{ThreadsRunning: 1})
	if mistake, ok := errors.AsType[*report.Mistake](err); !ok || !errors.Is(err, fault.Denied) || mistake.Remedy != `Run GRANT pg_monitor TO "app"` {
		t.Errorf("%v", err)
	}
	run("GRANT pg_monitor TO app")
	sleeps(t, server, "app")
	sleeps(t, server, "app")
	listenertest.Measures(t, source, report.Protect{ThreadsRunning: 1}, "2 threads run")
	listenertest.MeasuresOthers(t, source, func() { sleeps(t, server, "other") })
	if _, err := source.Measure(t.Context(), report.Protect{ReplicaLag: time.Minute}); !errors.Is(err, listeners.ErrNoReplica) {
		t.Errorf("of a primary: %v", err)
	}
}

// TestLag: a replica that has replayed what the primary sends is not behind, however old the last transaction is, and
// one that replays nothing is behind without limit.
func TestLag(t *testing.T) {
	t.Parallel()
	primary := started(t, "-cwal_level=replica")
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(standby.Close)
	source, limits := open(t, standby.DSN("postgres")), report.Protect{ReplicaLag: time.Minute}
	listenertest.Measures(t, source, limits, "the replica is 0s behind")
	if err := standby.Exec(t.Context(), "postgres", "SELECT pg_wal_replay_pause()"); err != nil {
		t.Fatal(err)
	}
	listenertest.Measures(t, source, limits, "replication is stopped")
	if err := standby.Exec(t.Context(), "postgres", "SELECT pg_wal_replay_resume()"); err != nil {
		t.Fatal(err)
	}
	listenertest.Measures(t, source, limits, "the replica is 0s behind")
	if err := primary.Exec(t.Context(), "postgres", "CREATE TABLE t ()"); err != nil {
		t.Fatal(err)
	}
	primary.Stop()
	// Without a primary, the age of the last transaction counts.
	listenertest.Becomes(t, "without a primary", func() string {
		h, err := source.Measure(t.Context(), limits)
		return fmt.Sprint(h.ReplicaLag >= 100*time.Millisecond && h.ReplicaLag < time.Minute, err)
	}, "true <nil>")
}
