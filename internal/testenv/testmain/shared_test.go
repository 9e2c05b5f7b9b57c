package testmain

import (
	"context"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func TestSchemasAreApart(t *testing.T) {
	t.Parallel()
	a, dbA := Schema(t)
	b, dbB := Schema(t)
	if a == b {
		t.Fatalf("both schemas are named %s", a)
	}
	for _, db := range []interface {
		PingContext(context.Context) error
	}{dbA, dbB} {
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dbA.Exec("CREATE TABLE x (i INT)"); err != nil {
		t.Fatal(err)
	}
	if _, err := dbB.Exec("SELECT * FROM x"); err == nil {
		t.Error("schema b sees the table of schema a")
	}
}

func TestPostgresDatabasesAreApart(t *testing.T) {
	t.Parallel()
	a, b := PostgresDatabase(t, "CREATE TABLE x (i int)", "INSERT INTO x VALUES (1)"), PostgresDatabase(t)
	if err := SharedPostgres(t).Exec(t.Context(), a, "SELECT i FROM x"); err != nil {
		t.Error(err)
	}
	if err := SharedPostgres(t).Exec(t.Context(), b, "SELECT i FROM x"); err == nil {
		t.Error("database b sees the table of database a")
	}
}
