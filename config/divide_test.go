package config

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// TestDivide: a listener that is read in parts, and what prevents that.
func TestDivide(t *testing.T) {
	t.Parallel()
	file := func(divide, query, spool, more string) string {
		return `
redis: redis://127.0.0.1:6379/0
databases: {main: {dsn: "u@tcp(db)/app"}}
records: {database: main}
sink: file:///tmp/x
` + spool + `
reports: {r: {listeners: {
  a: {database: main, query: "` + query + `", divide: ` + divide + `}` + more + `
}, join: {key: id, listeners: [a]}}}
`
	}
	const spool, query = "spool: file:///tmp/s", "SELECT id, (SELECT b FROM t ORDER BY c LIMIT 1) AS b FROM t"
	load := func(text string) (*Config, error) { return Load("f.yaml", []byte(text), testEnvironment(), TestKinds) }
	c, err := load(file("{by: id}", query, spool, ""))
	if err != nil {
		t.Fatal(err)
	}
	want := report.Divide{By: "id", Parts: 4, Snapshot: report.SnapshotSame, Line: 8}
	if got := c.Reports["r"].Stages[0].Listeners[0].Divide; got == nil || *got != want {
		t.Errorf("%+v", got)
	}
	const external = `, b: {kind: external, columns: {id: integer}, after: [a], silence: 1m}`
	for _, c := range []struct{ name, text, want string }{
		{"no spool", file("{by: id}", query, "", ""), "f.yaml:8:93: reports.r.listeners.a.divide: the parts of a listener lie in the spool, and there is none"},
		{"another column", file("{by: ib}", query, spool, ""), `divide.by: a has no column ib (value "ib"). Did you mean "id"?`},
		{"no column", file("{parts: 3}", query, spool, ""), "divide.by: missing. Name a column of the result with whole numbers"},
		{"one part", file("{by: id, parts: 1}", query, spool, ""), `divide.parts: not a whole number from 2 to 64 (value "1"). Remove divide to read in one query`},
		{"another snapshot", file("{by: id, snapshot: exact}", query, spool, ""), `divide.snapshot: neither same nor approximate (value "exact"). Write same for rows of one moment`},
		{"ordered", file("{by: id}", "SELECT id FROM t ORDER BY id", spool, ""), `f.yaml:8:48: reports.r.listeners.a.query: ORDER in a query that is read in parts (value "SELECT id FROM t ORDER BY id"). Remove it`},
		{"limited", file("{by: id}", "SELECT id FROM t limit 3", spool, ""), "LIMIT in a query that is read in parts"},
		{"values", file("{by: id}", "SELECT id FROM t WHERE id IN (:b.id)", spool, `, b: {database: main, query: "SELECT id FROM t"}`), "f.yaml:8:61: reports.r.listeners.a.query: the query uses :b.id"},
		{"read by a service", file("{by: id}", query, spool, external), "an external service of a later stage reads its rows"},
	} {
		if _, err := load(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
