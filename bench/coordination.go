package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/record"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// coordination measures jobs per second without SQL: an id is fanned out to
// listeners that each give 100 numbers, and one fold reads them all. Everything
// goes through the same scripts as a real report does.
func coordination(ctx context.Context, o options, dir string, r *results) error {
	server, err := testenv.StartRedis(ctx, mkdir(dir, "redis"))
	if err != nil {
		return err
	}
	defer server.Stop()
	mariadb, err := testenv.StartMariaDB(ctx, mkdir(dir, "mariadb"))
	if err != nil {
		return err
	}
	defer mariadb.Stop()
	for round := range o.rounds {
		for _, n := range []int{2, 8} {
			memory := newMemory()
			took, err := fanOut(ctx, server, memory, memory, n, ids(round, o.jobs))
			if err != nil {
				return err
			}
			if err := memory.check(o.jobs); err != nil {
				return err
			}
			r.add(fmt.Sprintf("coordination, %d listeners, records in memory", n), "fanfold", "jobs/s", float64(o.jobs)/took.Seconds())
		}
		store, all, err := filledTable(ctx, mariadb, round, o.jobs)
		if err != nil {
			return err
		}
		memory := newMemory()
		took, err := fanOut(ctx, server, store, memory, 2, all)
		if err != nil {
			return err
		}
		if err := memory.check(o.jobs); err != nil {
			return err
		}
		r.add("coordination, 2 listeners, records in MariaDB", "fanfold", "jobs/s", float64(o.jobs)/took.Seconds())
	}
	return nil
}

// fanOut pushes the ids, starts the roles, and returns how long it took from
// there to the last file.
func fanOut(ctx context.Context, server *testenv.Redis, records engine.Records, files *memory, n int, ids []string) (time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	client, blocking := server.Client(), server.Client()
	defer client.Close()
	defer blocking.Close()
	if err := client.FlushDB(ctx).Err(); err != nil { // the server is this program's own
		return 0, err
	}
	rep, err := benchReport(n)
	if err != nil {
		return 0, err
	}
	reports := map[string]*report.Report{rep.Name: rep}
	limits := report.Limits{RunningJobs: 1000, Tasks: 64, Folds: 64, Grace: time.Minute, Lease: 10 * time.Second}
	s := scripts.New(scripts.Options{Redis: client})
	eng, err := engine.New(engine.Options{
		Redis: blocking, Scripts: s, Records: records, Sink: files, Reports: reports, Limits: limits, Consumer: "bench",
	})
	if err != nil {
		return 0, err
	}
	lis, err := listeners.New(listeners.Options{
		Redis: blocking, Scripts: s, Reports: reports, Sources: map[string]listeners.Source{"numbers": numbers{}},
		Limits: limits, Consumer: "bench",
	})
	if err != nil {
		return 0, err
	}
	if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, id := range ids {
			p.XAdd(ctx, &redis.XAddArgs{Stream: s.Jobs(), Values: []string{"id", id}})
		}
		return nil
	}); err != nil {
		return 0, err
	}
	start := time.Now()
	var group errgroup.Group
	group.Go(func() error { return eng.Run(ctx) })
	group.Go(func() error { return lis.Run(ctx) })
	// A job counts once it is settled: nothing of it is left to be done.
	var took time.Duration
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		if files.commits.Load() < int64(len(ids)) {
			continue
		}
		running, err := s.Running(ctx)
		if err != nil {
			return 0, err
		}
		if running == 0 {
			took = time.Since(start)
			tick.Stop()
			break
		}
	}
	stop()
	return took, group.Wait()
}

// benchReport is a report of n listeners without SQL.
func benchReport(n int) (*report.Report, error) {
	var list, joined []string
	for i := range n {
		name := "l" + strconv.Itoa(i)
		list = append(list, `{name: `+name+`, database: numbers, query: "SELECT k, v FROM t"}`)
		joined = append(joined, name)
	}
	config, err := report.Load("bench.yaml", []byte(`
redis: redis://127.0.0.1/0
databases: {numbers: {dsn: "u@tcp(127.0.0.1:1)/x"}}
records: {database: numbers}
sink: file:///nowhere
reports:
  bench:
    stages: [{listeners: [`+strings.Join(list, ", ")+`]}]
    join: {key: k, listeners: [`+strings.Join(joined, ", ")+`]}
`), report.Environment{})
	if err != nil {
		return nil, err
	}
	return config.Reports["bench"], nil
}

// numbers is a source that gives 100 rows at once.
type numbers struct{}

func (numbers) Read(_ context.Context, _ listeners.Task, out *listeners.Writer) error {
	if err := out.Columns([]report.Column{{Name: "k", Kind: report.KindInteger}, {Name: "v", Kind: report.KindInteger}}); err != nil {
		return err
	}
	for i := range int64(100) {
		out.Builder().Int(0, i)
		out.Builder().Int(1, i*i)
		if err := out.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

// filledTable makes a record table with that many PENDING rows.
func filledTable(ctx context.Context, m *testenv.MariaDB, round, jobs int) (*record.Store, []string, error) {
	schema := "bench" + strconv.Itoa(round)
	admin, err := m.Open("")
	if err != nil {
		return nil, nil, err
	}
	defer admin.Close()
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+schema); err != nil {
		return nil, nil, err
	}
	db, err := mysqldb.Connect(report.Secret(m.DSN(schema)), 10, 0)
	if err != nil {
		return nil, nil, err
	}
	if _, err := record.Migrate(ctx, db, record.DefaultTable); err != nil {
		return nil, nil, err
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO "+record.DefaultTable+" (id, report) SELECT seq, 'bench' FROM seq_1_to_"+strconv.Itoa(jobs)); err != nil {
		return nil, nil, err
	}
	store, err := record.New(db, report.Records{})
	return store, ids(-1, jobs), err
}

// ids are those of one round.
func ids(round, n int) []string {
	var ids []string
	for i := range n {
		if round < 0 {
			ids = append(ids, strconv.Itoa(i+1))
		} else {
			ids = append(ids, fmt.Sprintf("r%d-%d", round, i))
		}
	}
	return ids
}

func mkdir(parts ...string) string {
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		panic(err)
	}
	return dir
}
