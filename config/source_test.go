package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/dialect"
	"github.com/fanfold/fanfold/report"
)

// TestKindOfDatabase: the DSN tells the kind of a database, and a listener with the same fields needs
// no kind of its own.
func TestKindOfDatabase(t *testing.T) {
	t.Parallel()
	kinds := TestKinds
	for name, fields := range map[string]func() any{
		"other": func() any { return new(dialect.Fields) },
		"files": func() any {
			return new(struct {
				dialect.Fields
			})
		},
	} {
		kinds.Sources = append(slices.Clone(kinds.Sources), kind.Source{
			Name: name, Field: "database", Words: report.Words{Noun: "database", Section: "databases"}, Fields: fields,
			DSN: &kind.DSN{Schemes: []string{name}, Check: func(string) *report.Mistake { return nil }}, Read: func(l *kind.Listener) { l.Columns = []string{"n"} },
		})
	}
	load := func(listener, more string) (*Config, error) {
		return Load("f.yaml", []byte(`
redis: redis://127.0.0.1:6379/0
databases: {main: {dsn: "u@tcp(db)/app"}, o: {dsn: "other://u@h/s"}, f: {dsn: "files://h"}}
records: {database: `+more+`}
sink: file:///tmp/x
reports: {r: {listeners: {a: {`+listener+`, query: SELECT 1 AS n, columns: [n]}}}}
`), testEnvironment(), kinds)
	}
	for listener, want := range map[string]string{
		"database: o": "other", "database: o, kind: other": "other", "database: main": "mysql", "database: f, kind: files": "files",
	} {
		c, err := load(listener, "main")
		if err != nil {
			t.Errorf("%s: %v", listener, err)
		} else if l := c.Reports["r"].Stages[0].Listeners[0]; l.Kind != want || l.Source == "" {
			t.Errorf("%s: kind %s of source %q", listener, l.Kind, l.Source)
		}
	}
	for listener, want := range map[string]string{
		"database: f":                 "database f is of kind files",
		"database: o, kind: mysql":    "database o is of kind other",
		"database: main, kind: other": "database main is of kind mysql",
		"database: p":                 "no such database",
	} {
		if _, err := load(listener, "main"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", listener, err, want)
		}
	}
	if _, err := load("database: main", "o"); err == nil || !strings.Contains(err.Error(), "the records cannot be in a database of kind other") {
		t.Errorf("records: %v", err)
	}
}
