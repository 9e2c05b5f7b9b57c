package main

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/fanin"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/engine/trigger"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/mysql"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/step"
)

// fanfold is all roles in one process, through the same scripts as a real report:
// a listener gives one column of 100 numbers without SQL; the fold joins the columns
// of all listeners and writes a CSV and a manifest. It is told as folded when the
// CSV is committed.
type fanfold struct {
	client, blocking redis.UniversalClient
	partitions       scripts.Partitions
	files            *memory
	source           *numbers
	slots            *listeners.Slots
	roles            []func(ctx context.Context) error // of all partitions
}

var _ delayer = (*fanfold)(nil)

// records are the store of both.
type records interface {
	engine.Records
	recovery.Records
}

type fanfoldOptions struct {
	listeners int
	records   records     // nil: in memory
	keys      report.Keys // zero: the default ones
	consumer  string      // empty: there is one process
	apart     bool        // records in memory are those of this process alone
	running   int         // maximum of running jobs; 0: 1000
	lanes     bool        // jobs take turns; their lane is the column of the records

	takes time.Duration // of every task
}

func startFanfold(_ context.Context, s servers, listeners int) (peer, error) {
	return newFanfold(s.at(), fanfoldOptions{listeners: listeners})
}

func newFanfold(at report.Redis, o fanfoldOptions) (f *fanfold, err error) {
	rep, err := benchReport(o.listeners)
	if err != nil {
		return nil, err
	}
	f = &fanfold{files: newMemory(o.apart), source: &numbers{takes: o.takes}}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if o.records == nil {
		o.records = f.files
	}
	if o.keys == (report.Keys{}) {
		o.keys = report.DefaultKeys
	}
	o.consumer = cmp.Or(o.consumer, "bench")
	// Connections are as those of fanfold serve.
	all := o.keys.Partitions(at)
	if f.client, err = redisdb.Connect(at, 10*runtime.GOMAXPROCS(0)+4*len(all), 0); err != nil {
		return f, err
	}
	if f.blocking, err = redisdb.Connect(at, 14*len(all), redisdb.BlockingTimeout); err != nil {
		return f, err
	}
	limits := report.Limits{RunningJobs: cmp.Or(o.running, 1000), Tasks: 64, LargeFiles: 128, RebuildPerSecond: 500, RecoverAfter: time.Minute, Lease: 10 * time.Second}
	if o.lanes {
		limits.Lanes = &report.Lanes{By: report.LaneBy{Column: "lane"}}
	}
	limits = limits.Share(len(all))
	for _, keys := range all {
		f.partitions = append(f.partitions, scripts.New(scripts.Options{
			Redis: f.client, Keys: keys, Shared: all[0], Lanes: limits.Lanes,
		}))
	}
	f.slots = listeners.NewSlots(limits, nil)
	for _, s := range f.partitions {
		if err := f.add(s, o, map[string]*report.Report{rep.Name: rep}, limits); err != nil {
			return f, err
		}
	}
	return f, nil
}

// add adds the roles of one partition.
func (f *fanfold) add(s *scripts.Scripts, o fanfoldOptions, reports map[string]*report.Report, limits report.Limits) error {
	e, err := engine.New(engine.Options{
		Redis: f.blocking, Scripts: s, Partitions: f.partitions, Records: o.records, Reports: reports, Limits: limits, Consumer: o.consumer,
	})
	if err != nil {
		return err
	}
	made, err := files.New(e, files.Options{Sink: f.files, Formats: formats})
	if err != nil {
		return err
	}
	pushes := trigger.New(e, made)
	r, err := recovery.New(recovery.Options{Scripts: s, Jobs: pushes, Records: o.records, Grace: limits.RecoverAfter, Rate: limits.RebuildPerSecond})
	if err != nil {
		return err
	}
	l, err := listeners.New(listeners.Options{
		Redis: f.blocking, Scripts: s, Reports: reports, Sources: map[string]listeners.Source{"numbers": f.source},
		Limits: limits, Slots: f.slots, Consumer: o.consumer,
	})
	if err != nil {
		return err
	}
	t, err := scheduler.New(scheduler.Options{Scripts: s, Consumer: o.consumer})
	f.roles = append(f.roles, pushes.Run, fanin.New(e, made).Run, made.Run, r.Run, l.Run, t.Run)
	return err
}

// fanfoldPush is how many ids are pushed in one round trip.
const fanfoldPush = 10_000

func (f *fanfold) push(ctx context.Context, ids []string) error {
	for some := range slices.Chunk(ids, fanfoldPush) {
		if _, err := f.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, id := range some {
				p.XAdd(ctx, &redis.XAddArgs{Stream: f.partitions.Of(id).Keys.Jobs, Values: []string{"id", id}})
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fanfold) pushAt(ctx context.Context, id string, at time.Time) error {
	return f.client.ZAdd(ctx, f.partitions.Of(id).Keys.Delayed, redis.Z{Score: float64(at.UnixMilli()), Member: id}).Err()
}

func (f *fanfold) run(ctx context.Context, tell told) error {
	f.files.folded, f.source.started = tell.folded, tell.started
	var group errgroup.Group
	for _, role := range f.roles {
		group.Go(func() error { return role(ctx) })
	}
	return group.Wait()
}

// hash goes when the job is settled: nothing of it is left to be done.
func (f *fanfold) hash(id string) string { return f.partitions.Of(id).Keys.Job(id) }

func (f *fanfold) close() {
	for _, c := range []redis.UniversalClient{f.client, f.blocking} {
		if c != nil {
			_ = c.Close()
		}
	}
}

// formats are those of the files.
var formats = format.Kinds{format.CSV}

// benchReport is a report of n listeners without SQL.
func benchReport(n int) (*report.Report, error) {
	var list, joined []string
	for i := range n {
		list = append(list, listenerName(i)+`: {database: numbers, query: "SELECT k FROM t"}`)
		joined = append(joined, listenerName(i))
	}
	config, err := config.Load("bench.yaml", []byte(`
redis: redis://127.0.0.1/0
databases: {numbers: {dsn: "u@tcp(127.0.0.1:1)/x"}}
records: {database: numbers}
sink: file:///nowhere
reports:
  bench:
    listeners: {`+strings.Join(list, ", ")+`}
    join: {key: k, listeners: [`+strings.Join(joined, ", ")+`]}
`), decode.Environment{}, config.Kinds{
		Formats: formats.Config(), Sinks: sink.Kinds{dir.Kind}.Config(), Sources: listeners.Kinds{mysql.Kind}.Config(),
		Records: []kind.Records{{Name: "mysql"}},
	})
	if err != nil {
		return nil, err
	}
	return config.Reports["bench"], nil
}

// numbers is a source that gives one column of 100 numbers.
type numbers struct {
	started func(id string)
	takes   time.Duration
}

func (n *numbers) Read(ctx context.Context, task listeners.Task, out *listeners.Writer) error {
	if n.started != nil {
		n.started(task.ID)
	}
	if n.takes > 0 {
		if err := step.Wait(ctx, n.takes); err != nil {
			return err
		}
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
