package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	sqldriver "github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/engine/record"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/engine/sink/gcs"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/internal/quiet"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/listeners/http"
	"github.com/fanfold/fanfold/listeners/mysql"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// backend is a configuration with the connections that it names.
type backend struct {
	config     *config.Config
	redis      redis.UniversalClient // for scripts and everything short
	blocking   redis.UniversalClient // for reads that wait
	seen       *quiet.Watch          // what becomes of both
	partitions scripts.Partitions
	databases  map[string]*sql.DB
	apis       map[string]*http.Source
	rows       *sql.DB // of the records: short statements alone
	records    *record.Store
	inspect    *inspect.Inspector
	metrics    prometheus.Registerer       // nil: none are asked for
	files      *sink.Watched               // of an engine; nil: this process makes no files
	sources    map[string]listeners.Source // of listeners; nil: this process runs none
	only       func(listener string) bool  // which listeners run here; nil: all
	bounds     map[string]report.Bound     // of sources
	slots      *listeners.Slots            // of tasks
	tag        string                      // of the files of this installation; empty: not known
	closers    []io.Closer
}

// patience is how long a short statement may take in MySQL.
const patience = 30 * time.Second

// loadConfig reads and proves the configuration file.
func loadConfig(file string) (*config.Config, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage(fmt.Errorf("no configuration file %s: name one with --config or $FANFOLD_CONFIG", file))
	} else if err != nil {
		return nil, usage(err)
	}
	return config.Load(file, data, decode.Environment{
		Lookup: os.LookupEnv,
		ReadFile: func(name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(file), name)
			}
			return os.ReadFile(name)
		},
	})
}

// open makes the clients of a configuration. Nothing is connected yet.
func open(file string) (*backend, error) {
	config, err := loadConfig(file)
	if err != nil {
		return nil, err
	}
	b := &backend{config: config, databases: map[string]*sql.DB{}, apis: map[string]*http.Source{}}
	if err := b.open(); err != nil {
		b.Close()
		return nil, usage(err)
	}
	return b, nil
}

func (b *backend) open() error {
	var err error
	all := b.config.Keys.Partitions(b.config.Redis)
	// Each partition keeps one connection that watches its sets.
	if b.redis, err = redisdb.Connect(b.config.Redis, 10*runtime.GOMAXPROCS(0)+4*len(all), 0); err != nil {
		return err
	}
	b.closers = append(b.closers, b.redis)
	waiting := 12 // the trigger, fan-in, timers, replies, and some for what does not wait
	listeners := 0
	for _, r := range b.config.Reports {
		for range r.Listeners() {
			listeners++
		}
	}
	if b.blocking, err = redisdb.Connect(b.config.Redis, len(all)*(waiting+listeners/step.MostShared+1), redisdb.BlockingTimeout); err != nil {
		return err
	}
	b.closers = append(b.closers, b.blocking)
	for _, keys := range all {
		b.partitions = append(b.partitions, scripts.New(scripts.Options{
			Redis: b.redis, Keys: scripts.Keys(keys), Home: scripts.Keys(all[0]), JobBytes: b.config.Limits.JobBytes, Compress: b.config.Limits.Compress,
		}))
	}
	b.seen = &quiet.Watch{Type: b.partitions.Type}
	b.seen.On(b.redis)
	b.seen.On(b.blocking)
	for name, d := range b.config.Databases {
		if b.databases[name], err = mysqldb.Connect(d, d.MaxConnections, 0); err != nil {
			return fmt.Errorf("databases.%s: %w", name, err)
		}
		b.closers = append(b.closers, b.databases[name])
	}
	apis := map[string]inspect.API{}
	for name, api := range b.config.APIs {
		b.apis[name] = http.New(api, b.config.Keys.Prefix)
		apis[name] = b.apis[name]
		b.closers = append(b.closers, b.apis[name])
	}
	// Records have connections of their own: their short statements do not wait
	// behind long queries, and not for ever.
	of := b.config.Databases[b.config.Records.Database]
	var zone *time.Location // of the server
	if of.TimeZone != "" {
		zone, err = time.LoadLocation(of.TimeZone)
	}
	if err == nil {
		b.rows, err = mysqldb.ConnectRecords(of, of.MaxConnections, patience, zone)
	}
	if err != nil {
		return fmt.Errorf("databases.%s: %w", of.Name, err)
	}
	b.closers = append(b.closers, b.rows)
	if b.records, err = record.New(b.rows, b.config.Records); err != nil {
		return fmt.Errorf("records: %w", err)
	}
	c := b.config
	b.inspect = inspect.New(inspect.Options{
		Config: inspect.Config{Redis: c.Redis, Reports: c.Reports, Timers: c.Timers, Limits: c.Limits, Databases: c.Databases, Records: c.Records, Sink: c.Sink},
		Redis:  b.redis, Blocking: b.blocking, Scripts: b.partitions, Records: b.records, Databases: b.databases, APIs: apis, Sink: b.sink,
		Source: func(database string) (inspect.Preparer, error) { return b.source(database) },
	})
	return nil
}

// connected makes the function of a command from one that needs the backend, and refuses the keys of
// other partitions or of another installation.
func (f *flags) connected(run func(c *cobra.Command, b *backend, args []string) error) func(*cobra.Command, []string) error {
	return f.opened(func(c *cobra.Command, b *backend, args []string) error {
		if err := b.checkOwner(c.Context()); err != nil {
			return err
		}
		return run(c, b, args)
	})
}

// opened is connected, with any partitions.
func (f *flags) opened(run func(c *cobra.Command, b *backend, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		b, err := open(f.config)
		if err != nil {
			return err
		}
		defer b.Close()
		return b.explain(run(c, b, args))
	}
}

// withIDs is connected, for a command whose arguments are ids of records.
func (f *flags) withIDs(run func(c *cobra.Command, b *backend, ids []string) error) func(*cobra.Command, []string) error {
	return f.connected(func(c *cobra.Command, b *backend, ids []string) error {
		for _, id := range ids {
			if !report.ValidID(id) {
				return usage(fmt.Errorf("%.80q is no id: 1 to 64 of 0-9, A-Z, a-z, _ and -", id))
			}
		}
		return run(c, b, ids)
	})
}

// explain says what helps where the records' database refuses something.
func (b *backend) explain(err error) error {
	name := b.config.Records.Database
	var server *sqldriver.MySQLError
	switch {
	case mysqldb.Refused(err):
		return fmt.Errorf("%w\nDatabase %s refuses the login: correct databases.%s in the configuration, or the account's grants", err, name, name)
	case errors.As(err, &server) && server.Number == noSuchTable && !strings.Contains(err.Error(), "fanfold migrate"):
		return fmt.Errorf("%w\nTable %s is not in database %s: fanfold migrate makes Fanfold's own table, and records.table names one of yours", err, b.config.Records.Table, name)
	}
	return err
}

// noSuchTable is what MySQL calls it.
const noSuchTable = 1146

// sink opens the place where files go; Close closes it.
func (b *backend) sink(ctx context.Context) (sink.Sink, error) {
	to := b.config.Sink
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
	b.closers = append(b.closers, s)
	return s, nil
}

// source makes the source of a database's listeners. Queries are ended over
// connections of their own, since all others may be in use; Close closes them.
func (b *backend) source(name string) (*mysql.Source, error) {
	side, err := mysqldb.Connect(b.config.Databases[name], 2, patience)
	if err != nil {
		return nil, usage(fmt.Errorf("databases.%s: %w", name, err))
	}
	b.closers = append(b.closers, side)
	return mysql.New(b.databases[name], side), nil
}

// ping proves that Redis and the records' database answer: every master, or some.
func (b *backend) ping(ctx context.Context, some bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	masters, err := redisdb.Masters(ctx, b.redis)
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
	if hint := redisdb.Hint(b.config.Redis, err); hint != "" {
		return unreachable(fmt.Errorf("redis: %w\n%s", err, hint))
	} else if errors.As(err, new(net.Error)) {
		return unreachable(err) // which names Redis
	} else if err != nil {
		return unreachable(fmt.Errorf("redis: %w", err))
	}
	if len(b.config.Redis.Cluster) == 0 { // in a cluster the first one may be the one that hangs
		// A user may not be allowed to ask.
		if info, err := masters[0].InfoMap(ctx, "server").Result(); err == nil {
			if err := redisdb.CheckMode(b.config.Redis, info["Server"]); err != nil {
				return usage(fmt.Errorf("redis: %w", err))
			}
		}
	}
	if err := b.rows.PingContext(ctx); err != nil {
		return unreachable(fmt.Errorf("database %s: %w", b.config.Records.Database, err))
	}
	return nil
}

// ready tells why this process cannot work; nil: nothing is known against it. The sink
// is judged by its last write.
func (b *backend) ready(ctx context.Context) error {
	if err := b.ping(ctx, false); err != nil || b.files == nil {
		return err
	}
	return b.files.State(ctx)
}

// Close closes all connections.
func (b *backend) Close() {
	for _, c := range b.closers {
		_ = c.Close()
	}
}

// logger makes the log of a command, on stderr.
func (f *flags) logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: f.logLevel}
	if f.logJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// consumerName is unique for this process: host, process id, start.
func consumerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixMilli()%1e6, 36)
}
