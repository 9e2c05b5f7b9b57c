package starter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// Options are the servers of a first configuration, and its file.
type Options struct {
	File      string   // path of the configuration; the default sink is a directory beside it
	Redis     string   // its URL
	Databases []string // NAME=URL, at least one
	Records   string   // DATABASE or DATABASE.TABLE; empty: an existing table of Fanfold, otherwise a new one in the first database
	Sink      string   // its URL; empty: the directory fanfold-files beside File

	Lookup func(name string) (string, bool) // returns an environment variable, as os.LookupEnv does
	Now    time.Time
}

// Starter makes a first configuration.
type Starter struct {
	file    string
	redis   string // its URL, as in the file
	redisIn string // variable with its password; empty: no password
	sink    report.SinkURL
	sources []*source
	in      *source // the database of the option Records; nil: not given
	table   string  // of records
	lookup  func(string) (string, bool)
	now     time.Time
}

// Proposal is a first configuration.
type Proposal struct {
	Text      []byte   // the file
	Report    string   // the name of its report
	Joins     string   // what the report joins, for people
	Parameter string   // such as from=2024-06-01; empty: none
	Records   string   // DATABASE.TABLE
	Exists    bool     // whether that table exists
	Similar   []string // other tables that could be tables of records, as DATABASE.TABLE
	Variables []string // environment variables that the file names
}

// New reads the options. Its errors are mistakes of the user, with the remedy.
func New(o Options) (*Starter, error) {
	if len(o.Databases) == 0 {
		return nil, errors.New("--database is missing: name every database that queries read, as --database NAME=mysql://user@host:3306/schema")
	}
	file, err := filepath.Abs(o.File)
	if err != nil {
		return nil, err
	}
	s := &Starter{file: o.File, lookup: o.Lookup, now: o.Now}
	if s.redis, s.redisIn, err = redisURL(o.Redis, o.Lookup); err != nil {
		return nil, err
	}
	for _, text := range o.Databases {
		one, err := newSource(text, o.Lookup)
		if err != nil {
			return nil, err
		}
		db, err := one.open()
		if err != nil {
			return nil, err
		}
		_ = db.Close() // open only validates the options
		if s.source(one.name) != nil {
			return nil, fmt.Errorf("--database %s: given twice: give every database a unique name", one.name)
		}
		s.sources = append(s.sources, one)
	}
	if o.Records != "" {
		name, table, _ := strings.Cut(o.Records, ".")
		if s.in, s.table = s.source(name), table; s.in == nil {
			return nil, fmt.Errorf("--records %s: no database has this name: write DATABASE or DATABASE.TABLE, with the name of a --database", report.Shorten(o.Records))
		}
		if table != "" && !identifier.MatchString(table) {
			return nil, fmt.Errorf("--records %s: not a valid table name: use letters, digits, _ and $", report.Shorten(o.Records))
		}
	}
	s.sink = report.SinkURL{Scheme: report.SchemeFile, Place: filepath.Join(filepath.Dir(file), "fanfold-files")}
	if o.Sink != "" {
		var wrong *report.Mistake
		if s.sink, wrong = report.ParseSinkURL(o.Sink); wrong != nil {
			return nil, fmt.Errorf("--sink: %s. %s", wrong.Message, wrong.Remedy)
		}
	}
	return s, nil
}

func (s *Starter) source(name string) *source {
	if i := slices.IndexFunc(s.sources, func(one *source) bool { return one.name == name }); i >= 0 {
		return s.sources[i]
	}
	return nil
}

// maxPicks bounds the candidates that are tried until the databases accept the queries of one.
const maxPicks = 20

// Propose reads the databases and makes the configuration. It changes nothing. A statement takes at
// most 20 seconds. Propose fails if a server does not answer or refuses the login.
func (s *Starter) Propose(ctx context.Context) (*Proposal, error) {
	pools := map[*source]*sql.DB{}
	defer func() {
		for _, db := range pools {
			_ = db.Close()
		}
	}()
	var tables []*table
	for _, one := range s.sources {
		db, err := one.open()
		if err != nil {
			return nil, err
		}
		pools[one] = db
		if err := one.readTables(ctx, db); err != nil {
			return nil, err
		}
		tables = append(tables, one.tables...)
	}
	rec, err := findRecords(s.sources, s.in, s.table)
	if err != nil {
		return nil, err
	}
	tables = slices.DeleteFunc(tables, func(t *table) bool {
		return t.of == rec.of && strings.EqualFold(t.name, rec.table) || t.isRecords() || len(t.shown(nil)) == 0
	})
	if len(tables) == 0 {
		return nil, errors.New("the databases have no tables that a report could show: name other schemas, or grant SELECT on their tables to the accounts")
	}
	all := picks(tables)
	for i, p := range all[:min(len(all), maxPicks)] {
		var d *draft
		if d, err = s.draft(ctx, pools, p); err == nil {
			d.others = others(p, all[i+1:])
			return s.proposal(d, rec)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, err
}

// others returns up to four more tables that could be joined.
func others(p pick, rest []pick) (names []string) {
	for _, o := range rest {
		name := ""
		if p.other != nil && o.facts == p.facts && o.key == p.key && o.other != p.other {
			name = listenerName(o.other)
		}
		if name != "" && !slices.Contains(names, name) && len(names) < 4 {
			names = append(names, name)
		}
	}
	return names
}

// proposal writes the file and validates it.
func (s *Starter) proposal(d *draft, rec *records) (*Proposal, error) {
	p := &Proposal{Report: d.report(), Records: rec.of.name + "." + rec.table, Exists: rec.exists, Similar: rec.similar}
	var err error
	if p.Text, err = s.text(d, rec); err != nil {
		return nil, err
	}
	c, err := config.Load(s.file, p.Text, decode.Environment{Lookup: s.lookup})
	if err != nil {
		return nil, fmt.Errorf("the options do not make a valid configuration: %w", err)
	}
	if _, ok := c.Reports[p.Report]; !ok {
		return nil, fmt.Errorf("the configuration has no report %s", p.Report)
	}
	p.Joins = listenerName(d.facts)
	if d.other != nil {
		p.Joins += " with " + listenerName(d.other) + " by " + d.key.name
	}
	if d.date != nil {
		p.Parameter = "from=" + d.from
		p.Joins += ", from a " + d.date.name + " on"
	}
	if s.redisIn != "" {
		p.Variables = append(p.Variables, s.redisIn)
	}
	for _, one := range s.sources {
		if one.variable != "" && !slices.Contains(p.Variables, one.variable) {
			p.Variables = append(p.Variables, one.variable)
		}
	}
	return p, nil
}
