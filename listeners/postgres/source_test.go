package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// bundle is a source on a database of its own.
type bundle struct {
	database string
	source   *Source // of one connection, so that what it leaves behind is met again
}

func setup(t testing.TB, statements ...string) *bundle {
	t.Helper()
	b := &bundle{database: testmain.PostgresDatabase(t, statements...)}
	b.source = open(t, testmain.SharedPostgres(t).DSN(b.database))
	return b
}

func open(t testing.TB, dsn string) *Source {
	t.Helper()
	s, err := Open(report.Database{Name: "d", DSN: report.Secret(dsn), MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (b *bundle) exec(t testing.TB, statements ...string) {
	t.Helper()
	if err := testmain.SharedPostgres(t).Exec(t.Context(), b.database, strings.Join(statements, ";\n")); err != nil {
		t.Fatal(err)
	}
}

// ask returns the first value of a query.
func (b *bundle) ask(t testing.TB, query string) string {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), testmain.SharedPostgres(t).DSN(b.database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	result := conn.ExecParams(t.Context(), query, nil, nil, nil, nil).Read()
	if result.Err != nil || len(result.Rows) == 0 {
		t.Fatal(query, result.Err)
	}
	return string(result.Rows[0][0])
}

// becomes polls until a query gives a value.
func (b *bundle) becomes(t testing.TB, what, query, want string) {
	t.Helper()
	listenertest.Becomes(t, what, func() string { return b.ask(t, query) }, want)
}

// await polls until so many queries with a text run on the server.
func (b *bundle) await(t testing.TB, text, want string) {
	t.Helper()
	b.becomes(t, "queries with "+text, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "+
		"pid <> pg_backend_pid() AND state = 'active' AND query LIKE '%"+text+"%'", want)
}

// task is a task of one query that gives these columns, separated by spaces.
func task(t testing.TB, query, columns string) listeners.Task {
	t.Helper()
	q, err := dialect.Postgres.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	return listeners.Task{ID: "1", Attempt: 1, Listener: &report.Listener{
		Name: "l", Source: "d", Own: &dialect.Fields{Text: q.Text, Query: q}, Columns: strings.Fields(columns),
		Timeout: time.Minute,
	}}
}

func (b *bundle) read(ctx context.Context, task listeners.Task) (listenertest.Dataset, error) {
	return listenertest.Read(ctx, b.source, task)
}

func (b *bundle) mustRead(t *testing.T, task listeners.Task) listenertest.Dataset {
	t.Helper()
	d, err := b.read(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestColumnsMustAgree(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, test := range []struct{ query, columns, want string }{
		{"SELECT 1 AS a, 2 AS b", "a b", ""},
		{"SELECT 1 AS A", "a", ""},
		{`SELECT 1 AS "A"`, "a", "[A], but the listener's columns are [a]"},
		{"SELECT 1 AS a, 2 AS b", "b a", "[a, b], but the listener's columns are [b, a]"},
		{"SELECT 1 AS a, 2 AS b", "a", "[a, b], but the listener's columns are [a]"},
		{"SELECT 1 AS a, 2 AS a", "a b", "column a twice: give one of them an alias"},
	} {
		_, err := b.read(t.Context(), task(t, test.query, test.columns))
		if test.want == "" && err != nil || test.want != "" &&
			(!errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s for %s: %v", test.query, test.columns, err)
		}
	}
}

// TestParametersStayData: a parameter takes the type of what it is compared with, and never becomes SQL.
func TestParametersStayData(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TYPE colour AS ENUM ('red', 'blue')", "CREATE TABLE t (v text, u uuid, c colour, n int, d date, "+
		"f boolean, at timestamptz, wall timestamp, j jsonb)",
		"INSERT INTO t VALUES ('kept', '00000000-0000-0000-0000-000000000001', 'red', 7, '2024-02-29', true, "+
			"'2024-07-01 10:00:00+00', '2024-07-01 12:00:00', '{\"k\": 1}')")
	texts := []string{`'; DROP TABLE t; -- `, `" OR 1=1 -- `, `\' OR 1=1 -- `, "\x1a\n\r\\", "%_", ":v", "$1", "{a,b}",
		"Ünïcödé 漢字 العربية हिन्दी 😀🏳️‍🌈", "x' UNION SELECT v FROM t -- ", "", `"`, "NULL"}
	for _, text := range texts {
		read := task(t, "SELECT :v AS v, (SELECT count(*) FROM t WHERE v = :v) AS n, ':v $1' AS s", "v n s")
		read.Parameters = map[string]any{"v": text}
		d := b.mustRead(t, read)
		if got := d.Values(t, "v"); len(got) != 1 || got[0] != text || d.JSON("n") != "[0]" ||
			d.JSON("s") != `[":v $1"]` {
			t.Errorf("%q: %v", text, d.Rows)
		}
		list := task(t, "SELECT x FROM (VALUES ('other')) y(x) WHERE x NOT IN (:list) UNION ALL SELECT unnest(:list::text[])", "x")
		list.Parameters = map[string]any{"list": []any{text, text + "x"}}
		if got := b.mustRead(t, list).Values(t, "x"); len(got) != 3 || got[1] != text {
			t.Errorf("%q: the list is %q", text, got)
		}
	}
	berlin := time.FixedZone("", 2*3600)
	for where, value := range map[string]any{
		"u = :p":                            "00000000-0000-0000-0000-000000000001",
		"c = :p":                            "red",
		"n = :p":                            int64(7),
		"n + 0 < :p":                        uint64(8),
		"d >= :p":                           "2024-02-29",
		"f = :p":                            true,
		"n = :p + 6":                        true,
		"at = :p":                           time.Date(2024, 7, 1, 12, 0, 0, 0, berlin),
		"wall = :p":                         time.Date(2024, 7, 1, 12, 0, 0, 0, berlin),
		":p IS NULL OR u = :p":              nil,
		":p IS NULL OR c = :p":              "red",
		"c IN (:p) AND j ? 'k'":             []any{"blue", "red"},
		"u IN (:p)":                         []any{"00000000-0000-0000-0000-000000000001"},
		"n IN (:p) AND n NOT IN (1, 2)":     []any{int64(7), nil},
		"NOT (n IN (:p)) IS TRUE":           []any{},
		"(n NOT IN (:p)) IS NULL":           []any{},
		"v = ANY (:p)":                      []any{"kept"},
		"at IN (:p)":                        []any{time.Date(2024, 7, 1, 10, 0, 0, 0, time.UTC)},
		"TRUE LIMIT :p":                     int64(1),
		"v = :p::text AND v LIKE :p || '%'": "kept",
	} {
		read := task(t, "SELECT n FROM t WHERE "+where, "n")
		read.Listener.Zone = "Europe/Berlin"
		read.Parameters = map[string]any{"p": value}
		if d, err := b.read(t.Context(), read); err != nil || d.JSON("n") != "[7]" {
			t.Errorf("%s with %v: %v, %v", where, value, d.Rows, err)
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE TABLE t (v int)", "CREATE TABLE secret (v int)",
		"CREATE FUNCTION write_t() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (1) RETURNING v'")
	reader := "reader_" + b.database[:4]
	b.exec(t, "CREATE USER "+reader+" PASSWORD 's3cret'", "GRANT SELECT ON t TO "+reader)
	poor := &bundle{source: open(t, strings.Replace(testmain.SharedPostgres(t).DSN(b.database), "postgres@",
		reader+":s3cret@", 1))}
	for _, test := range []struct {
		on          *bundle
		query, want string
	}{
		{b, "SELECT nothing AS v FROM t", "correct the column"},
		{b, "SELECT v FROM t WHERE", "correct the SQL"},
		{b, "SELECT v\nFROM t WHERE v::text = :p AND é IN (:list)", "(line 2, column 31 of the query)"},
		{b, "SELECT t.vv AS v\nFROM t", "(line 1, column 8 of the query) (hint of the server: Perhaps you meant"},
		{b, "SELECT v FROM missing", "correct the table"},
		{b, "SELECT nothing(v) AS v FROM t", "correct the function"},
		{b, "SELECT write_t() AS v", "read-only transaction"},
		{b, "SELECT v FROM t FOR UPDATE", "read-only transaction"},
		{b, "SELECT 1 / count(*) AS v FROM t", "NULLIF"},
		{b, "SELECT concat(:p, :p) IS NULL AS v", "convert the parameter"},
		{b, "SELECT v FROM t WHERE v = :p", "correct the value"},
		{b, "SELECT v FROM t WHERE v = :list", "write IN (:name)"},
		{poor, "SELECT v FROM secret", "grant the account SELECT"},
	} {
		failing := task(t, test.query, "v")
		failing.Parameters = map[string]any{"p": "x", "list": []any{"1"}}
		_, err := test.on.read(t.Context(), failing)
		if !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), test.want) ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", test.query, err)
		}
		prepared := test.on.source.Prepare(t.Context(), failing.Listener)
		switch test.want {
		case "correct the value", "NULLIF", "write IN (:name)", "read-only transaction": // known only when it runs
		default:
			if prepared == nil || prepared.Error() != err.Error() {
				t.Errorf("%s: prepare says %v, not %v", test.query, prepared, err)
			}
			if errors.Is(prepared, fault.Denied) != (test.on == poor) {
				t.Errorf("%s: whether a grant is missing: %v", test.query, prepared)
			}
		}
	}
	if d := poor.mustRead(t, task(t, "SELECT v FROM t", "v")); d.JSON("v") != "[]" {
		t.Errorf("the table holds %s", d.Rows)
	}
	good := task(t, "SELECT v FROM t WHERE v IN (:s.v) AND v = :p AND v IN (:list)", "v")
	if err := b.source.Prepare(t.Context(), listenertest.FromValues(good, report.KindInteger).Listener); err != nil {
		t.Error(err)
	}
	if _, err := b.read(t.Context(), listenertest.FromValues(good, report.KindInteger)); !errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("a parameter without a value: %v", err)
	}
}

// TestColumns: the server tells the columns of a query without running it, with the types that a job gets.
func TestColumns(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE EXTENSION citext", "CREATE DOMAIN price AS numeric(12,4)",
		"CREATE TABLE typed (i int, d numeric(12,4), p price, f real, s varchar(9), m citext, at timestamp(0), j jsonb)")
	r := &report.Report{}
	for _, query := range []string{
		"SELECT * FROM typed; ",
		"SELECT i + 1 AS i, d / 3 AS third, s || 'x' AS c, max(at) AS at, count(*) AS n FROM typed GROUP BY i, d, s -- end",
		"SELECT :tag AS tag, :n::int AS n FROM typed WHERE at > :day LIMIT :n",
		"SELECT pg_sleep(100)::text AS slept, i FROM typed UNION ALL SELECT '1', 2",
	} {
		of := task(t, query, "")
		of.Parameters = map[string]any{"tag": "x", "n": int64(1), "day": "2024-01-01"}
		of.Listener.Zone = "Europe/Berlin"
		got, err := b.source.Columns(t.Context(), r, of.Listener)
		if err != nil || got == nil {
			t.Fatal(query, got, err)
		}
		for _, c := range got {
			of.Listener.Columns = append(of.Listener.Columns, c.Name)
		}
		if strings.Contains(query, "sleep") {
			continue
		}
		want := b.mustRead(t, of).Columns
		for i := range want {
			if want[i] != got[i] {
				t.Errorf("%s: %+v, and a job gets %+v", query, got[i], want[i])
			}
		}
	}
	twice := task(t, "SELECT a.i, b.i FROM typed a CROSS JOIN typed b", "i j")
	if got, err := b.source.Columns(t.Context(), r, twice.Listener); err == nil || got != nil {
		t.Errorf("two columns of one name: %v %v", got, err)
	}
	version, clock, zone, err := b.source.Server(t.Context())
	if !strings.HasPrefix(version, "PostgreSQL ") || time.Since(clock).Abs() > time.Minute || zone == "" || err != nil {
		t.Errorf("%s %v %s %v", version, clock, zone, err)
	}
}
