package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/mysqldb"
)

// checkSources connects to every database and prepares its queries there. It connects to every API
// without a request.
func (d sourceDoctor) checkSources(ctx context.Context) Findings {
	var fs Findings
	for _, name := range slices.Sorted(maps.Keys(d.Databases)) {
		fs = append(fs, within(ctx, func(ctx context.Context) Findings { return d.checkDatabase(ctx, name) })...)
		if !fs.Failed("database " + name) {
			fs = append(fs, within(ctx, func(ctx context.Context) Findings { return d.checkQueries(ctx, name) })...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.APIs)) {
		fs = append(fs, newFinding("API "+name, Fail, "it accepts connections", d.in.Reach(ctx, name), "check its url, and that this process can reach it"))
	}
	return fs
}

func (d sourceDoctor) checkDatabase(ctx context.Context, name string) Findings {
	var version string
	var micros int64
	err := d.Databases[name].QueryRowContext(ctx, "SELECT VERSION(), CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)").Scan(&version, &micros)
	hint := "check that the server runs and that the address in the DSN is correct"
	if mysqldb.Refused(err) {
		hint = "correct the DSN of database " + name + ": its account, password or schema"
	}
	fs := Findings{newFinding("database "+name, Fail, version, err, hint)}
	if err == nil {
		fs = append(fs, checkSkew("clock of database "+name, time.UnixMicro(micros), nil), d.checkTimeZone(ctx, name))
	}
	return fs
}

// checkTimeZone shows how the times of a database are read. It warns if it is not configured
// that of a DATETIME, the server's zone is not UTC, and a report shows datetimes in
// another zone than they were written in.
func (d sourceDoctor) checkTimeZone(ctx context.Context, name string) Finding {
	check := "time zone of database " + name
	var zone, system string
	if err := d.Databases[name].QueryRowContext(ctx, "SELECT @@global.time_zone, @@system_time_zone").Scan(&zone, &system); err != nil {
		return newFinding(check, Warn, "", err, "")
	}
	if zone == "SYSTEM" {
		zone = system
	}
	detail := fmt.Sprintf("the server has %s; queries run in UTC", zone)
	said := d.Settings[name].TimeZone
	if said != "" {
		return pass(check, detail+", and DATETIME columns are read as "+said)
	}
	detail += ", and DATETIME columns are read as UTC"
	shown := d.showsZones(name)
	if zone == "UTC" || zone == "+00:00" || shown == "" {
		return pass(check, detail)
	}
	return Finding{
		Check: check, Result: Warn, Detail: fmt.Sprintf("%s; report %s shows datetimes in a time zone", detail, shown),
		Hint: fmt.Sprintf("set databases.%s.time_zone to the zone in which its DATETIME columns were written, such as Europe/Berlin or UTC. TIMESTAMP columns need none", name),
	}
}

// showsZones returns the first report that shows datetimes of a database in a time zone.
func (d sourceDoctor) showsZones(database string) string {
	for _, name := range slices.Sorted(maps.Keys(d.Config.Reports)) {
		r := d.Config.Reports[name]
		if r.CSV.TimeZone == "" && !strings.Contains(r.CSV.Datetime, "ZZ") {
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

func (d sourceDoctor) checkQueries(ctx context.Context, database string) Findings {
	source, err := d.OpenSource(database)
	if err != nil {
		return Findings{newFinding("queries of "+database, Fail, "", err, "")}
	}
	var fs Findings
	for _, name := range slices.Sorted(maps.Keys(d.Config.Reports)) {
		for _, l := range d.Config.Reports[name].Listeners() {
			if l.Source == database {
				err := source.Prepare(ctx, l)
				fs = append(fs, newFinding("query "+name+" / "+l.Name, Fail, "the server accepts it",
					err, fmt.Sprintf("correct the query in line %d of the configuration, or allow the user of database %s to SELECT there", l.Line, database)))
				if err == nil {
					fs = append(fs, checkKeys(ctx, source, d.Config.Reports[name], l)...)
				}
			}
		}
	}
	return fs
}
