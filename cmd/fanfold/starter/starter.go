package starter

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/report"
)

// Options are the servers of a first configuration, and its file.
type Options struct {
	File      string   // path of the configuration; the default sink is a directory beside it
	Redis     string   // its URL
	Databases []string // NAME=URL, at least one
	// DATABASE or DATABASE.TABLE; empty: an existing table of Fanfold, otherwise a new one in the first database
	Records string
	Sink    string // its URL; empty: the directory fanfold-files beside File

	Kinds  config.Kinds                     // that the file can choose
	Folder func(path string) report.SinkURL // returns the sink of a directory
	Lookup func(name string) (string, bool) // returns an environment variable, as os.LookupEnv does
	Now    time.Time
}

// Proposal is a first configuration.
type Proposal struct {
	Text      []byte   // the file
	Report    string   // the name of its report
	Joins     string   // what the report joins, for people
	Parameter string   // such as from=2024-06-01; empty: none
	Records   string   // DATABASE.TABLE
	Exists    bool     // whether that table exists
	Variables []string // environment variables that the file names
}

// maxPicks bounds the candidates that are tried until the databases accept the queries of one.
const maxPicks = 20

// Propose reads the databases and makes a configuration. It changes nothing. A statement takes at
// most 20 seconds. The error matches fault.Input if an option is wrong.
func Propose(ctx context.Context, o Options) (*Proposal, error) {
	p, err := newPage(o)
	if err != nil {
		return nil, err
	}
	c, _, err := p.load(o)
	if err != nil {
		return nil, fault.Input.New("the options do not make a valid configuration: %w", err)
	}
	var tables []*table
	for _, s := range p.Sources {
		if s.db, err = mysqldb.Connect(c.Databases[s.Name], 1, statementTimeout); err != nil {
			return nil, fault.Input.New("--database %s: %w", s.Name, err)
		}
		defer s.db.Close()
		if err := s.readTables(ctx); err != nil {
			return nil, err
		}
		tables = append(tables, s.Tables...)
	}
	if err := p.Records.find(p.Sources); err != nil {
		return nil, err
	}
	tables = slices.DeleteFunc(tables, func(t *table) bool {
		return t.of == p.Records.Of && strings.EqualFold(t.Name, p.Records.Table) || t.isRecords() ||
			len(t.shown(nil)) == 0
	})
	err = errors.New("the databases have no tables that a report could show: name other schemas, or grant SELECT on their tables to the accounts")
	all := picks(tables)
	for _, one := range all[:min(len(all), maxPicks)] {
		if err = one.prepare(ctx, o.Now); err == nil {
			p.Pick = one
			return p.proposal(o)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, err
}

// newPage reads the options and does no I/O.
func newPage(o Options) (p *page, err error) {
	if len(o.Databases) == 0 {
		return nil, fault.Input.New("--database is missing: name every database that queries read, as --database NAME=mysql://user@host:3306/schema")
	}
	p = &page{Sink: o.Sink}
	if p.Redis, err = redisURL(o.Redis, o.Lookup); err != nil {
		return nil, err
	}
	of, table, _ := strings.Cut(o.Records, ".")
	for _, text := range o.Databases {
		s, err := newSource(text, o.Lookup)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(p.Sources, func(other *source) bool { return other.Name == s.Name }) {
			return nil, fault.Input.New("--database %s: given twice: give every database a unique name", s.Name)
		}
		p.Sources = append(p.Sources, s)
		if s.Name == of {
			p.Records = records{Of: s, Table: table}
		}
	}
	if o.Records != "" && p.Records.Of == nil {
		return nil, fault.Input.New("--records %s: no database has this name: write DATABASE or DATABASE.TABLE, with the name of a --database", report.Shorten(o.Records))
	}
	if o.Sink == "" {
		file, err := filepath.Abs(o.File)
		p.Sink = string(o.Folder(filepath.Join(filepath.Dir(file), "fanfold-files")))
		return p, err
	}
	return p, nil
}
