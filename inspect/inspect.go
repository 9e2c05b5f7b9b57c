package inspect

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Options are the connections of an Inspector, which neither opens nor closes any.
type Options struct {
	Config   Config
	Redis    redis.UniversalClient // for commands that do not block
	Blocking redis.UniversalClient // for blocking reads; only Watch uses it
	Scripts  scripts.Partitions
	Records  *record.Store
	Sources  map[string]Source // databases and APIs of listeners, by name
}

// Config is the part of the configuration that an Inspector needs.
type Config struct {
	Redis   report.Redis
	Reports map[string]*report.Report // by name
	Timers  report.Timers
	Limits  report.Limits
	Records report.Records
	Bounds  map[string]report.Source // databases and APIs with their limits, by name
}

// Source is a database or an API.
type Source interface {
	// Reach connects once and reads no data. An error that matches fault.Login means that the
	// server answered and refused the account.
	Reach(ctx context.Context) error
}

// Inspector answers the questions of an operator. It changes nothing except a key of its own in
// Unpublished. It is safe for concurrent use.
type Inspector struct {
	o     Options
	batch *batch // nil: every job is asked about separately
}

// batch has the answers that several jobs share.
type batch struct {
	ids   []string
	asked sync.Map // name of the question → func() (its type, error)
}

// once asks a question, or returns the answer that another job of the batch got.
func once[T any](in *Inspector, what string, ask func() (T, error)) (T, error) {
	if in.batch == nil {
		return ask()
	}
	asked, _ := in.batch.asked.LoadOrStore(what, sync.OnceValues(ask))
	return asked.(func() (T, error))()
}

// New makes an Inspector. It does no I/O.
func New(o Options) *Inspector { return &Inspector{o: o} }
