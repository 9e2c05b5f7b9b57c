package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// TestTables: init reads the tables that the account can read, of all schemas.
func TestTables(t *testing.T) {
	t.Parallel()
	b := setup(t, "CREATE SCHEMA sales", "CREATE DOMAIN key AS bigint",
		`CREATE TABLE sales."Orders" (id key PRIMARY KEY, user_id int, note text, at timestamptz, gone int, doc jsonb, tags text[], paid boolean)`,
		`ALTER TABLE sales."Orders" DROP COLUMN gone`, `CREATE INDEX ON sales."Orders" (user_id, at)`,
		`CREATE UNIQUE INDEX ON sales."Orders" (note) WHERE paid`, "CREATE VIEW seen AS SELECT date '2024-02-29' AS day, 1.5 AS n",
		"CREATE TABLE secret (a int, b int)", "CREATE TABLE parts (a int) PARTITION BY RANGE (a)",
		"CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (9)")
	got, err := b.source.Tables(t.Context())
	want := []kind.Table{
		{Name: "parts", Text: `"parts"`, Columns: []kind.Column{{Name: "a", Role: kind.Integer}}},
		{Name: "secret", Text: `"secret"`, Columns: []kind.Column{{Name: "a", Role: kind.Integer}, {Name: "b", Role: kind.Integer}}},
		{Name: "seen", Text: `"seen"`, Columns: []kind.Column{{Name: "day", Role: kind.Day}, {Name: "n"}}},
		{Name: "sales.Orders", Text: `"sales"."Orders"`, Columns: []kind.Column{
			{Name: "id", Role: kind.Integer, Indexed: true, Unique: true}, {Name: "user_id", Role: kind.Integer, Indexed: true},
			{Name: "note", Role: kind.Text, Indexed: true}, {Name: "at", Role: kind.Day}, {Name: "doc", Role: kind.Long},
			{Name: "tags", Role: kind.Long}, {Name: "paid"},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if newest, err := b.source.Newest(t.Context(), want[2], "day"); newest != "2024-02-29" || err != nil {
		t.Errorf("%q %v", newest, err)
	}
	if newest, err := b.source.Newest(t.Context(), want[3], "at"); newest != "" || err != nil {
		t.Errorf("%q %v", newest, err)
	}
	reader := "reader_" + b.database[:6]
	b.exec(t, "CREATE USER "+reader, "GRANT USAGE ON SCHEMA sales TO "+reader, "GRANT SELECT (b) ON secret TO "+reader)
	poor := open(t, strings.Replace(testmain.SharedPostgres(t).DSN(b.database), "postgres@", reader+"@", 1))
	got, err = poor.Tables(t.Context())
	want = []kind.Table{{Name: "secret", Text: `"secret"`, Columns: []kind.Column{{Name: "b", Role: kind.Integer}}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for dsn, want := range map[string]error{
		strings.Replace(testmain.SharedPostgres(t).DSN("missing"), "postgres@", reader+"@", 1): fault.Login,
		"postgres://u@127.0.0.1:1/x": fault.Unreachable,
	} {
		if _, err := open(t, dsn).Tables(t.Context()); !errors.Is(err, want) {
			t.Errorf("%v", err)
		}
	}
}
