package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
)

// Database is a source that runs queries on a server.
type Database interface {
	// Server returns the version, clock and time zone of the server. An error that matches
	// fault.Login means that the server refused the account.
	Server(ctx context.Context) (version string, clock time.Time, zone string, err error)
	// Prepare lets the server parse a listener's query, without running it. An error that matches fault.Denied means
	// that the account lacks a grant.
	Prepare(ctx context.Context, l *report.Listener) error
	// Columns returns the columns of the query of a report's listener, without reading a row; nil if the server
	// cannot tell them. With an error that matches fault.Underivable, texts compare by their bytes.
	Columns(ctx context.Context, r *report.Report, l *report.Listener) ([]dataset.Column, error)
}

// checkSources connects to every source, and lets databases prepare the queries of their listeners.
func checkSources(ctx context.Context, d *doctor) Findings {
	var fs Findings
	away := map[string]string{} // the first source that could not be reached with an error
	names := slices.SortedFunc(maps.Keys(d.Sources), func(a, b string) int {
		// Databases before APIs, by name.
		return cmp.Or(strings.Compare(d.Settings[b].Section, d.Settings[a].Section), strings.Compare(a, b))
	})
	for _, name := range names {
		db, ok := d.Sources[name].(Database)
		if !ok {
			fs = append(fs, newFinding(d.title(name), Fail, "it accepts connections", d.in.Sources.Reach(ctx, name),
				d.Settings[name].Remedy))
			continue
		}
		check := func(check func(context.Context, *doctor, string, Database) Findings) Findings {
			return within(ctx, d, func(ctx context.Context, d *doctor) Findings { return check(ctx, d, name, db) })
		}
		var unreached string
		found := check(func(ctx context.Context, d *doctor, name string, db Database) (fs Findings) {
			fs, unreached = checkDatabase(ctx, d, name, db)
			return fs
		})
		if !found.Failed(d.title(name)) {
			fs = append(append(fs, found...), check(checkQueries)...)
			continue
		}
		if first, again := away[unreached]; again {
			found[0].Detail, found[0].Hint = "the server cannot be reached, as for "+first, "correct that first"
		} else if unreached != "" {
			away[unreached] = d.title(name)
		}
		if n := d.queriesOf(name); n > 0 {
			found[0].skips(words.Count(n, "query"))
		}
		fs = append(fs, found...)
	}
	return fs
}

// queriesOf returns the number of queries of a source.
func (d *doctor) queriesOf(source string) (n int) {
	for _, r := range d.Config.Reports {
		for _, l := range r.Listeners() {
			if l.Source == source {
				n++
			}
		}
	}
	return n
}

// title is the name of the check of a source.
func (d *doctor) title(source string) string { return d.Settings[source].Noun + " " + source }

// checkDatabase also returns the error of the network, which names the server; empty: the server answered.
func checkDatabase(ctx context.Context, d *doctor, name string, db Database) (fs Findings, unreached string) {
	version, clock, zone, err := db.Server(ctx)
	hint := d.Settings[name].Remedy
	if errors.Is(err, fault.Login) {
		hint = "correct the DSN of database " + name + ": its account, password or schema"
	}
	fs = Findings{newFinding(d.title(name), Fail, version, err, hint)}
	if err == nil {
		fs = append(fs, checkSkew("clock of "+d.title(name), clock, nil), d.checkTimeZone(name, zone))
		fs = append(fs, checkProtect(ctx, d, name, db)...)
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		unreached = failed.Error()
	}
	return fs, unreached
}

// Measured is a Database whose server says how busy it is.
type Measured interface {
	// Measure asks the server for the measures that have a limit. An error that an operator can correct has a
	// *report.Mistake.
	Measure(ctx context.Context, limits report.Protect) (report.Health, error)
}

// checkProtect shows how busy a database with limits is now.
func checkProtect(ctx context.Context, d *doctor, name string, db Database) Findings {
	limits, check := d.Settings[name].Protect, "protection of "+d.title(name)
	server, ok := db.(Measured)
	if !ok || !limits.Given() {
		return nil
	}
	health, err := server.Measure(ctx, limits)
	if mistake, ok := errors.AsType[*report.Mistake](err); ok {
		return Findings{{Check: check, Result: Fail, Detail: mistake.Message, Hint: mistake.Remedy}}
	}
	if err != nil {
		return Findings{newFinding(check, Fail, "", err, "its queries begin as if it were not busy")}
	}
	var texts []string
	finding := pass(check, "")
	for _, r := range limits.Read(health) {
		texts = append(texts, fmt.Sprintf("%s (%s: %s)", r.Text, r.Measure, r.Limit))
		if r.Above {
			finding.Result, finding.Hint = Warn, "no query of a listener begins while a measure is above its limit"
		}
	}
	finding.Detail = strings.Join(texts, ", ")
	return Findings{finding}
}

// checkTimeZone shows how the times of a database are read. It warns if the zone of its datetime
// columns is not configured, the server's zone is not UTC, and a report shows datetimes in another zone
// than they were written in.
func (d *doctor) checkTimeZone(name, zone string) Finding {
	check := "time zone of " + d.title(name)
	detail := fmt.Sprintf("the server has %s; queries run in UTC", zone)
	configured, of := d.Settings[name].TimeZone, d.Settings[name].Words
	of.Datetime = cmp.Or(of.Datetime, "datetime")
	if configured != "" {
		return pass(check, detail+", and "+of.Datetime+" columns are read as "+configured)
	}
	detail += ", and " + of.Datetime + " columns are read as UTC"
	shown := d.showsZones(name)
	if zone == "UTC" || zone == "+00:00" || shown == "" {
		return pass(check, detail)
	}
	return Finding{
		Check: check, Result: Warn, Detail: fmt.Sprintf("%s; report %s shows datetimes in a time zone", detail, shown),
		Hint: fmt.Sprintf("set databases.%s.time_zone to the zone in which its %s columns were written, such as "+
			"Europe/Berlin or UTC. %s columns need none", report.DatabaseOf(name), of.Datetime,
			cmp.Or(of.Instant, "Other")),
	}
}

// showsZones returns the first report that shows datetimes of a database in a time zone.
func (d *doctor) showsZones(database string) string {
	for _, name := range slices.Sorted(maps.Keys(d.Config.Reports)) {
		r := d.Config.Reports[name]
		if !d.Formats.ShowsZone(&r.File) {
			continue
		}
		for _, l := range r.Listeners() {
			if l.Source == database {
				return name
			}
		}
	}
	return ""
}

func checkQueries(ctx context.Context, d *doctor, source string, db Database) Findings {
	var fs Findings
	for _, name := range slices.Sorted(maps.Keys(d.Config.Reports)) {
		for _, l := range d.Config.Reports[name].Listeners() {
			if l.Source != source {
				continue
			}
			err := db.Prepare(ctx, l)
			hint := fmt.Sprintf("correct the query of %s:%d", l.File, l.Line)
			switch {
			case errors.Is(err, fault.Unproved):
				hint = fmt.Sprintf("see divide in %s:%d", l.File, l.Divide.Line)
			case errors.Is(err, fault.Denied):
				hint += ", or allow the user of " + d.title(source) + " to SELECT there"
			}
			fs = append(fs, newFinding("query "+name+" / "+l.Name, Fail, "the server accepts it", err, hint))
			if err == nil {
				fs = append(fs, d.checkColumns(ctx, db, d.Config.Reports[name], l)...)
			}
		}
	}
	return fs
}
