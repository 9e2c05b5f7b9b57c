package inspect

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Options are the connections of an Inspector, which neither opens nor closes any.
type Options struct {
	Config  Config
	Scripts scripts.Partitions
	Records *record.Store
	Sources Sources // databases and APIs of listeners, by name
}

// Config is the part of the configuration that an Inspector needs.
type Config struct {
	Redis   report.Redis
	Reports map[string]*report.Report // by name
	Timers  report.Timers
	Limits  report.Limits
	Records report.Records
	Sources map[string]report.Source // databases and APIs, by name
}

// Inspector answers the questions of an operator, with one field for every noun. It changes nothing
// except a key of its own in Servers.Unpublished. It is safe for concurrent use.
type Inspector struct {
	Options
	Jobs       Jobs
	Delayed    DelayedSet
	Dead       DeadList
	Quarantine Quarantine
	Pauses     Pauses
	Limits     Limits
	Timers     Timers
	Figures    Figures
	Slots      Slots
	Lanes      Lanes
	Acts       Acts
	Tally      Tally
	Servers    Servers
}

// New makes an Inspector. It does no I/O.
func New(o Options) *Inspector {
	return &Inspector{
		Options:    o,
		Jobs:       Jobs{&o},
		Delayed:    DelayedSet{&o},
		Dead:       DeadList{&o},
		Quarantine: Quarantine{&o},
		Pauses:     Pauses{&o},
		Limits:     Limits{&o},
		Timers:     Timers{&o},
		Figures:    Figures{&o},
		Slots:      Slots{&o},
		Lanes:      Lanes{&o},
		Acts:       Acts{&o},
		Tally:      Tally{&o},
		Servers:    Servers{&o},
	}
}

// Source is a database or an API.
type Source interface {
	// Reach connects once and reads no data. An error that matches fault.Login means that the
	// server answered and refused the account.
	Reach(ctx context.Context) error
}

// Sources are databases and APIs, by name.
type Sources map[string]Source

// reachTime is the timeout after which a source counts as away.
const reachTime = 5 * time.Second

// Reach connects to a source, and returns the error if it cannot. For an unknown one it returns nil.
func (s Sources) Reach(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	if source := s[name]; source != nil {
		return source.Reach(ctx)
	}
	return nil
}
