package config

import (
	"maps"
	"slices"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// Config is a valid configuration file: every name that refers to something refers to
// something that exists.
type Config struct {
	Redis     report.Redis
	Databases map[string]report.Database
	APIs      map[string]report.API    // no API has the name of a database
	Sources   map[string]report.Source // what Databases and APIs have in common
	Records   report.Records
	Sink      report.Sink
	Spool     report.Spool // without URL: none
	Limits    report.Limits
	Keys      report.Keys
	Admin     report.Admin // without Listen: none
	HTTP      report.Site
	Traces    report.Traces // without URL: off
	Reports   map[string]*report.Report
	Timers    report.Timers   // the longest prefix first
	Files     []string        // that were read, as messages show them: this one first, without those of secrets
	Warnings  decode.Problems // settings that work, but probably not as intended
}

// ReportNames returns the names of the reports, sorted.
func (c *Config) ReportNames() []string { return slices.Sorted(maps.Keys(c.Reports)) }

// ListenerNames returns the names of the listeners of all reports, sorted and without duplicates.
func (c *Config) ListenerNames() []string {
	names := map[string]bool{}
	for _, r := range c.Reports {
		for _, l := range r.Listeners() {
			names[l.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Bounds returns the limits of the databases and APIs, by name.
func (c *Config) Bounds() map[string]report.Bound {
	all := map[string]report.Bound{}
	for name, s := range c.Sources {
		all[name] = s.Bound
	}
	return all
}

// Protections returns the limits of how busy the databases may be, by name of the source.
func (c *Config) Protections() map[string]report.Protect {
	all := map[string]report.Protect{}
	for name, s := range c.Sources {
		if s.Protect.Given() {
			all[name] = s.Protect
		}
	}
	return all
}

// Load reads and validates a configuration file. name is used only in messages. The error
// is of type decode.Problems, has all problems of the file and contains no secret.
// docs/reference/configuration.md describes the fields.
func Load(name string, data []byte, env decode.Environment, kinds Kinds) (*Config, error) {
	return load(new(file), decode.NewReader(name, env, kinds.language()), kinds, data)
}

// load is Load into the fields of a file.
func load(f *file, r *decode.Reader, kinds Kinds, data []byte) (*Config, error) {
	var c *Config
	if r.Decode(data, f) {
		c = check(r, kinds, f)
	}
	if problems := r.Problems(); len(problems) > 0 {
		return nil, problems
	}
	c.Warnings, c.Files = r.Warnings(), r.Files()
	return c, nil
}
