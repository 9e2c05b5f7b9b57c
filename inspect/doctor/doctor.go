package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/dataset"
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

	Spool     report.SinkURL                           // as configured; empty: none
	OpenSpool func(context.Context) (sink.Sink, error) // opens the spool
}

// Examine checks everything that the configuration names. It writes and deletes one object in the
// sink and in the spool, one scratch file and a key on every Redis server, and loads the scripts.
// It changes nothing else.
func Examine(ctx context.Context, o Options) (all Findings) {
	d := &doctor{o, inspect.New(o.Options), map[*report.Listener][]dataset.Column{}}
	skipped := map[string][]string{} // checks, by the finding that they need
	for _, c := range checks {
		i := slices.IndexFunc(c.needs, func(name string) bool { return all.Failed(d.named(name)) })
		if i < 0 {
			all = append(all, c.run(ctx, d)...)
			continue
		}
		skipped[d.named(c.needs[i])] = append(skipped[d.named(c.needs[i])], c.name)
	}
	for i, f := range all {
		for name, checks := range skipped {
			if f.Result == Fail && f.is(name) {
				all[i].skips(strings.Join(checks, ", "))
				delete(skipped, name)
			}
		}
	}
	return all
}

// named returns the name of a finding that a check needs.
func (d *doctor) named(need string) string {
	return strings.ReplaceAll(need, "{records}", d.Config.Records.Database)
}

// doctor is what checks ask.
type doctor struct {
	Options
	in      *inspect.Inspector
	columns map[*report.Listener][]dataset.Column // of queries, if they are those of the configuration
}

// check is a row of the checks.
type check struct {
	name  string   // of its finding, or of what it checks
	needs []string // the findings that must not have failed
	run   func(ctx context.Context, d *doctor) Findings
}

// database is the finding of the records' database.
const database = "database {records}"

// checks are made in this order. Every server and source has a timeout of its own.
var checks = []check{
	{"redis", nil, some(checkServers)},
	{"redis scripts", []string{"redis"}, one(checkScripts)},
	{"pauses", []string{"redis"}, one(checkPauses)},
	{"limits", []string{"redis"}, one(checkLimits)},
	{"jobs in a full Redis", []string{"redis"}, one(checkContenders)},
	{"definitions of running jobs", []string{"redis"}, one(checkDefinitions)},
	{"quarantine", []string{"redis"}, one(checkQuarantine)},
	{"timers", []string{"redis"}, one(checkTimersDue)},
	{"redis partitions", []string{"redis"}, some(checkPartitions)},
	{"streams", []string{"redis"}, some(checkStreams)},
	{"sources", nil, checkSources},
	{"folds", nil, some(checkFolds)},
	{"records", []string{database}, one(checkTable)},
	{"records to be started", []string{"redis", database, "records"}, one(checkStartable)},
	{"file column", []string{database, "records"}, one(checkFileColumn)},
	{"records that outlive redis", []string{database, "records"}, one(checkSnapshot)},
	{"history", []string{database, "records"}, one(checkHistory)},
	{"audit", []string{database, "records"}, one(checkAudit)},
	{"installation", []string{database, "records"}, one(checkInstallation)},
	{"records of timers", []string{database, "records"}, one(checkTimerRecords)},
	{"stored versions", []string{database}, one(checkVersions)},
	{"sink", nil, one(checkSink)},
	{"spool", nil, some(checkSpool)},
	{"scratch files", nil, one(checkScratch)},
}

// one makes a check with one finding.
func one(check func(context.Context, *doctor) Finding) func(context.Context, *doctor) Findings {
	return some(func(ctx context.Context, d *doctor) Findings { return Findings{check(ctx, d)} })
}

// some makes a check with several findings, which have one timeout.
func some(check func(context.Context, *doctor) Findings) func(context.Context, *doctor) Findings {
	return func(ctx context.Context, d *doctor) Findings { return within(ctx, d, check) }
}

// checkTime is the timeout of a check.
const checkTime = 15 * time.Second

// within runs a check with its own timeout.
func within(ctx context.Context, d *doctor, check func(context.Context, *doctor) Findings) Findings {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return check(ctx, d)
}
