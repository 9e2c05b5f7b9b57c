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
