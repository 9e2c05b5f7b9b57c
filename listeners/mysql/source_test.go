package mysql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/listenertest"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// bundle is a source on a schema of its own.
type bundle struct {
	schema string
	admin  *sql.DB
	db     *sql.DB // of the source: one connection, so that what it leaves behind is met again
	source *Source
}

func setup(t testing.TB) *bundle {
	t.Helper()
	schema, admin := testmain.Schema(t)
	b := &bundle{schema: schema, admin: admin}
	dsn := testmain.SharedDatabase(t).DSN(schema)
	b.db = connect(t, dsn)
	b.source = newSource(b.db, connect(t, dsn))
	return b
}

// newSource returns a source with these pools.
func newSource(db, kills *sql.DB) *Source { return over(db, kills, kills) }

func connect(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := mysqldb.Connect(report.Database{DSN: report.Secret(dsn)}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (b *bundle) exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := b.admin.Exec(testmain.SharedDatabase(t).SQL(statement)); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// task is a task of one query that gives these columns, separated by spaces.
func task(t testing.TB, query, columns string) listeners.Task {
	t.Helper()
	q, err := dialect.MySQL.Parse(testmain.SharedDatabase(t).SQL(query))
	if err != nil {
		t.Fatal(err)
	}
	return listeners.Task{ID: "1", Attempt: 1, Listener: &report.Listener{
		Name: "l", Source: "d", Own: &dialect.Fields{Text: q.Text, Query: q}, Columns: strings.Fields(columns), Timeout: time.Minute,
	}}
}

// from makes the task use JSON texts of an earlier stage as :s.v.
func from(task listeners.Task, values ...string) listeners.Task {
	return listenertest.FromValues(task, report.KindText, values...)
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

func TestChunks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	d := b.mustRead(t, task(t, "SELECT seq AS n, CONCAT('row ', seq) AS name FROM seq_1_to_25000", "n name"))
	if len(d.Chunks) != 3 || d.Chunks[0] != 10000 || d.Chunks[2] != 5000 {
		t.Errorf("rows of the chunks: %v", d.Chunks)
	}
	if all := d.Values(t, "name"); len(all) != 25000 || all[24999] != "row 25000" {
		t.Errorf("%d values", len(all))
	}
	d = b.mustRead(t, task(t, "SELECT seq AS n FROM seq_1_to_9 WHERE seq > 9", "n"))
	if len(d.Chunks) != 1 || d.JSON("n") != "[]" || d.Columns[0].Kind != report.KindInteger {
		t.Errorf("an empty result: %+v", d)
	}
}

func TestColumnsMustAgree(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, test := range []struct{ query, columns, want string }{
		{"SELECT 1 AS a, 2 AS b", "a b", ""},
		{"SELECT 1 AS a, 2 AS b", "b a", "[a, b], but the listener's columns are [b, a]"},
		{"SELECT 1 AS a, 2 AS b", "a", "[a, b], but the listener's columns are [a]"},
		{"SELECT 1 AS a", "a b", "[a], but the listener's columns are [a, b]"},
		{"SELECT 1 AS A", "a", "[A], but the listener's columns are [a]"},
		{"SELECT 1 AS a, 2 AS a", "a b", "column a twice: give one of them an alias"},
	} {
		_, err := b.read(t.Context(), task(t, test.query, test.columns))
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s for %s: %v", test.query, test.columns, err)
		}
	}
}

func TestParametersStayData(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (v VARCHAR(100))", "INSERT INTO t VALUES ('kept')")
	texts := []string{`'; DROP TABLE t; -- `, `" OR 1=1 -- `, `\' OR 1=1 -- `, "a`b", "\x00\x1a\n\r\\", "%_", ":v", "?", "Ünïcödé 漢字 العربية हिन्दी 😀🏳️‍🌈", "x' UNION SELECT v FROM t -- "}
	for _, text := range texts {
		read := task(t, "SELECT :v AS v, (SELECT COUNT(*) FROM t WHERE v = :v) AS n, ':v ?' AS s", "v n s")
		read.Parameters = map[string]any{"v": text}
		d := b.mustRead(t, read)
		if got := d.Values(t, "v"); len(got) != 1 || got[0] != text {
			t.Errorf("%q became %q", text, got)
		}
		if d.JSON("n") != "[0]" || d.JSON("s") != `[":v ?"]` {
			t.Errorf("%q: %v", text, d.Rows)
		}
		list := task(t, "SELECT v FROM t WHERE v IN (:list)", "v")
		list.Parameters = map[string]any{"list": []any{text, text + "x"}}
		if got := b.mustRead(t, list).Values(t, "v"); len(got) != 0 {
			t.Errorf("%q found %q", text, got)
		}
	}
	kinds := task(t, "SELECT :i AS i, :u AS u, :b AS b, :n AS n, :l + 0 AS l", "i u b n l")
	kinds.Parameters = map[string]any{"i": int64(-5), "u": uint64(1<<64 - 1), "b": true, "n": nil, "l": []any{int64(7)}}
	d := b.mustRead(t, kinds)
	for column, want := range map[string]string{"i": "[-5]", "u": "[18446744073709551615]", "b": "[1]", "n": "[null]", "l": "[7]"} {
		if got := d.JSON(column); got != want {
			t.Errorf("parameter %s: %s, want %s", column, got, want)
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec(t, "CREATE TABLE t (v INT)", "CREATE TABLE secret (v INT)", "CREATE FUNCTION write_t() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO t VALUES (1); RETURN 1; END",
		"CREATE USER 'reader_"+b.schema[:8]+"' IDENTIFIED BY 's3cret'", "GRANT SELECT ON `"+b.schema+"`.t TO 'reader_"+b.schema[:8]+"'")
	dsn := "reader_" + b.schema[:8] + ":s3cret@tcp(" + testmain.SharedDatabase(t).Addr + ")/" + b.schema
	poor := &bundle{source: newSource(connect(t, dsn), connect(t, dsn))}
	for _, test := range []struct {
		on          *bundle
		query, want string
	}{
		{b, "SELECT nothing AS v FROM t", "correct the column"},
		{b, "SELECT v FROM t WHERE", "correct the SQL"},
		{b, "SELECT v AS rows FROM t", "reserved word"},
		{b, "SELECT v FROM missing", "correct the table"},
		{b, "SELECT nothing(v) AS v FROM t", "correct the function"},
		{b, "SELECT write_t() AS v", "read-only transaction"},
		{poor, "SELECT v FROM secret", "grant the account SELECT"},
	} {
		_, err := test.on.read(t.Context(), task(t, test.query, "v"))
		if !errors.Is(err, listeners.ErrPermanent) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", test.query, err)
		}
		prepared := test.on.source.Prepare(t.Context(), task(t, test.query, "v").Listener)
		if test.want != "read-only transaction" && (prepared == nil || prepared.Error() != err.Error()) {
			t.Errorf("%s: prepare says %v", test.query, prepared)
		}
	}
	if d := poor.mustRead(t, task(t, "SELECT v FROM t", "v")); d.JSON("v") != "[]" {
		t.Errorf("the table holds %s", d.Rows)
	}
	good := task(t, "SELECT v FROM t WHERE v IN (:s.v) AND v = :p AND v IN (:list)", "v")
	if err := b.source.Prepare(t.Context(), from(good).Listener); err != nil {
		t.Error(err)
	}
	if _, err := b.read(t.Context(), from(good)); !errors.Is(err, listeners.ErrPermanent) {
		t.Errorf("a parameter without a value: %v", err)
	}
	down := connect(t, "u:s3cret@tcp(127.0.0.1:1)/x")
	if _, err := (&bundle{source: newSource(down, down)}).read(t.Context(), good); err == nil || errors.Is(err, listeners.ErrPermanent) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a server that is down: %v", err)
	}
}
