package doctor

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// Options are the connections that Examine uses. It closes none of them.
type Options struct {
	inspect.Options
	Settings map[string]report.Source                 // of Sources, by name
	Sink     report.SinkURL                           // as configured
	OpenSink func(context.Context) (sink.Sink, error) // opens the sink
	Formats  format.Kinds                             // of files
}

// Examine checks everything that the configuration names. It writes and deletes one object in the
// sink, one scratch file and a key on every Redis server, and loads the scripts. It changes nothing else.
func Examine(ctx context.Context, o Options) Findings {
	base := doctor{o, inspect.New(o.Options)}
	all := within(ctx, redisDoctor{base}.checkRedis)
	all = append(all, sourceDoctor{base}.checkSources(ctx)...)
	d := recordDoctor{base}
	if !all.Failed("database " + o.Config.Records.Database) {
		all = append(all, within(ctx, d.checkRecords)...)
		all = append(all, within(ctx, d.checkVersions))
	}
	return append(all, within(ctx, d.checkSink), within(ctx, checkScratch))
}

// doctor is the part that all checks share.
type doctor struct {
	Options
	in *inspect.Inspector
}

// The checks, by the systems that they ask.
type (
	redisDoctor  struct{ doctor }
	sourceDoctor struct{ doctor } // databases and APIs of listeners
	recordDoctor struct{ doctor } // the record table and its files
)

// checkTime is the timeout of a check.
const checkTime = 15 * time.Second

// within runs a check with its own timeout.
func within[T any](ctx context.Context, check func(context.Context) T) T {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return check(ctx)
}
