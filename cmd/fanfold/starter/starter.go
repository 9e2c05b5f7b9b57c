package starter

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/internal/fault"
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

	Kinds  config.Kinds                              // that the file can choose
	Open   func(d report.Database) (Database, error) // opens a database of the file, without I/O
	Folder func(path string) report.SinkURL          // returns the sink of a directory
	Lookup func(name string) (string, bool)          // returns an environment variable, as os.LookupEnv does
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
		for _, s := range p.Sources {
			if wrong := s.badVariable(o.Lookup); wrong != nil {
				return nil, wrong
			}
		}
		return nil, fault.Input.New("the options do not make a valid configuration: %w", err)
	}
	var tables []*table
	for _, s := range p.Sources {
		if s.db, err = o.Open(c.Databases[s.Name]); err != nil {
			return nil, fault.Input.New("--database %s: %w", s.Name, err)
		}
		defer s.db.Close()
		if err := s.readTables(ctx); err != nil {
			return nil, err
		}
		tables = append(tables, s.Tables...)
	}
	if err := p.Records.find(p.recordSources()); err != nil {
		return nil, err
	}
	tables = slices.DeleteFunc(tables, func(t *table) bool {
		return t.of == p.Records.Of && strings.EqualFold(t.Name, p.Records.Table) || t.isRecords() ||
			len(t.shown(nil)) == 0
	})
	err = errors.New("the databases have no tables that a report could show: name other schemas, or grant SELECT on their tables to the accounts")
	all := picks(tables)
	for _, one := range all[:min(len(all), maxPicks)] {
		if err = p.prepare(ctx, one, o); err == nil {
			return p.proposal(o)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, err
}

// prepare writes the queries of a pick, and asks the databases to prepare them.
func (p *page) prepare(ctx context.Context, one *pick, o Options) error {
	p.Pick = one
	one.queries()
	if one.Date != nil {
		one.since(ctx, o.Now)
	}
	c, _, err := p.load(o)
	if err != nil {
		return fmt.Errorf("the tables do not make a valid configuration: %w", err)
	}
	for _, l := range c.Reports[one.Report()].Listeners() {
		for _, s := range p.Sources {
			if s.Name != l.Source {
				continue
			}
			prepare := func(ctx context.Context) error { return s.db.Prepare(ctx, l) }
			if err := s.asking(ctx, prepare); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordSources returns the databases that can have the table of the records.
func (p *page) recordSources() []*source {
	return slices.DeleteFunc(slices.Clone(p.Sources), func(s *source) bool { return !s.records })
}

// RecordsOf returns the database of the records, or the one that would be.
func (p *page) RecordsOf() *source {
	if p.Records.Of != nil {
		return p.Records.Of
	}
	return p.recordSources()[0]
}

// newPage reads the options and does no I/O.
func newPage(o Options) (p *page, err error) {
	if len(o.Databases) == 0 {
		return nil, fault.Input.New("--database is missing: name every database that queries read, as --database %s",
			AddressForms(o.Kinds, false))
	}
	p = &page{Sink: o.Sink}
	if p.Redis, err = redisURL(o.Redis, o.Lookup); err != nil {
		return nil, err
	}
	of, table, _ := strings.Cut(o.Records, ".")
	for _, text := range o.Databases {
		s, err := newSource(text, o.Lookup, o.Kinds)
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
	switch {
	case p.Records.Of != nil && !p.Records.Of.records:
		return nil, fault.Input.New("--records %s: a database of kind %s cannot have the records",
			report.Shorten(o.Records), p.Records.Of.kind.Name)
	case len(p.recordSources()) == 0:
		return nil, fault.Input.New("--database: none of the databases can have the records: add one, as --database %s",
			AddressForms(o.Kinds, true))
	}
	if o.Sink == "" {
		file, err := filepath.Abs(o.File)
		p.Sink = string(o.Folder(filepath.Join(filepath.Dir(file), "fanfold-files")))
		return p, err
	}
	return p, nil
}
