package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/quiet"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
	"github.com/fanfold/fanfold/trace"
)

// Process is a configuration with the connections that it names.
type Process struct {
	Config     *config.Config
	Redis      redis.UniversalClient // for scripts and short commands
	Blocking   redis.UniversalClient // for blocking reads
	Partitions scripts.Partitions
	Rows       *record.DB // of the records: short statements only
	Records    *record.Store
	Inspect    *inspect.Inspector
	Operate    *operate.Operator
	Metrics    prometheus.Registerer // nil: no metrics
	HTTP       string                // host:port of the dashboard; empty: none
	Version    string                // of the program: "dev" or such as "v0.1.0"

	kinds     kinds.Kinds
	trace     *trace.Tracer                            // nil: no job is traced
	seen      *quiet.Watch                             // whether Redis answers its clients
	files     *sink.Watched                            // of an engine; nil: this process writes no files
	spool     *spool.Spool                             // nil: it was not opened, or there is none
	reads     func(context.Context) (sink.Sink, error) // opens the sink for downloads, once
	lists     func(context.Context) (sink.Sink, error) // opens the spool for health, once
	sources   map[string]listeners.Connection          // databases and APIs, by name
	listeners []*listeners.Runner                      // by partition; nil: the role was not made
	only      func(listener string) bool               // which listeners run here; nil: all
	patterns  []string                                 // of --listeners
	zone      *time.Location                           // of the records' sessions; nil: the server's
	closers   closers
}

// statementTimeout is the timeout of a short statement of the records.
const statementTimeout = 30 * time.Second

// LoadConfig reads and validates the configuration file, which can choose these kinds.
func LoadConfig(file string, kinds kinds.Kinds) (*config.Config, error) {
	return read(file, kinds, config.Load)
}

// ShowConfig reads and validates the configuration file as LoadConfig does, and returns what is in force.
func ShowConfig(file string, kinds kinds.Kinds) (*config.View, error) {
	return read(file, kinds, config.Show)
}

// read reads the configuration file and the variables.
func read[T any](file string, kinds kinds.Kinds,
	load func(string, []byte, decode.Environment, config.Kinds) (T, error)) (none T, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return none, fault.Config.New("no configuration file %s: name one with --config or $FANFOLD_CONFIG", file)
	} else if err != nil {
		return none, fault.Config.Of(err)
	}
	env := decode.Folder(filepath.Dir(file))
	env.Lookup = os.LookupEnv
	return load(file, data, env, kinds.Config())
}

// Open makes the clients of a configuration, which can choose these kinds. It connects to no server.
func Open(file string, kinds kinds.Kinds) (*Process, error) {
	read, err := LoadConfig(file, kinds)
	if err != nil {
		return nil, err
	}
	p := &Process{Config: read, kinds: kinds, sources: map[string]listeners.Connection{}}
	p.reads, p.lists = openOnce(sinkOf(p, read.Sink)), openOnce(sinkOf(p, read.Spool.Sink))
	for _, connect := range []func(*Process) error{connectRedis, connectSources, connectRecords} {
		if err := connect(p); err != nil {
			p.Close()
			return nil, fault.Config.Of(err)
		}
	}
	p.Inspect = inspect.New(p.handles())
	p.Operate = operate.New(p.Inspect)
	return p, nil
}

// connectRedis makes the clients of Redis and the partitions.
func connectRedis(p *Process) (err error) {
	all := p.Config.Keys.Partitions(p.Config.Redis)
	// One connection of every partition watches its sets.
	if p.Redis, err = redisdb.Connect(p.Config.Redis, 10*runtime.GOMAXPROCS(0)+4*len(all), 0); err != nil {
		return err
	}
	p.closers.add(p.Redis)
	waiting := 14 // blocking reads of the trigger, turns, fan-in, timers, ends and replies, and some spare connections
	waiting += len(p.Config.ListenerNames())/step.MaxShared + 1
	if p.Blocking, err = redisdb.Connect(p.Config.Redis, len(all)*waiting, redisdb.BlockingTimeout); err != nil {
		return err
	}
	p.closers.add(p.Blocking)
	p.Partitions = newPartitions(p.Config, p.Redis, p.Blocking)
	p.seen = &quiet.Watch{Type: p.Partitions.Type}
	p.seen.On(p.Redis)
	p.seen.On(p.Blocking)
	return nil
}

// newPartitions makes the partitions of a configuration with two clients, one of them for blocking reads.
func newPartitions(c *config.Config, client, blocking redis.UniversalClient) (of scripts.Partitions) {
	all := c.Keys.Partitions(c.Redis)
	for _, keys := range all {
		of = append(of, scripts.New(scripts.Options{
			Redis: client, Blocking: blocking, Keys: keys, Shared: all[0],
			JobBytes: c.Limits.JobBytes, SpoolBytes: c.Limits.SpoolBytes, Compress: c.Limits.Compress,
			Lanes: c.Limits.Share(len(all)).Lanes, Sources: report.SourcesOf(c.Reports),
		}))
	}
	return of
}

// connectSources makes the databases and the APIs.
func connectSources(p *Process) (err error) {
	for _, database := range p.Config.Databases {
		of, _ := p.kinds.Sources.Of(database.Kind)
		for _, d := range database.Servers() {
			if p.sources[d.Name], err = of.OpenDatabase(d); err != nil {
				return fmt.Errorf("databases.%s: %w", d.Name, err)
			}
			p.closers.add(p.sources[d.Name])
		}
	}
	for name, api := range p.Config.APIs {
		of, _ := p.kinds.Sources.Of(api.Kind)
		if p.sources[name], err = of.OpenAPI(api, p.Config.Keys.Prefix); err != nil {
			return fmt.Errorf("apis.%s: %w", name, err)
		}
		p.closers.add(p.sources[name])
	}
	return nil
}

// connectRecords makes the database of the records. It has its own connections, so that short statements do not
// wait behind long queries; a timeout bounds them.
func connectRecords(p *Process) (err error) {
	of := p.Config.Databases[p.Config.Records.Database]
	if of.TimeZone != "" {
		p.zone, err = time.LoadLocation(of.TimeZone)
	}
	if err == nil {
		p.Rows, err = p.kinds.Records.Open(of, record.Options{
			MaxConnections: of.MaxConnections, Patience: statementTimeout, Zone: p.zone,
		})
	}
	if err != nil {
		return fmt.Errorf("databases.%s: %w", of.Name, err)
	}
	p.closers.add(p.Rows)
	if p.Records, err = record.New(p.Rows, p.Config.Records); err != nil {
		return fmt.Errorf("records: %w", err)
	}
	return nil
}

// handles returns the part of the configuration and the clients that package inspect uses.
func (p *Process) handles() inspect.Options {
	c, sources := p.Config, map[string]inspect.Source{}
	for name, s := range p.sources {
		sources[name] = s
	}
	return inspect.Options{
		Config: inspect.Config{
			Redis: c.Redis, Reports: c.Reports, Timers: c.Timers,
			Limits: c.Limits, Records: c.Records, Sources: c.Sources,
		},
		Scripts: p.Partitions, Records: p.Records, Sources: sources,
	}
}

// Examine checks the servers, the sources, the sink and the spool that the configuration names.
func (p *Process) Examine(ctx context.Context) doctor.Findings {
	return doctor.Examine(ctx, doctor.Options{
		Options: p.handles(), Settings: p.Config.Sources, Sink: p.Config.Sink.URL,
		OpenSink: sinkOf(p, p.Config.Sink), Spool: p.Config.Spool.URL, OpenSpool: sinkOf(p, p.Config.Spool.Sink),
		Formats: p.kinds.Formats,
	})
}

// ColumnsOf returns the columns of the query of a report's listener, without running it; nil if its source does not
// tell them. A query that the server refuses is an error.
func ColumnsOf(ctx context.Context, p *Process, r *report.Report, l *report.Listener) ([]dataset.Column, error) {
	if db, ok := p.sources[l.Source].(doctor.Database); ok {
		if err := db.Prepare(ctx, l); err != nil {
			return nil, err
		}
		columns, err := db.Columns(ctx, r, l)
		if errors.Is(err, fault.Underivable) {
			return columns, nil // those of texts have no collation, as in a job
		}
		return columns, err
	}
	return nil, nil
}

// sinkOf returns a function that opens the sink or the spool of the configuration; Close closes it.
func sinkOf(p *Process, of report.Sink) func(context.Context) (sink.Sink, error) {
	return func(ctx context.Context) (sink.Sink, error) {
		s, err := p.kinds.Sinks.Open(ctx, of)
		if err == nil {
			p.closers.add(s)
		}
		return s, err
	}
}

// OpenRecords opens the database of the records for statements without a timeout, such as migrations.
// Close closes it.
func (p *Process) OpenRecords() (*record.DB, error) {
	of := p.Config.Databases[p.Config.Records.Database]
	db, err := p.kinds.Records.Open(of, record.Options{MaxConnections: 1, Migrates: true})
	if err != nil {
		return nil, fault.Config.New("databases.%s: %w", of.Name, err)
	}
	p.closers.add(db)
	return db, nil
}

// Close closes all connections.
func (p *Process) Close() { p.closers.close() }

// closers are what a process must close. They are safe for concurrent use.
type closers struct {
	mu  sync.Mutex
	all []io.Closer
}

func (c *closers) add(one io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
}

func (c *closers) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		_ = one.Close()
	}
}

// ConsumerName returns a name that is unique for this process: host, process id, start.
func ConsumerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixMilli()%1e6, 36)
}
