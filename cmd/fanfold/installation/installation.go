// Package installation gives a test the servers of an installation, with keys and a schema of its own,
// and no process that works on them.
package installation

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/scripts"
)

// Installation is a configuration with report two, whose listeners are a and b, and its servers.
type Installation struct {
	*testing.T
	Config  *config.Config
	Redis   *redis.Client
	Scripts scripts.Partitions
	Records *record.Store
	DB      *record.DB
}

// New makes an Installation. Its configuration has more at the top level.
func New(t *testing.T, more string) *Installation {
	t.Helper()
	server, name := testmain.SharedRedis(t), testmain.Name(t)
	schema, _ := testmain.Schema(t)
	dsn := testmain.SharedDatabase(t).DSN(schema)
	c, err := config.Load("test.yaml", fmt.Appendf(nil, `
redis: %s
redis_keys: {prefix: "%s:", hash: "%s-"}
databases: {db: {dsn: %q}}
records: {database: db}
sink: file://%s
reports:
  two:
    listeners:
      a: {database: db, query: "SELECT 1 AS k"}
      b: {database: db, query: "SELECT 1 AS k"}
    join: {key: k}
%s`, server.URL(), name, name, dsn, t.TempDir(), more), decode.Environment{}, kinds.Standard().Config())
	if err != nil {
		t.Fatal(err)
	}
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	db, err := kinds.Standard().Records.Open(c.Databases["db"], record.Options{MaxConnections: 5, Migrates: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := record.Migrate(t.Context(), db, c.Records.Table); err != nil {
		t.Fatal(err)
	}
	records, err := record.New(db, c.Records)
	if err != nil {
		t.Fatal(err)
	}
	s := scripts.New(scripts.Options{Redis: client, Keys: c.Keys, JobBytes: c.Limits.JobBytes})
	return &Installation{t, c, client, scripts.Partitions{s}, records, db}
}

// OK ends the test on an error.
func (i *Installation) OK(err error) {
	i.Helper()
	if err != nil {
		i.Fatal(err)
	}
}

// Keys returns the keys in Redis.
func (i *Installation) Keys() *scripts.Keys { return i.Scripts.First().Keys }

// Exec runs a statement in the database.
func (i *Installation) Exec(statement string, args ...any) {
	i.Helper()
	_, err := i.DB.ExecContext(i.Context(), statement, args...)
	i.OK(err)
}

// Insert writes a record of report two and returns its id.
func (i *Installation) Insert() string {
	i.Helper()
	id, err := i.Records.Insert(i.Context(), record.Request{Report: "two", Parameters: []byte("{}")})
	i.OK(err)
	return id
}

// Add puts members into a sorted set.
func (i *Installation) Add(key string, members ...redis.Z) {
	i.Helper()
	i.OK(i.Redis.ZAdd(context.Background(), key, members...).Err())
}

// In returns the score of a time so far from now.
func In(d time.Duration) float64 { return float64(time.Now().Add(d).UnixMilli()) }
