package config

import (
	_ "embed"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// Config is a configuration file that has been read and proved: every name in it that
// refers to something refers to something that exists.
type Config struct {
	Redis       report.Redis
	Databases   map[string]report.Database
	APIs        map[string]report.API // no name is that of a database
	Records     report.Records
	Sink        report.SinkURL
	Limits      report.Limits
	Keys        report.Keys
	Admin       string // host:port of the admin server; empty: none
	AdminPublic bool
	HTTP        report.Site
	Traces      report.Traces // without URL: off
	Reports     map[string]*report.Report
	Timers      report.Timers   // the longest prefix first
	Warnings    decode.Problems // what works, but probably not as intended
}

// ReportNames returns the names of the reports, sorted.
func (c *Config) ReportNames() []string { return slices.Sorted(maps.Keys(c.Reports)) }

// ListenerNames returns the names of the listeners of all reports, sorted, each once.
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
	for name, d := range c.Databases {
		all[name] = d.Bound
	}
	for name, a := range c.APIs {
		all[name] = a.Bound
	}
	return all
}

// Load reads and proves a configuration file. name is used in messages only. The error
// is decode.Problems, all that were found; none of them holds a secret.
// docs/reference/configuration.md describes the fields.
func Load(name string, data []byte, env decode.Environment) (*Config, error) {
	return load(decode.NewReader(name, env, language), data)
}

func load(r *decode.Reader, data []byte) (*Config, error) {
	var f file
	var c *Config
	if r.Decode(data, &f) {
		c = check(r, &f)
	}
	if problems := r.Problems(); len(problems) > 0 {
		return nil, problems
	}
	c.Warnings = r.Warnings()
	return c, nil
}

// Schema is the JSON schema of the file, for editors. It knows the fields, and nothing
// of what they mean together.
//
//go:embed schema.json
var Schema []byte
