package inspect

import (
	"context"
	"database/sql"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine/record"
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
	Databases map[string]*sql.DB // of listeners, by name
	APIs      map[string]API     // by name
}

// Config is what the configuration says of the installation that is asked about.
type Config struct {
	Redis   report.Redis
	Reports map[string]*report.Report // by name
	Timers  report.Timers
	Limits  report.Limits
	Records report.Records
}

// API is a source that is asked by HTTP.
type API interface {
	// Connect proves that it takes connections, and sends it nothing.
	Connect(ctx context.Context) error
}

// Inspector answers what an operator asks. It changes nothing, but for a key of its own in Unheard, and is
// safe for concurrent use.
type Inspector struct {
	o     Options
	batch *batch // nil: each job is asked about by itself
}

// batch is what several jobs have in common: it is asked once for all of them.
type batch struct {
	ids   []string
	asked sync.Map // what was asked → func() (its type, error)
}

// once asks, or returns what was answered to another job of the batch.
func once[T any](in *Inspector, what string, ask func() (T, error)) (T, error) {
	if in.batch == nil {
		return ask()
	}
	asked, _ := in.batch.asked.LoadOrStore(what, sync.OnceValues(ask))
	return asked.(func() (T, error))()
}

// New makes an Inspector. It asks nothing yet.
func New(o Options) *Inspector { return &Inspector{o: o} }
