package record_test

import (
	"context"
	"testing"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/record/mysql"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// all are the kinds of databases that the tests run on.
var all = []*Kind{mysql.Kind}

// each runs a test on every kind of database.
func each(t *testing.T, test func(t *testing.T, k *Kind)) {
	t.Parallel()
	for _, k := range all {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

// pool is a pool on a schema of its own, as the program opens it.
func pool(t *testing.T, k *Kind) (schema string, db *DB) {
	t.Helper()
	schema, _ = testmain.Schema(t)
	return schema, connect(t, k, testmain.SharedDatabase(t).DSN(schema))
}

func connect(t *testing.T, k *Kind, dsn string) *DB {
	t.Helper()
	db, err := k.Open(report.Database{DSN: report.Secret(dsn)}, Options{MaxConnections: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// own is a store on Fanfold's own table.
func own(t *testing.T, k *Kind, options report.Records) (*Store, *DB) {
	t.Helper()
	_, db := pool(t, k)
	if _, err := Migrate(t.Context(), db, options.Table); err != nil {
		t.Fatal(err)
	}
	return store(t, db, options), db
}

func store(t *testing.T, db *DB, options report.Records) *Store {
	t.Helper()
	s, err := New(db, options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// text is a statement in the SQL of a database.
func text(t *testing.T, db *DB, statement string) string {
	return testmain.SharedDatabase(t).SQL(statement)
}

func run(t *testing.T, db *DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), text(t, db, statement), args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// beside creates the tables beside the table of records.
func beside(t *testing.T, db *DB) {
	t.Helper()
	if _, err := MigrateTables(t.Context(), db, ""); err != nil {
		t.Fatal(err)
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
