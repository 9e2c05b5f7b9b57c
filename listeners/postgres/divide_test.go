package postgres

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

// inParts is a task that is read in parts.
func inParts(t *testing.T, query, columns, by string) listeners.Task {
	t.Helper()
	read := task(t, query, columns)
	read.Listener.Divide = &report.Divide{By: by, Parts: 4, Snapshot: report.SnapshotSame}
	return read
}

// TestPartsAreOfOneMoment: rows that are written meanwhile are in none of them.
func TestPartsAreOfOneMoment(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE t (id bigint PRIMARY KEY, n int, v varchar(20))",
		"INSERT INTO t SELECT i, nullif(i, 30000), i FROM generate_series(1, 30000) i")
	source, err := Open(report.Database{Name: "d", DSN: report.Secret(testmain.SharedPostgres(t).DSN(b.database)), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	read := inParts(t, "SELECT id, n, v FROM t WHERE id > :least -- no semicolon", "id n v", "n")
	read.Parameters = map[string]any{"least": int64(10)}
	d := listenertest.Divided(t, source, read, 3)
	if d.Connections() != 3 || d.Snapshot() == "" {
		t.Errorf("%d connections at %q", d.Connections(), d.Snapshot())
	}
	least, greatest, ok, err := d.Ends(t.Context())
	if least != 11 || greatest != 29_999 || !ok || err != nil { // 30,000 has NULL
		t.Errorf("%d to %d, %t %v", least, greatest, ok, err)
	}
	b.exec(t, "UPDATE t SET v = 'new'", "INSERT INTO t VALUES (40000, 40000, 'new'), (40001, NULL, 'new')")
	all := listenertest.ReadParts(t, d, []int64{8000, 16_000, 24_000})
	ids := map[string]bool{}
	for _, row := range all.Rows {
		ids[row[0]] = true
		if row[2] == `"new"` {
			t.Fatalf("a row of another moment: %q", row)
		}
	}
	if len(ids) != 29_990 || len(all.Rows) != len(ids) {
		t.Errorf("%d rows with %d ids", len(all.Rows), len(ids))
	}
	whole, err := listenertest.Read(t.Context(), source, task(t, "SELECT id, n, v FROM t", "id n v"))
	if err != nil || !slices.Equal(whole.Columns, all.Columns) {
		t.Errorf("the columns of the query are %+v, and those of its parts %+v: %v", whole.Columns, all.Columns, err)
	}
	again := listenertest.Divided(t, source, read, 1)
	if again.Snapshot() == d.Snapshot() {
		t.Errorf("after writes, the snapshot is still %s", d.Snapshot())
	}
}

// TestPartsOfAQuietServer are of the same snapshot in every try.
func TestPartsOfAQuietServer(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE t (n int)")
	read := inParts(t, "SELECT n FROM t", "n", "n")
	listenertest.Becomes(t, "two tries see the same snapshot", func() string { // other tests write, too
		one := listenertest.Divided(t, b.source, read, 1)
		one.Close()
		other := listenertest.Divided(t, b.source, read, 1)
		other.Close()
		if one.Snapshot() == other.Snapshot() {
			return "yes"
		}
		return one.Snapshot() + " and " + other.Snapshot()
	}, "yes")
}

// TestPartsOfAStandby: its snapshots do not list the transactions in progress, so no two have the same name.
func TestPartsOfAStandby(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartPostgres(t.Context(), "-cwal_level=replica")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Stop()
	if err := os.WriteFile(filepath.Join(server.Dir, "data", "standby.signal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context(), "-cwal_level=replica"); err != nil {
		t.Fatal(err)
	}
	source, err := Open(report.Database{Name: "d", DSN: report.Secret(server.DSN("postgres")), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	read := inParts(t, "SELECT 1 AS n", "n", "n")
	one, other := listenertest.Divided(t, source, read, 2), listenertest.Divided(t, source, read, 2)
	if one.Connections() != 2 || other.Connections() != 2 || one.Snapshot() == other.Snapshot() {
		t.Errorf("%d connections at %q, %d at %q", one.Connections(), one.Snapshot(), other.Connections(), other.Snapshot())
	}
}

// TestPartsOfFewConnections: the server refuses more of them than some.
func TestPartsOfFewConnections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	role := b.database + "_few"
	b.exec(t, "CREATE ROLE "+role+" LOGIN CONNECTION LIMIT 2")
	t.Cleanup(func() { _ = testmain.SharedPostgres(t).Exec(context.Background(), "postgres", "DROP ROLE "+role) })
	dsn := strings.Replace(testmain.SharedPostgres(t).DSN(b.database), "postgres@", role+"@", 1)
	source, err := Open(report.Database{Name: "d", DSN: report.Secret(dsn), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	if d := listenertest.Divided(t, source, inParts(t, "SELECT 1 AS n", "n", "n"), 4); d.Connections() != 2 {
		t.Errorf("%d connections", d.Connections())
	}
}

// TestPartsOfOtherColumns: only whole numbers have ranges, and a mistake in the query is that of the query.
func TestPartsOfOtherColumns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for query, want := range map[string]string{
		"SELECT text 'x' AS n":                     `divide.by: column n has "x", not a whole number`,
		"SELECT 9223372036854775808::numeric AS n": "not a whole number up to 9223372036854775807",
		"SELECT\n n FROM missing":                  "(line 2, column 9 of the query)",
	} {
		d := listenertest.Divided(t, b.source, inParts(t, query, "n", "n"), 1)
		if _, _, _, err := d.Ends(t.Context()); !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
		d.Close()
	}
}
