package record

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// pool is a pool on a schema of its own, as the program opens it.
func pool(t *testing.T) (schema string, db *sql.DB) {
	t.Helper()
	schema, _ = testmain.Schema(t)
	return schema, connect(t, testmain.SharedDatabase(t).DSN(schema))
}

func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := mysqldb.ConnectRecords(report.Database{DSN: report.Secret(dsn)}, 10, 0, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// own is a store on Fanfold's own table.
func own(t *testing.T, options report.Records) (*Store, *sql.DB) {
	t.Helper()
	_, db := pool(t)
	if _, err := Migrate(t.Context(), db, options.Table); err != nil {
		t.Fatal(err)
	}
	return store(t, db, options), db
}

func store(t *testing.T, db *sql.DB, options report.Records) *Store {
	t.Helper()
	s, err := New(db, options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), testmain.SharedDatabase(t).SQL(statement), args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func read(t *testing.T, s *Store, id string) engine.Record {
	t.Helper()
	found, err := s.Read(t.Context(), []string{id})
	if err != nil {
		t.Fatal(err)
	}
	r, ok := found[id]
	if !ok {
		t.Fatalf("no record %s", id)
	}
	r.Age, r.Created = 0, 0
	return r
}

func ok(t *testing.T) func(bool, error) bool {
	t.Helper()
	return func(done bool, err error) bool {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
}
