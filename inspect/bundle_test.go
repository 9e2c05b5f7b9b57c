package inspect

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// bundle is an Inspector on servers of the package, with keys and a schema of its own.
type bundle struct {
	*testing.T
	*Inspector
	db *sql.DB
}

// setup makes a bundle whose configuration has more at its top level.
func setup(t *testing.T, more string) *bundle {
	t.Helper()
	server, name := testmain.SharedRedis(t), testmain.Name(t)
	schema, _ := testmain.Schema(t)
	dsn := testmain.SharedDatabase(t).DSN(schema)
	c, err := config.Load("test.yaml", fmt.Appendf(nil, `
redis: %s
keys: {prefix: "%s:", hash: "%s-"}
databases: {db: {dsn: %q}}
records: {database: db}
sink: file://%s
reports:
  two: {stages: [{listeners: [{name: a, database: db, query: "SELECT 1 AS k"}, {name: b, database: db, query: "SELECT 1 AS k"}]}], join: {key: k}}
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
	db, err := mysqldb.Connect(report.Database{DSN: report.Secret(dsn)}, 5, 0)
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
	in := Config{Redis: c.Redis, Reports: c.Reports, Timers: c.Timers, Limits: c.Limits, Records: c.Records}
	return &bundle{t, New(Options{Config: in, Redis: client, Blocking: client, Scripts: scripts.Partitions{s}, Records: records}), db}
}

// ok ends the test on an error.
func (b *bundle) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// insert writes a record of report two and returns its id.
func (b *bundle) insert() string {
	b.Helper()
	id, err := b.o.Records.Insert(b.Context(), "two", []byte("{}"))
	b.ok(err)
	return id
}

// in is the score of a time so far from now.
func in(d time.Duration) float64 { return float64(time.Now().Add(d).UnixMilli()) }

// add puts members into a sorted set.
func (b *bundle) add(key string, members ...redis.Z) {
	b.Helper()
	b.ok(b.o.Redis.ZAdd(context.Background(), key, members...).Err())
}
