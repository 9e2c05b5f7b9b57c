package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler"
	"github.com/fanfold/fanfold/scripts"
)

// fanfold is all roles in one process, through the same scripts as a real report:
// a listener gives one column of 100 numbers without SQL; the fold joins the columns
// of all listeners and writes a CSV and a manifest. It is told as folded when the
// CSV is committed.
type fanfold struct {
	client, blocking *redis.Client
	scripts          *scripts.Scripts
	files            *memory
	source           *numbers
	engine           *engine.Engine
	recovery         *recovery.Recovery
	listeners        *listeners.Runner
	scheduler        *scheduler.Scheduler
}

var _ delayer = (*fanfold)(nil)

// records are the store of both.
type records interface {
	engine.Records
	recovery.Records
}

type fanfoldOptions struct {
	listeners int
	records   records      // nil: in memory
	keys      scripts.Keys // zero: the default ones
	consumer  string       // empty: there is one process
	apart     bool         // records in memory are those of this process alone
}

func startFanfold(_ context.Context, s servers, listeners int) (peer, error) {
	return newFanfold(s.redis, fanfoldOptions{listeners: listeners})
}

func newFanfold(server *testenv.Redis, o fanfoldOptions) (*fanfold, error) {
	rep, err := benchReport(o.listeners)
	if err != nil {
		return nil, err
	}
	reports := map[string]*report.Report{rep.Name: rep}
	limits := report.Limits{RunningJobs: 1000, Tasks: 64, Folds: 128, Grace: time.Minute, Lease: 10 * time.Second}
	f := &fanfold{client: server.Client(), blocking: server.Client(), files: newMemory(o.apart), source: &numbers{}}
	if o.records == nil {
		o.records = f.files
	}
	o.consumer = cmp.Or(o.consumer, "bench")
	f.scripts = scripts.New(scripts.Options{Redis: f.client, Keys: o.keys})
	if f.engine, err = engine.New(engine.Options{
		Redis: f.blocking, Scripts: f.scripts, Records: o.records, Sink: f.files, Reports: reports, Limits: limits, Consumer: o.consumer,
	}); err != nil {
		return nil, err
	}
	if f.recovery, err = recovery.New(recovery.Options{
		Scripts: f.scripts, Jobs: f.engine, Records: o.records, Grace: limits.Grace, Rate: 500,
	}); err != nil {
		return nil, err
	}
	if f.listeners, err = listeners.New(listeners.Options{
		Redis: f.blocking, Scripts: f.scripts, Reports: reports, Sources: map[string]listeners.Source{"numbers": f.source},
		Limits: limits, Consumer: o.consumer,
	}); err != nil {
		return nil, err
	}
	f.scheduler, err = scheduler.New(scheduler.Options{Redis: f.client, Scripts: f.scripts, Consumer: o.consumer})
	return f, err
}

// fanfoldPush is how many ids are pushed in one round trip.
const fanfoldPush = 10_000

func (f *fanfold) push(ctx context.Context, ids []string) error {
	for some := range slices.Chunk(ids, fanfoldPush) {
		if _, err := f.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, id := range some {
				p.XAdd(ctx, &redis.XAddArgs{Stream: f.scripts.Keys.Jobs(), Values: []string{"id", id}})
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fanfold) pushAt(ctx context.Context, id string, at time.Time) error {
	return f.client.ZAdd(ctx, f.scripts.Keys.Delayed(), redis.Z{Score: float64(at.UnixMilli()), Member: id}).Err()
}

func (f *fanfold) run(ctx context.Context, tell told) error {
	f.files.folded, f.source.started = tell.folded, tell.started
	var group errgroup.Group
	group.Go(func() error { return f.engine.Run(ctx) })
	group.Go(func() error { return f.recovery.Run(ctx) })
	group.Go(func() error { return f.listeners.Run(ctx) })
	group.Go(func() error { return f.scheduler.Run(ctx) })
	return group.Wait()
}

// hash goes when the job is settled: nothing of it is left to be done.
func (f *fanfold) hash(id string) string { return f.scripts.Keys.Job(id) }

func (f *fanfold) close() {
	_ = f.client.Close()
	_ = f.blocking.Close()
}

// benchReport is a report of n listeners without SQL.
func benchReport(n int) (*report.Report, error) {
	var list, joined []string
	for i := range n {
		list = append(list, `{name: `+listenerName(i)+`, database: numbers, query: "SELECT k FROM t"}`)
		joined = append(joined, listenerName(i))
	}
	config, err := config.Load("bench.yaml", []byte(`
redis: redis://127.0.0.1/0
databases: {numbers: {dsn: "u@tcp(127.0.0.1:1)/x"}}
records: {database: numbers}
sink: file:///nowhere
reports:
  bench:
    stages: [{listeners: [`+strings.Join(list, ", ")+`]}]
    join: {key: k, listeners: [`+strings.Join(joined, ", ")+`]}
`), decode.Environment{})
	if err != nil {
		return nil, err
	}
	return config.Reports["bench"], nil
}

// numbers is a source that gives one column of 100 numbers.
type numbers struct {
	started func(id string)
}

func (n *numbers) Read(_ context.Context, task listeners.Task, out *listeners.Writer) error {
	if n.started != nil {
		n.started(task.ID)
	}
	if err := out.Columns([]dataset.Column{{Name: "k", Kind: report.KindInteger}}); err != nil {
		return err
	}
	for i := range int64(numbersCount) {
		out.Builder().Int(0, i)
		if err := out.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

// numbersCSV is the file of one job: the join of all its listeners.
var numbersCSV = func() string {
	var b strings.Builder
	b.WriteString("k\r\n")
	for i := range numbersCount {
		b.WriteString(strconv.Itoa(i) + "\r\n")
	}
	return b.String()
}()
