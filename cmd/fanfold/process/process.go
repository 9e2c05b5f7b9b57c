package process

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/internal/quiet"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/internal/trace"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/http"
	"github.com/fanfold/fanfold/listeners/mysql"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/gcs"
)

// Process is a configuration with the connections that it names.
type Process struct {
	Config     *config.Config
	Redis      redis.UniversalClient // for scripts and short commands
	Blocking   redis.UniversalClient // for blocking reads
	Partitions scripts.Partitions
	Rows       *sql.DB // of the records: short statements only
	Records    *record.Store
	Inspect    *inspect.Inspector
	Operate    *operate.Operator
	Metrics    prometheus.Registerer // nil: no metrics
	HTTP       string                // host:port of the dashboard; empty: none
	Version    string                // of the program: "dev" or such as "v0.1.0"

	trace    *trace.Tracer                            // nil: no job is traced
	seen     *quiet.Watch                             // whether Redis answers its clients
	files    *sink.Watched                            // of an engine; nil: this process writes no files
	reads    func(context.Context) (sink.Sink, error) // opens the sink for downloads, once
	sources  map[string]listeners.Connection          // databases and APIs, by name
	only     func(listener string) bool               // which listeners run here; nil: all
	patterns []string                                 // of --listeners
	slots    *listeners.Slots                         // of tasks
	tag      string                                   // identifies this installation in the names of files; empty: unknown
	zone     *time.Location                           // of the records' sessions; nil: the server's
	closing  sync.Mutex                               // of closers
	closers  []io.Closer
}

// statementTimeout is the timeout of a short MySQL statement.
const statementTimeout = 30 * time.Second

// LoadConfig reads and validates the configuration file.
func LoadConfig(file string) (*config.Config, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Config.New("no configuration file %s: name one with --config or $FANFOLD_CONFIG", file)
	} else if err != nil {
		return nil, fault.Config.Of(err)
	}
	return config.Load(file, data, decode.Environment{
		Lookup: os.LookupEnv,
		ReadFile: func(name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(file), name)
			}
			return decode.ReadFile(name)
		},
	})
}

// Open makes the clients of a configuration. It connects to no server.
func Open(file string) (*Process, error) {
	config, err := LoadConfig(file)
	if err != nil {
		return nil, err
	}
	p := &Process{Config: config, sources: map[string]listeners.Connection{}}
	p.reads = openOnce(p.OpenSink)
	if err := p.open(); err != nil {
		p.Close()
		return nil, fault.Config.Of(err)
	}
	return p, nil
}

func (p *Process) open() error {
	var err error
	all := p.Config.Keys.Partitions(p.Config.Redis)
	// One connection of every partition watches its sets.
	if p.Redis, err = redisdb.Connect(p.Config.Redis, 10*runtime.GOMAXPROCS(0)+4*len(all), 0); err != nil {
		return err
	}
	p.closers = append(p.closers, p.Redis)
	waiting := 13 // blocking reads of the trigger, fan-in, timers, ends and replies, and some spare connections
	listeners := 0
	for _, r := range p.Config.Reports {
		for range r.Listeners() {
			listeners++
		}
	}
	if p.Blocking, err = redisdb.Connect(p.Config.Redis, len(all)*(waiting+listeners/step.MaxShared+1), redisdb.BlockingTimeout); err != nil {
		return err
	}
	p.closers = append(p.closers, p.Blocking)
	for _, keys := range all {
		p.Partitions = append(p.Partitions, scripts.New(scripts.Options{
			Redis: p.Redis, Keys: keys, Home: all[0], JobBytes: p.Config.Limits.JobBytes, Compress: p.Config.Limits.Compress,
		}))
	}
	p.seen = &quiet.Watch{Type: p.Partitions.Type}
	p.seen.On(p.Redis)
	p.seen.On(p.Blocking)
	for name, d := range p.Config.Databases {
		source, err := mysql.Open(d)
		if err != nil {
			return fmt.Errorf("databases.%s: %w", name, err)
		}
		p.sources[name] = source
		p.closers = append(p.closers, source)
	}
	for name, api := range p.Config.APIs {
		p.sources[name] = http.New(api, p.Config.Keys.Prefix)
		p.closers = append(p.closers, p.sources[name])
	}
	// Records have their own connections, so their short statements do not wait behind long
	// queries; the timeout bounds them.
	of := p.Config.Databases[p.Config.Records.Database]
	if of.TimeZone != "" {
		p.zone, err = time.LoadLocation(of.TimeZone)
	}
	if err == nil {
		p.Rows, err = mysqldb.ConnectRecords(of, of.MaxConnections, statementTimeout, p.zone)
	}
	if err != nil {
		return fmt.Errorf("databases.%s: %w", of.Name, err)
	}
	p.closers = append(p.closers, p.Rows)
	if p.Records, err = record.New(p.Rows, p.Config.Records); err != nil {
		return fmt.Errorf("records: %w", err)
	}
	p.Inspect = inspect.New(p.handles())
	p.Operate = operate.New(operate.Options{Config: p.handles().Config, Scripts: p.Partitions, Records: p.Records, Inspect: p.Inspect})
	return nil
}

// InspectConfig returns the part of the configuration that package inspect uses.
func (p *Process) InspectConfig() inspect.Config {
	c := p.Config
	return inspect.Config{Redis: c.Redis, Reports: c.Reports, Timers: c.Timers, Limits: c.Limits, Records: c.Records, Bounds: c.Bounds()}
}

// handles returns the clients that package inspect uses.
func (p *Process) handles() inspect.Options {
	sources := map[string]inspect.Source{}
	for name, s := range p.sources {
		sources[name] = s
	}
	return inspect.Options{
		Config: p.InspectConfig(),
		Redis:  p.Redis, Blocking: p.Blocking, Scripts: p.Partitions, Records: p.Records, Sources: sources,
	}
}

// Examine checks the servers, the sources and the sink that the configuration names.
func (p *Process) Examine(ctx context.Context) doctor.Findings {
	return doctor.Examine(ctx, doctor.Options{
		Options: p.handles(), Settings: p.Config.Sources(), Sink: p.Config.Sink, OpenSink: p.OpenSink,
	})
}

// OpenSink opens the sink of the configuration; Close closes it.
func (p *Process) OpenSink(ctx context.Context) (sink.Sink, error) {
	to := p.Config.Sink
	var s sink.Sink
	var err error
	if to.Scheme == report.SchemeGCS {
		s, err = gcs.New(ctx, to.Place, to.Prefix)
	} else {
		s, err = sink.NewDir(to.Place)
	}
	if err != nil {
		return nil, fmt.Errorf("sink %s: %w", to, err)
	}
	p.closes(s)
	return s, nil
}

// OpenRecords opens the database of the records for statements without a timeout, such as migrations.
// Close closes it.
func (p *Process) OpenRecords() (*sql.DB, error) {
	of := p.Config.Databases[p.Config.Records.Database]
	db, err := mysqldb.Connect(of, 1, 0)
	if err != nil {
		return nil, fault.Config.New("databases.%s: %w", of.Name, err)
	}
	p.closes(db)
	return db, nil
}

// ping checks that Redis and the records' database answer: every master, or with some at least one.
func (p *Process) ping(ctx context.Context, some bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	masters, err := redisdb.Masters(ctx, p.Redis)
	answers := 0
	for _, master := range masters {
		failed := master.Ping(ctx).Err()
		if err = cmp.Or(err, failed); failed == nil {
			answers++
		}
	}
	if some && answers > 0 {
		err = nil
	}
	if hint := redisdb.Hint(p.Config.Redis, err); hint != "" {
		return fault.Unreachable.New("redis: %w\n%s", err, hint)
	} else if errors.As(err, new(net.Error)) {
		return fault.Unreachable.Of(err) // it names Redis
	} else if err != nil {
		return fault.Unreachable.New("redis: %w", err)
	}
	if len(p.Config.Redis.Cluster) == 0 { // in a cluster, the first master may be the one that hangs
		// The ACL of the user may deny INFO.
		if info, err := masters[0].InfoMap(ctx, "server").Result(); err == nil {
			if err := redisdb.CheckMode(p.Config.Redis, info["Server"]); err != nil {
				return fault.Config.New("redis: %w", err)
			}
		}
	}
	if err := p.Rows.PingContext(ctx); err != nil {
		return fault.Unreachable.New("database %s: %w", p.Config.Records.Database, err)
	}
	return nil
}

// ready returns why this process cannot work, or nil. The sink is judged by its last write.
func (p *Process) ready(ctx context.Context) error {
	if err := p.ping(ctx, false); err != nil || p.files == nil {
		return err
	}
	return p.files.State(ctx)
}

// closes registers what Close must close.
func (p *Process) closes(c io.Closer) {
	p.closing.Lock()
	defer p.closing.Unlock()
	p.closers = append(p.closers, c)
}

// Close closes all connections.
func (p *Process) Close() {
	p.closing.Lock()
	defer p.closing.Unlock()
	for _, c := range p.closers {
		_ = c.Close()
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
