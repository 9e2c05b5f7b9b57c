package mysql

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

// logged returns the source of a server of its own with a binary log, which has a table t.
func logged(t *testing.T, connections int) (*Source, *bundle) {
	t.Helper()
	server, b := logging(t, "7")
	b.exec(t, "CREATE DATABASE s", "CREATE TABLE s.t (id BIGINT PRIMARY KEY, n INT, v VARCHAR(20), KEY (n))",
		"INSERT INTO s.t SELECT seq, NULLIF(seq, 30000), seq FROM s.seq_1_to_30000")
	return opened(t, server.DSN("s"), connections), b
}

// logging starts a server with a binary log.
func logging(t *testing.T, id string, extra ...string) (*testenv.Database, *bundle) {
	t.Helper()
	if testmain.SharedDatabase(t).MySQL {
		t.Skip("MySQL does not name its snapshots: see TestWithoutBinaryLog")
	}
	server, err := testenv.StartDatabase(t.Context(), t.TempDir(), append(extra, "--log-bin=log", "--server-id="+id)...)
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

func opened(t *testing.T, dsn string, connections int) *Source {
	t.Helper()
	s, err := Open(report.Database{Name: "d", DSN: report.Secret(dsn), MaxConnections: connections})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestPartsOfAReplica: its binary log names its snapshots only if all that it applies comes into the log.
func TestPartsOfAReplica(t *testing.T) {
	t.Parallel()
	master, writes := logging(t, "1")
	writes.exec(t, "CREATE DATABASE s", "CREATE TABLE s.t (id BIGINT PRIMARY KEY)")
	host, port, _ := strings.Cut(master.Addr, ":")
	follow := fmt.Sprintf("CHANGE MASTER TO master_host='%s', master_port=%s, master_user='root'", host, port)
	for i, extra := range [][]string{nil, {"--log-slave-updates"}} {
		replica, b := logging(t, fmt.Sprint(i+2), extra...)
		b.exec(t, follow, "START SLAVE")
		has := func(rows int) {
			listenertest.Becomes(t, "the rows of the replica", func() string {
				var n int
				if err := b.admin.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM s.t").Scan(&n); err != nil {
					return err.Error()
				}
				return fmt.Sprint(n)
			}, fmt.Sprint(rows))
		}
		has(i)
		source, read := opened(t, replica.DSN("s"), 4), inParts(t, "SELECT id FROM t", "id", "id")
		d, err := source.Divide(t.Context(), read, 1)
		writes.exec(t, fmt.Sprintf("INSERT INTO s.t VALUES (%d)", i))
		if extra == nil {
			if !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), "turn on log_slave_updates") {
				t.Errorf("%v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		has(i + 1)
		if again := listenertest.Divided(t, source, read, 1); again.Snapshot() == d.Snapshot() {
			t.Errorf("after a write, the snapshot is still %s", d.Snapshot())
		}
	}
}

// TestPartsOfFewConnections: the server refuses more of them than some.
func TestPartsOfFewConnections(t *testing.T) {
	t.Parallel()
	server, b := logging(t, "7")
	b.exec(t, "CREATE DATABASE s", "CREATE USER few WITH MAX_USER_CONNECTIONS 2", "GRANT SELECT ON s.* TO few")
	source := opened(t, strings.Replace(server.DSN("s"), "root", "few", 1), 4)
	if d := listenertest.Divided(t, source, inParts(t, "SELECT seq AS n FROM seq_1_to_5", "n", "n"), 4); d.Connections() != 2 {
		t.Errorf("%d connections", d.Connections())
	}
}

// inParts is a task that is read in parts.
func inParts(t *testing.T, query, columns, by string) listeners.Task {
	t.Helper()
	read := task(t, query, columns)
	read.Listener.Divide = &report.Divide{By: by, Parts: 4, Snapshot: report.SnapshotSame}
	return read
}

// TestPartsAreOfOneMoment: rows that are written meanwhile are in none of them, also if writes come between the
// snapshots of the connections.
func TestPartsAreOfOneMoment(t *testing.T) {
	t.Parallel()
	source, b := logged(t, 4)
	read := inParts(t, "SELECT id, n, v FROM t WHERE id > :least", "id n v", "n")
	read.Parameters = map[string]any{"least": int64(10)}
	d := listenertest.Divided(t, source, read, 3)
	if d.Connections() != 3 || !strings.Contains(d.Snapshot(), ":7 log.000001:") {
		t.Errorf("%d connections at %q", d.Connections(), d.Snapshot())
	}
	least, greatest, ok, err := d.Ends(t.Context())
	if least != 11 || greatest != 29_999 || !ok || err != nil { // 30,000 has NULL
		t.Errorf("%d to %d, %t %v", least, greatest, ok, err)
	}
	b.exec(t, "UPDATE s.t SET v = 'new'", "INSERT INTO s.t VALUES (40000, 40000, 'new'), (40001, NULL, 'new')")
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
	again.Close()
	if third := listenertest.Divided(t, source, read, 1); third.Snapshot() != again.Snapshot() {
		t.Errorf("without writes, the snapshots are %s and %s", again.Snapshot(), third.Snapshot())
	}
}

// TestSnapshotsOfABusyServer: connections that see other rows are not used.
func TestSnapshotsOfABusyServer(t *testing.T) {
	t.Parallel()
	source, b := logged(t, 4)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				b.exec(t, fmt.Sprintf("INSERT INTO s.t VALUES (%d, NULL, '')", 50_000+i))
			}
		}
	}()
	for range 10 {
		d := listenertest.Divided(t, source, inParts(t, "SELECT id, COUNT(*) OVER () AS c FROM t", "id c", "id"), 4)
		counts := map[string]bool{}
		for _, row := range listenertest.ReadParts(t, d, []int64{100, 200, 300}).Rows {
			counts[row[1]] = true
		}
		if len(counts) != 1 || d.Snapshot() == "" {
			t.Errorf("%d connections at %q saw tables of %d sizes", d.Connections(), d.Snapshot(), len(counts))
		}
		d.Close()
	}
	close(stop)
	<-stopped
}

// TestWithoutBinaryLog, the server cannot prove what it shows.
func TestWithoutBinaryLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	read := inParts(t, "SELECT seq AS n FROM seq_1_to_5", "n", "n")
	if _, err := b.source.Divide(t.Context(), read, 1); !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), "binary log is off") {
		t.Errorf("%v", err)
	}
	if err := b.source.Prepare(t.Context(), read.Listener); err == nil || !strings.Contains(err.Error(), "binary log is off") {
		t.Errorf("before a job: %v", err)
	}
	read.Listener.Divide.Snapshot = report.SnapshotApproximate
	if err := b.source.Prepare(t.Context(), read.Listener); err != nil {
		t.Error(err)
	}
	if d := listenertest.Divided(t, b.source, read, 1); d.Snapshot() != "" {
		t.Errorf("the snapshot is %q", d.Snapshot())
	}
}

// TestPartsOfOtherColumns: only whole numbers have ranges, and a mistake in the query is that of the query.
func TestPartsOfOtherColumns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for query, want := range map[string]string{
		"SELECT 'x' AS n":                               `divide.by: column n has "x", not a whole number`,
		"SELECT 18446744073709551615 AS n":              "not a whole number up to 9223372036854775807",
		"SELECT 1.5 AS n":                               `column n has "1.5"`,
		"SELECT n FROM missing":                         "missing' doesn't exist",
		"SELECT 1 AS n FROM seq_1_to_5 WHERE seq = = 1": "near '= 1'",
	} {
		read := inParts(t, query, "n", "n")
		read.Listener.Divide.Snapshot = report.SnapshotApproximate
		d := listenertest.Divided(t, b.source, read, 1)
		if _, _, _, err := d.Ends(t.Context()); !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
		d.Close()
	}
}

// TestEveryRowIsInOnePart, whatever the type of the column and the form of the query.
func TestEveryRowIsInOnePart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE p (i BIGINT, u BIGINT UNSIGNED, d DECIMAL(20,3), f DOUBLE, r FLOAT, v VARCHAR(20), b BIT(20), e ENUM('7', '9000', 'x'), `a``b` INT, tiny TINYINT)",
		"INSERT INTO p SELECT CAST(seq AS SIGNED) - 500, seq, seq / 3, seq / 7, seq * 1.1, IF(seq % 5, seq * 9, CONCAT('x', seq)), seq, 1 + seq % 3, seq, seq % 100 FROM seq_1_to_1000",
		"INSERT INTO p VALUES (9223372036854775807, 18446744073709551615, -0.001, -0.0, 1e30, '', NULL, NULL, NULL, NULL), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (-9223372036854775808, 0, 300, 300, 300, '300', 0, 'x', 300, 0)")
	for _, c := range [][2]string{
		{"SELECT i AS n FROM p", "n"}, {"SELECT u AS n FROM p -- n;", "n"}, {"SELECT d AS n FROM p # n", "n"}, {"SELECT f AS n FROM p /* n */ ; -- n", "n"},
		{"SELECT r AS n FROM p;", "n"}, {"SELECT v AS n FROM p", "n"}, {"SELECT b AS n FROM p", "n"}, {"SELECT e AS n FROM p", "n"},
		{"SELECT `a``b` FROM p", "a`b"}, {"(SELECT i AS n FROM p)", "n"}, {"(SELECT i AS n FROM p) UNION ALL (SELECT u FROM p)", "n"},
		{"WITH q AS (SELECT i AS n FROM p) SELECT n FROM q", "n"}, {"SELECT tiny AS n FROM p WHERE ';' <> '-- ' GROUP BY tiny HAVING COUNT(*) > 0", "n"},
		{"SELECT part.i AS n FROM p AS part", "n"},
	} {
		read := inParts(t, c[0], "", c[1])
		read.Listener.Columns = []string{c[1]}
		read.Listener.Divide.Snapshot = report.SnapshotApproximate
		whole := read
		listener := *read.Listener
		listener.Divide = nil
		whole.Listener = &listener
		want, err := listenertest.Read(t.Context(), b.source, whole)
		if err != nil {
			t.Fatalf("%s: %v", c[0], err)
		}
		d := listenertest.Divided(t, b.source, read, 1)
		got := listenertest.ReadParts(t, d, []int64{-300, 0, 7, 300, 9000})
		d.Close()
		rows := func(d listenertest.Dataset) (all []string) {
			for _, row := range d.Rows {
				all = append(all, strings.Join(row, " "))
			}
			slices.Sort(all)
			return all
		}
		if !slices.Equal(rows(got), rows(want)) || !slices.Equal(got.Columns, want.Columns) {
			t.Errorf("%s: %d rows in parts, %d without, of %+v and %+v", c[0], len(got.Rows), len(want.Rows), got.Columns, want.Columns)
		}
	}
}
