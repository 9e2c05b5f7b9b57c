package testmain

import (
	"context"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv"
)

// SharedPostgres returns the package's PostgreSQL server, started on first use.
func SharedPostgres(t testing.TB) *testenv.Postgres {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.postgres == nil {
		p, err := testenv.StartPostgres(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		shared.postgres = p
	}
	return shared.postgres
}

// PostgresDatabase creates a database with a unique name on the shared PostgreSQL server, and executes the
// statements there. It returns the name: SharedPostgres(t).DSN(name) connects to it.
func PostgresDatabase(t testing.TB, statements ...string) (name string) {
	t.Helper()
	p := SharedPostgres(t)
	name = Name(t)
	if err := p.Exec(t.Context(), "postgres", "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	if len(statements) > 0 {
		if err := p.Exec(t.Context(), name, strings.Join(statements, ";\n")); err != nil {
			t.Fatal(err)
		}
	}
	return name
}
