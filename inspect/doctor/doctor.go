package doctor

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// Options are the handles of what is examined. Examine closes none of them.
type Options struct {
	inspect.Options
	Settings   map[string]report.Database               // of the Databases, by name
	Sink       report.SinkURL                           // as it is configured
	OpenSink   func(context.Context) (sink.Sink, error) // opens the sink
	OpenSource func(database string) (Preparer, error)  // opens what runs a database's queries
}

// Preparer runs the queries of listeners.
type Preparer interface {
	// Prepare has the server parse a listener's query.
	Prepare(ctx context.Context, l *report.Listener) error
}

// Examine checks everything that the configuration names. It writes and deletes one object
// in the sink, one scratch file and a key on each Redis, and changes nothing else.
func Examine(ctx context.Context, o Options) Findings {
	base := doctor{o, inspect.New(o.Options)}
	all := within(ctx, redisDoctor{base}.checkRedis)
	all = append(all, sourceDoctor{base}.checkSources(ctx)...)
	d := recordDoctor{base}
	if !all.Failed("database " + o.Config.Records.Database) {
		all = append(all, within(ctx, d.checkRecords)...)
	}
	return append(all, within(ctx, d.checkSink), within(ctx, checkScratch))
}

// doctor has what the checks ask.
type doctor struct {
	Options
	in *inspect.Inspector
}

// The checks, by what they ask.
type (
	redisDoctor  struct{ doctor }
	sourceDoctor struct{ doctor } // databases and APIs of listeners
	recordDoctor struct{ doctor } // the record table, and what it points to
)

// checkTime bounds each check: a server that hangs leaves time for the others.
const checkTime = 15 * time.Second

// within makes a check in a time of its own.
func within[T any](ctx context.Context, check func(context.Context) T) T {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return check(ctx)
}
