package starter

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/fanfold/fanfold/report"
)

//go:embed starter.yaml
var form string

var page = template.Must(template.New("starter.yaml").Funcs(template.FuncMap{"scalar": scalar, "text": quotedText, "indent": indent, "listing": listing}).Parse(form))

// text writes the file.
func (s *Starter) text(d *draft, rec *records) ([]byte, error) {
	var out bytes.Buffer
	err := page.Execute(&out, struct {
		*draft
		Redis   string
		Sources []*source
		Records *records
		Sink    string
	}{d, s.redis, s.sources, rec, escape(s.sink.String())})
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return out.Bytes(), nil
}

// What the form shows.

func (s *source) Name() string { return s.name }

// Tables are the first names of its tables, in words.
func (s *source) Tables() string {
	var names []string
	for _, t := range s.tables {
		names = append(names, t.name)
	}
	if len(names) == 0 {
		return "no tables that this account can see"
	}
	return listing(names)
}

// DSN is what stands in the file.
func (s *source) DSN() string {
	if s.variable == "" {
		return quotedText(escape(s.dsn("")))
	}
	before, after, _ := strings.Cut(escape(s.dsn("\x00")), "\x00")
	return quotedText(before + "${" + s.variable + "}" + after)
}

func (r *records) Database() string { return r.of.name }
func (r *records) Table() string    { return r.table }
func (r *records) Exists() bool     { return r.exists }
func (r *records) Columns() string  { return mapping(r.columns) }
func (r *records) Statuses() string { return mapping(r.statuses) }
func (r *records) Similar() string  { return strings.Join(r.similar, ", ") }

// Report is the report's name: that of the table, of what it can have.
func (d *draft) Report() string {
	name := strings.Trim(notInReport.ReplaceAllString(strings.ToLower(d.facts.name), "-"), "-")
	if name == "" {
		return "first-report"
	}
	return name[:min(len(name), 64)]
}

var notInReport = regexp.MustCompile(`[^a-z0-9]+`)

func (d *draft) Key() string         { return d.key.name }
func (d *draft) Date() string        { return d.date.name }
func (d *draft) HasDate() bool       { return d.date != nil }
func (d *draft) DateIndexed() bool   { return d.date.indexed }
func (d *draft) HasOther() bool      { return d.other != nil }
func (d *draft) OtherUnique() bool   { return d.same.unique }
func (d *draft) OtherIndexed() bool  { return d.same.indexed }
func (d *draft) Same() string        { return d.same.name }
func (d *draft) From() string        { return d.from }
func (d *draft) Newest() bool        { return d.newest }
func (d *draft) Others() string      { return strings.Join(d.others, ", ") }
func (d *draft) Facts() string       { return listenerName(d.facts) }
func (d *draft) FactsIn() string     { return d.facts.of.name }
func (d *draft) FactsTable() string  { return d.facts.name }
func (d *draft) FactsQuery() string  { return escape(d.facts0) }
func (d *draft) Other() string       { return listenerName(d.other) }
func (d *draft) OtherIn() string     { return d.other.of.name }
func (d *draft) OtherTable() string  { return d.other.name }
func (d *draft) OtherQuery() string  { return escape(d.other0) }
func (d *draft) Columns() []labelled { return d.labelled() }

// labelled is a column of the file.
type labelled struct{ Column, Label string }

// labelled are the columns of the file after the key.
func (d *draft) labelled() []labelled {
	taken := map[string]bool{}
	if d.key != nil {
		taken[strings.ToLower(d.key.name)] = true
	}
	var list []labelled
	add := func(t *table, key *column) {
		for _, c := range t.shown(key) {
			label := c.name
			if d.key != nil && c.name == d.key.name {
				continue // the other table has a column of the key's name beside its own
			}
			if taken[strings.ToLower(label)] {
				label = t.name + " " + c.name
			}
			taken[strings.ToLower(label)] = true
			list = append(list, labelled{listenerName(t) + "." + c.name, label})
		}
	}
	add(d.facts, d.key)
	if d.other != nil {
		add(d.other, d.same)
	}
	return list
}

var bareScalar = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9_]$`)

// scalar is a name as YAML has it, in quotes where it needs them.
func scalar(name string) string {
	if bareScalar.MatchString(name) && !slices.Contains([]string{"null", "true", "false", "yes", "no", "on", "off"}, strings.ToLower(name)) {
		return name
	}
	return quotedText(escape(name))
}

// quotedText is a text in double quotes, which JSON and YAML have alike.
func quotedText(text string) string { return string(report.EncodeBound(text)) }

// mapping is a mapping in one line; empty for an empty one.
func mapping(m map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, name+": "+quotedText(escape(m[name])))
	}
	return strings.Join(parts, ", ")
}

// indent puts spaces before the lines of a text after the first.
func indent(n int, text string) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))
}

// listing is a list of names, of which no more than eight are shown.
func listing(names []string) string {
	const shown = 8
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
