package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { testmain.Main(m) }

func open(t *testing.T, dsn string, o record.Options) *record.DB {
	t.Helper()
	o.MaxConnections = max(1, o.MaxConnections)
	db, err := Kind.Open(report.Database{DSN: report.Secret(dsn)}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// fresh is a pool on a database of its own.
func fresh(t *testing.T, statements ...string) *record.DB {
	t.Helper()
	return open(t, testmain.SharedPostgres(t).DSN(testmain.PostgresDatabase(t, statements...)), record.Options{MaxConnections: 5})
}

// TestWhatAServerSaysWhenItIsAway, or when it refuses an account: the codes are the server's own. Each case
// changes the server and changes it back.
func TestWhatAServerSaysWhenItIsAway(t *testing.T) {
	t.Parallel()
	p, err := testenv.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	exec := func(statements string) {
		t.Helper()
		if err := p.Exec(t.Context(), "postgres", statements); err != nil {
			t.Fatalf("%s: %v", statements, err)
		}
	}
	exec("CREATE ROLE app LOGIN")
	exec("CREATE DATABASE d")
	if err := p.Exec(t.Context(), "d", "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1); GRANT SELECT, INSERT, UPDATE ON t TO app; CREATE TABLE secret (id int)"); err != nil {
		t.Fatal(err)
	}
	holder := open(t, p.DSN("d"), record.Options{})
	dsn := strings.Replace(p.DSN("d"), "postgres@", "app@", 1)
	for _, test := range []struct {
		name, before, after string
		dsn                 string // instead of the right one
		statement           string
		code                string
		want                record.Class
	}{
		{name: "a transaction that only reads", before: "ALTER ROLE app SET default_transaction_read_only = on", after: "ALTER ROLE app RESET ALL", statement: "INSERT INTO t VALUES (2)", code: "25006", want: record.Away},
		{name: "too many connections", before: "ALTER ROLE app CONNECTION LIMIT 0", after: "ALTER ROLE app CONNECTION LIMIT -1", code: "53300", want: record.Away},
		{name: "no connections", before: "ALTER DATABASE d ALLOW_CONNECTIONS false", after: "ALTER DATABASE d ALLOW_CONNECTIONS true", code: "55000", want: record.Away},
		{name: "ended by an operator", statement: "SELECT pg_terminate_backend(pg_backend_pid())", code: "57P01", want: record.Away},
		{name: "cancelled by an operator", statement: "SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(5)", code: "57014"},
		{name: "no such account", dsn: strings.Replace(dsn, "app@", "other@", 1), code: "28000", want: record.Refused},
		{name: "an account that may not log in", before: "ALTER ROLE app NOLOGIN", after: "ALTER ROLE app LOGIN", code: "28000", want: record.Refused},
		{name: "no such database", dsn: strings.Replace(dsn, "/d?", "/other?", 1), code: "3D000", want: record.Refused},
		{name: "no right to connect", before: "REVOKE CONNECT ON DATABASE d FROM PUBLIC", after: "GRANT CONNECT ON DATABASE d TO PUBLIC", code: "42501", want: record.Refused | record.Denied},
		{name: "no right to read", statement: "SELECT * FROM secret", code: "42501", want: record.Denied},
		{name: "no such table", statement: "SELECT * FROM missing", code: "42P01", want: record.NoTable},
		{name: "no such schema", statement: "INSERT INTO missing.t VALUES (1)", code: "42P01", want: record.NoTable},
		{name: "a key that exists", statement: "INSERT INTO t VALUES (1)", code: "23505", want: record.Duplicate},
		{name: "a locked row", before: "lock", after: "unlock", statement: "UPDATE t SET id = 3 WHERE id = 1", code: "55P03", want: record.Locked},
		{name: "no number", statement: "SELECT CAST('x' AS int)", code: "22P02", want: record.Unreadable},
		{name: "no character", statement: "SELECT chr(0)", code: "54000"},
		{name: "bad SQL", statement: "SELEC", code: "42601"},
	} {
		var tx *sql.Tx
		if test.before == "lock" {
			if tx, err = holder.BeginTx(t.Context(), nil); err == nil {
				_, err = tx.Exec("UPDATE t SET id = 1 WHERE id = 1")
			}
			if err != nil {
				t.Fatal(err)
			}
		} else if test.before != "" {
			exec(test.before)
		}
		if test.dsn == "" {
			test.dsn = dsn
		}
		if test.statement == "" {
			test.statement = "SELECT 1"
		}
		db := open(t, test.dsn, record.Options{})
		_, err := db.ExecContext(t.Context(), test.statement)
		_ = db.Close()
		if tx != nil {
			_ = tx.Rollback()
		} else if test.after != "" {
			exec(test.after)
		}
		got, answered := Kind.Class(err)
		if answer, ok := errors.AsType[*pgconn.PgError](err); !ok || answer.Code != test.code || !answered || got != test.want {
			t.Errorf("%s: class %b, want %b: %v", test.name, got, test.want, err)
		}
		if Kind.Away(err) != (test.want&record.Away != 0) {
			t.Errorf("%s: away %v", test.name, Kind.Away(err))
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the text has several lines: %q", test.name, err)
		}
	}
	_ = holder.Close()
	p.Stop()
	db := open(t, dsn, record.Options{})
	if err := db.PingContext(t.Context()); !Kind.Away(err) || !Kind.Is(err, record.Away) || Kind.Is(err, record.Refused) {
		t.Errorf("without a server: %v", err)
	}
	// The driver tries it with TLS and without.
	twice := open(t, "postgres://app@"+p.Addr+"/d", record.Options{})
	if err := twice.PingContext(t.Context()); err == nil || strings.Count(err.Error(), "connection refused") != 1 {
		t.Errorf("the error is repeated: %v", err)
	}
	if Kind.Away(nil) || Kind.Is(nil, record.Away) {
		t.Error("no error is away")
	}
	if cut := fmt.Errorf("read: %w", io.ErrUnexpectedEOF); !Kind.Is(cut, record.Away) || !Kind.Away(cut) {
		t.Error("a connection that is cut is no outage")
	}
	wrong := &pgconn.PgError{Code: "28P01"}
	if !Kind.Away(wrong) || !Kind.Is(wrong, record.Refused) {
		t.Error("a password that is being rotated is right again soon")
	}
}

// TestSessions: what the DSN, the account and the options set.
func TestSessions(t *testing.T) {
	t.Parallel()
	name := testmain.PostgresDatabase(t)
	dsn := testmain.SharedPostgres(t).DSN(name)
	if err := testmain.SharedPostgres(t).Exec(t.Context(), name, "ALTER DATABASE "+name+" SET timezone = '-03:30'; ALTER DATABASE "+name+" SET default_transaction_isolation = 'serializable'"); err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for want, db := range map[string]*record.DB{
		"-03:30 1s 0":              open(t, dsn, record.Options{}),
		"Europe/Berlin 1s 35s":     open(t, dsn, record.Options{Zone: berlin, Patience: 30 * time.Second}),
		"UTC 7s 0":                 open(t, dsn+"&lock_timeout=7000", record.Options{Zone: time.UTC}),
		"-03:30 0 0 for migration": open(t, dsn, record.Options{Migrates: true, Patience: time.Minute}),
	} {
		var zone, lock, statement, isolation string
		if err := db.QueryRow("SELECT current_setting('timezone'), current_setting('lock_timeout'), current_setting('statement_timeout'), current_setting('transaction_isolation')").Scan(&zone, &lock, &statement, &isolation); err != nil {
			t.Fatal(err)
		}
		zone = strings.NewReplacer("<", "", ">+03:30", "").Replace(zone)
		if got := zone + " " + lock + " " + statement; !strings.HasPrefix(want, got) || isolation != "read committed" {
			t.Errorf("%s, %s, want %s", got, isolation, want)
		}
	}
}

// TestPatience: a server that no longer answers is away after the time, and a context ends a statement before.
func TestPatience(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var silent atomic.Bool
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", testmain.SharedPostgres(t).Addr)
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(server, client)
				_ = server.Close()
			}()
			go func() {
				for b := make([]byte, 4096); ; {
					n, err := server.Read(b)
					if err == nil && !silent.Load() {
						_, err = client.Write(b[:n])
					}
					if err != nil {
						_ = client.Close()
						return
					}
				}
			}()
		}
	}()
	dsn := strings.Replace(testmain.SharedPostgres(t).DSN("postgres"), testmain.SharedPostgres(t).Addr, listener.Addr().String(), 1)
	db := open(t, dsn, record.Options{Patience: 500 * time.Millisecond})
	if _, err := db.Exec("SELECT pg_sleep(0.1)"); err != nil {
		t.Fatal(err)
	}
	silent.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := db.ExecContext(ctx, "SELECT 1"); !Kind.Away(err) || ctx.Err() != nil {
		t.Errorf("without an answer: %v", err)
	}
	silent.Store(false)
	if _, err := db.Exec("SELECT 1"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	patient := open(t, dsn, record.Options{Patience: time.Hour})
	if err := patient.Ping(); err != nil {
		t.Fatal(err)
	}
	silent.Store(true)
	short, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer end()
	if _, err := patient.ExecContext(short, "SELECT 1"); err == nil {
		t.Error("no answer, and no error")
	}
	silent.Store(false)
}

// TestAConnectionThatTheServerClosed was idle for too long: the pool notices before it sends a statement.
func TestAConnectionThatTheServerClosed(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	db.SetMaxOpenConns(1)
	var before, after int
	if err := db.QueryRow("SELECT pg_backend_pid()").Scan(&before); err != nil {
		t.Fatal(err)
	}
	admin := fresh(t)
	if _, err := admin.Exec("SELECT pg_terminate_backend($1)", before); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // connections that were idle for less are not asked
	if err := db.QueryRow("SELECT pg_backend_pid()").Scan(&after); err != nil || after == before {
		t.Errorf("connection %d after %d: %v", after, before, err)
	}
}

// TestAReplicaIsLeft: after a failover, a connection to the former primary, which is a replica now, is not used again.
func TestAReplicaIsLeft(t *testing.T) {
	t.Parallel()
	db := fresh(t, "CREATE TABLE t (id int)")
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SET default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO t VALUES (1)"); !Kind.Away(err) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a replica: %v", err)
	}
	if _, err := db.Exec("INSERT INTO t VALUES (1)"); err != nil {
		t.Errorf("the connection was used again: %v", err)
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	db := fresh(t, "CREATE DOMAIN short AS varchar(7) NOT NULL", "CREATE TYPE state AS ENUM ('b', 'it''s')", "CREATE SCHEMA s",
		`CREATE TABLE s."T" (a bigint GENERATED ALWAYS AS IDENTITY, b serial, c uuid DEFAULT gen_random_uuid(), d int DEFAULT 0, e short, f state,
		g char(3), "H" text NOT NULL, i timestamp(3), j timestamptz, k jsonb, l numeric(9,2), gone int)`,
		`ALTER TABLE s."T" DROP gone`, `CREATE VIEW s.v AS SELECT "H" FROM s."T"`)
	got, err := columns(t.Context(), db.DB, record.Table{Schema: "s", Name: "T"})
	if err != nil {
		t.Fatal(err)
	}
	integer := func(bits int) record.Type { return record.Type{Of: record.Integer, Bits: bits} }
	text := record.Type{Of: record.Text}
	want := []record.Column{
		{Name: "a", Type: "bigint", Of: integer(64), Generated: true},
		{Name: "b", Type: "integer", Of: integer(32), Generated: true},
		{Name: "c", Type: "uuid", Of: record.Type{Of: record.UUID}, Generated: true, Nullable: true},
		{Name: "d", Type: "integer", Of: integer(32), Nullable: true},
		{Name: "e", Type: "short", Of: text, Characters: 7, Bytes: 28},
		{Name: "f", Type: "state", Of: text, Nullable: true, Values: []string{"b", "it's"}},
		{Name: "g", Type: "character(3)", Of: text, Nullable: true, Characters: 3, Bytes: 12},
		{Name: "H", Type: "text", Of: text},
		{Name: "i", Type: "timestamp(3) without time zone", Of: record.Type{Of: record.Time}, Nullable: true},
		{Name: "j", Type: "timestamp with time zone", Of: record.Type{Of: record.Time, Zoned: true}, Nullable: true},
		{Name: "k", Type: "jsonb", Of: record.Type{Of: record.JSON}, Nullable: true},
		{Name: "l", Type: "numeric(9,2)", Nullable: true},
	}
	for i := range want {
		want[i].Readable = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if all, err := columns(t.Context(), db.DB, record.Table{Name: "T"}); err != nil || len(all) != 0 {
		t.Errorf("a table of another schema: %v, %v", all, err)
	}
	if all, err := columns(t.Context(), db.DB, record.Table{Schema: "s", Name: "v"}); err != nil || len(all) != 1 || all[0].Name != "H" {
		t.Errorf("a view: %v, %v", all, err)
	}
}

// TestIsTable: what can hide a row that exists is no table.
func TestIsTable(t *testing.T) {
	t.Parallel()
	name := testmain.PostgresDatabase(t, "CREATE TABLE t (id int)", "CREATE VIEW v AS SELECT * FROM t", "CREATE TABLE p (id int) PARTITION BY HASH (id)",
		"CREATE TABLE hiding (id int)", "ALTER TABLE hiding ENABLE ROW LEVEL SECURITY", "CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
	server := testmain.SharedPostgres(t)
	role := name[:min(30, len(name))] + "_r"
	if err := server.Exec(t.Context(), name, "CREATE ROLE "+role+" LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+role); err != nil {
		t.Fatal(err)
	}
	db := open(t, strings.Replace(server.DSN(name), "postgres@", role+"@", 1), record.Options{})
	for table, want := range map[string]bool{"t": true, "p": true, "v": false, "m": false, "hiding": false, "missing": false} {
		if is, err := isTable(t.Context(), db.DB, record.Table{Name: table}); err != nil || is != want {
			t.Errorf("%s: %v, %v", table, is, err)
		}
	}
}

// TestReasonsOfTheEncoding: a text that the database cannot store ends no job without a status.
func TestReasonsOfTheEncoding(t *testing.T) {
	t.Parallel()
	admin := fresh(t)
	name := testmain.Name(t)
	if _, err := admin.Exec("CREATE DATABASE " + name + " ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	for database, c := range map[string][2]string{
		name: {"Ü 😀 why", "? ? why"}, testmain.PostgresDatabase(t): {"a\x00b Ü", "a?b ?"},
	} {
		db := open(t, testmain.SharedPostgres(t).DSN(database), record.Options{})
		if _, err := record.Migrate(t.Context(), db, ""); err != nil {
			t.Fatal(err)
		}
		s, err := record.New(db, report.Records{Audit: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.Insert(t.Context(), record.Request{Report: "r"})
		if err != nil {
			t.Fatal(err)
		}
		if done, err := s.Fail(t.Context(), engine.Run{ID: id, Pending: true}, c[0]); err != nil || !done {
			t.Fatalf("%v %v", done, err)
		}
		if found, err := s.Read(t.Context(), []string{id}); err != nil || found[id].Error != c[1] {
			t.Errorf("%q, want %q, %v", found[id].Error, c[1], err)
		}
		if _, err := record.MigrateTables(t.Context(), db, ""); err != nil {
			t.Fatal(err)
		}
		acts := s.Acts()
		if err := acts.Store(t.Context(), []audit.Act{{Entry: "1-1", When: time.Now(), On: "1", Reason: c[0] + strings.Repeat("é", 300)}}); err != nil {
			t.Error(err)
		}
		if found, err := acts.List(t.Context(), record.ActFilter{On: []string{"1"}}, 1); err != nil || len(found) != 1 {
			t.Errorf("%+v, %v", found, err)
		}
		if found, err := acts.List(t.Context(), record.ActFilter{On: []string{"😀"}}, 1); err != nil || len(found) != 0 {
			t.Errorf("%+v, %v", found, err)
		}
	}
}

// TestRecordsOfOddTypes: values that only the driver would refuse are no outage, and an infinite time is no error.
func TestRecordsOfOddTypes(t *testing.T) {
	t.Parallel()
	db := fresh(t, "CREATE TYPE state AS ENUM ('PENDING', 'PROCESSING', 'SUCCESS', 'FAILED', 'CANCELLED')",
		"CREATE TABLE t (id smallint PRIMARY KEY, report char(9), status state, attempt smallint, file varchar(9), updated_at timestamp, born timestamptz)",
		"INSERT INTO t VALUES (1, 'r', 'PENDING', 0, NULL, 'infinity', 'infinity'), (2, 'r', 'PROCESSING', 1, NULL, '-infinity', '-infinity'), (3, 'r', 'PENDING', 32767, NULL, '4713-01-01 BC', NULL)")
	s, err := record.New(db, report.Records{Table: "t", Columns: map[string]string{"parameters": "-", "rows": "-", "error": "-", "created": "born"}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Read(t.Context(), []string{"1", "2", "3", "40000", "99999999999999999999"})
	if err != nil || len(found) != 3 || found["1"].Report != "r        " && found["1"].Report != "r" || found["2"].Age < 99*365*24*time.Hour || found["3"].Age < 99*365*24*time.Hour {
		t.Errorf("%+v, %v", found, err)
	}
	if marks, err := s.Marks(t.Context(), "1", "2", "40000"); err != nil || len(marks) != 2 {
		t.Errorf("%v, %v", marks, err)
	}
	started, err := s.Start(t.Context(), []engine.Run{{ID: "1"}, {ID: "40000"}, {ID: "2", Attempt: 1 << 40}})
	if err != nil || !cmp.Equal(started, []bool{true, false, false}) {
		t.Errorf("%v, %v", started, err)
	}
	if _, err := s.Start(t.Context(), []engine.Run{{ID: "3", Attempt: 32767}}); err == nil || Kind.Away(err) {
		t.Errorf("an attempt that does not fit: %v", err)
	}
	if list, err := s.List(t.Context(), record.Filter{Status: report.Partial}, 10); err != nil || len(list) != 0 {
		t.Errorf("a status that the column cannot have: %v, %v", list, err)
	}
	if records, err := s.Startable(t.Context(), "", time.Minute, 10); err != nil || len(records) != 2 {
		t.Errorf("%+v, %v", records, err)
	}
}

// TestParameters: JSON that PostgreSQL cannot unescape hides only its own row. A text needs PostgreSQL 16.
func TestParameters(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	var version int
	if err := db.QueryRow("SELECT CAST(current_setting('server_version_num') AS int)").Scan(&version); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{"json": "4 5", "jsonb": "4 5", "text": "4 5"} {
		table := "t_" + kind
		if _, err := record.Migrate(t.Context(), db, table); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("ALTER TABLE " + table + " ALTER parameters TYPE " + kind + " USING parameters::" + kind); err != nil {
			t.Fatal(err)
		}
		for i, text := range []string{`{"a": "\u0000"}`, `{"a": "\ud83d"}`, `{"a"`, `{"a": "\ud83d\ude00"}`, `{"b": null, "a": "😀"}`, `["a"]`, `"a"`} {
			_, err := db.Exec("INSERT INTO "+table+" (id, report, parameters) VALUES ($1, 'r', $2)", i+1, text)
			if stored := kind == "text" || i > 2 || kind == "json" && i < 2; stored != (err == nil) {
				t.Fatalf("%s: %s: %v", kind, text, err)
			}
		}
		s, err := record.New(db, report.Records{Table: table})
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.List(t.Context(), record.Filter{Parameters: map[string]string{"a": "😀"}}, 10)
		if kind == "text" && version < firstIsJSON {
			if err == nil || !strings.Contains(err.Error(), "json or jsonb") {
				t.Errorf("text before PostgreSQL 16: %v", err)
			}
			continue
		}
		got := ""
		for _, r := range list {
			got = strings.TrimSpace(r.ID + " " + got)
		}
		if err != nil || got != want && got != "5 4" {
			t.Errorf("%s: %s, want %s: %v", kind, got, want, err)
		}
	}
}

// TestUUIDs: an id is spelled as the server writes it, and the database orders the ids.
func TestUUIDs(t *testing.T) {
	t.Parallel()
	const first, gone, last = "0a000000-0000-4000-8000-00000000000b", "5a000000-0000-4000-8000-00000000000b", "fa000000-0000-4000-8000-00000000000b"
	db := fresh(t, "CREATE TABLE t (id uuid PRIMARY KEY, report text, status text, attempt int, file text, updated_at timestamptz)",
		"INSERT INTO t VALUES ('"+last+"', 'r', 'PENDING', 0, NULL, NULL), ('"+first+"', 'r', 'PENDING', 0, NULL, NULL)")
	s, err := record.New(db, report.Records{Table: "t", Columns: map[string]string{"parameters": "-", "rows": "-", "error": "-"}})
	if err != nil {
		t.Fatal(err)
	}
	upper := strings.ToUpper(first)
	found, err := s.Read(t.Context(), []string{first, upper, "0a0000000000400080000000000000b", "7", ""})
	if err != nil || len(found) != 2 || found[first].ID != first || found[upper].ID != first {
		t.Errorf("%v, %v", found, err)
	}
	if started, err := s.Start(t.Context(), []engine.Run{{ID: upper}, {ID: first}, {ID: "x"}}); err != nil || !cmp.Equal(started, []bool{false, true, false}) {
		t.Errorf("%v, %v", started, err)
	}
	if done, err := s.Succeed(t.Context(), engine.Run{ID: first, Attempt: 1}, "f", 1); err != nil || !done {
		t.Errorf("%v, %v", done, err)
	}
	if deleted, err := s.Deletions().Deleted(t.Context(), []string{first, gone, last, "x"}); err != nil || !cmp.Equal(deleted, map[string]bool{gone: true}) {
		t.Errorf("%v, %v", deleted, err)
	}
	if _, width, err := s.Widths(t.Context()); err != nil || width != len(first) {
		t.Errorf("%d characters, %v", width, err)
	}
	var ids []string
	for index := range 2 {
		page, err := s.Partition(index, 2).Startable(t.Context(), first, time.Minute, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			ids = append(ids, r.ID)
		}
	}
	if !cmp.Equal(ids, []string{last}) {
		t.Errorf("startable are %v", ids)
	}
}
