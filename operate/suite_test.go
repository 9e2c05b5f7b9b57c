package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/record/mysql"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

// acting returns the context of acts.
func acting(t *testing.T) context.Context {
	return audit.With(t.Context(), &audit.Actor{Who: "ann", By: "test", From: "192.0.2.1"})
}

// bench is an Operator on the servers of the package, with keys and a schema of its own, in three
// partitions. No engine runs.
type bench struct {
	*testing.T
	*Operator
	inspect *inspect.Inspector
	records *record.Store
	db      *record.DB
	redis   *redis.Client
	all     scripts.Partitions
}

func setup(t *testing.T) *bench {
	t.Helper()
	server, name := testmain.SharedRedis(t), testmain.Name(t)
	schema, _ := testmain.Schema(t)
	dsn := testmain.SharedDatabase(t).DSN(schema)
	c, err := config.Load("test.yaml", fmt.Appendf(nil, `
redis: {url: %q, partitions: 3}
redis_keys: {prefix: "%s:", hash: "%s-"}
databases: {db: {dsn: %q}}
records: {database: db}
sink: file://%s
timers: {beep: {key: "beep-{x}", append: {stream: messages, fields: {x: "{x}"}}}}
reports:
  slow: {listeners: {one: {database: db, query: "SELECT 1 AS k"}}, schedule: [{cron: "0 9 * * mon"}]}
  external: {listeners: {service: {kind: external, columns: [k], silence: 30s}}}
`, server.URL(), name, name, dsn, t.TempDir()), decode.Environment{}, kinds.Standard().Config())
	b := &bench{T: t}
	b.ok(err)
	options, err := redis.ParseURL(server.URL())
	b.ok(err)
	b.redis = redis.NewClient(options)
	t.Cleanup(func() { _ = b.redis.Close() })
	b.db, err = mysql.Kind.Open(report.Database{DSN: report.Secret(dsn)}, record.Options{MaxConnections: 5})
	b.ok(err)
	t.Cleanup(func() { _ = b.db.Close() })
	_, err = record.Migrate(t.Context(), b.db, c.Records.Table)
	b.ok(err)
	b.records, err = record.New(b.db, c.Records)
	b.ok(err)
	partitions := c.Keys.Partitions(c.Redis)
	for _, k := range partitions {
		b.all = append(b.all, scripts.New(scripts.Options{Redis: b.redis, Keys: k, Shared: partitions[0]}))
	}
	of := inspect.Config{Redis: c.Redis, Reports: c.Reports, Timers: c.Timers, Limits: c.Limits, Records: c.Records,
		Sources: c.Sources}
	b.inspect = inspect.New(inspect.Options{Config: of, Scripts: b.all, Records: b.records})
	b.Operator = New(b.inspect)
	return b
}

// ok ends the test on an error.
func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// refused checks the error of a change.
func (b *bench) refused(err, kind error) {
	b.Helper()
	if !errors.Is(err, kind) {
		b.Errorf("%v, not: %v", err, kind)
	}
}

func (b *bench) exec(statement string, args ...any) {
	b.Helper()
	_, err := b.db.ExecContext(b.Context(), statement, args...)
	b.ok(err)
}

// number returns the result of a query.
func (b *bench) number(query string, args ...any) (n int) {
	b.Helper()
	b.ok(b.db.QueryRowContext(b.Context(), query, args...).Scan(&n))
	return n
}

// insert inserts a PENDING record of a report.
func (b *bench) insert(report string) string {
	b.Helper()
	id, err := b.records.Insert(b.Context(), record.Request{Report: report})
	b.ok(err)
	return id
}

// total adds a number of all partitions.
func (b *bench) total(of func(k *scripts.Keys) *redis.IntCmd) (n int) {
	b.Helper()
	for _, s := range b.all {
		c := of(s.Keys)
		b.ok(c.Err())
		n += int(c.Val())
	}
	return n
}

// pushed returns how many ids wait in the streams.
func (b *bench) pushed() int {
	b.Helper()
	return b.total(func(k *scripts.Keys) *redis.IntCmd { return b.redis.XLen(b.Context(), k.Jobs) })
}

// dead returns the ids on the lists of dead jobs, sorted.
func (b *bench) dead() (ids []string) {
	b.Helper()
	for _, s := range b.all {
		ids = append(ids, b.redis.ZRange(b.Context(), s.Keys.Dead, 0, -1).Val()...)
	}
	slices.Sort(ids)
	return ids
}

// kill makes records FAILED and lists them as dead.
func (b *bench) kill(ids ...string) {
	b.Helper()
	for i, id := range ids {
		b.exec("UPDATE file_download_record SET status = 'FAILED', attempt = 1, error = ? WHERE id = ?", "reason "+id, id)
		b.ok(b.redis.ZAdd(b.Context(), b.all.Of(id).Keys.Dead, redis.Z{Score: float64(1717200000000 + i), Member: id}).Err())
	}
}
