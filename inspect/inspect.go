package inspect

import (
	"context"
	"database/sql"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine/record"
	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Options are the handles of what an Inspector asks. It opens and closes none of them.
type Options struct {
	Config    Config
	Redis     redis.UniversalClient // for everything short
	Blocking  redis.UniversalClient // for reads that wait; only Watch has any
	Scripts   scripts.Partitions
	Records   *record.Store
	Databases map[string]*sql.DB                       // of listeners, by name
	APIs      map[string]API                           // by name
	Sink      func(context.Context) (sink.Sink, error) // opens the sink; only Doctor writes to it
	Source    func(database string) (Preparer, error)  // opens what runs a database's queries; only Doctor asks for it
}

// Config is what the configuration says of the installation that is asked about.
type Config struct {
	Redis     report.Redis
	Reports   map[string]*report.Report // by name
	Timers    report.Timers
	Limits    report.Limits
	Databases map[string]report.Database // by name
	Records   report.Records
	Sink      report.SinkURL
}

// API is a source that is asked by HTTP.
type API interface {
	// Connect proves that it takes connections, and sends it nothing.
	Connect(ctx context.Context) error
}

// Preparer runs the queries of listeners.
type Preparer interface {
	// Prepare has the server parse a listener's query.
	Prepare(ctx context.Context, l *report.Listener) error
}

// Inspector answers what an operator asks. It changes nothing, but that Doctor writes and
// deletes one object in the sink and one scratch file. It is safe for concurrent use.
type Inspector struct{ o Options }

// New makes an Inspector. It asks nothing yet.
func New(o Options) *Inspector { return &Inspector{o} }
