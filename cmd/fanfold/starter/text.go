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

// view has the values of the template.
type view struct {
	Redis, Sink string
	Sources     []sourceView
	Records     recordsView
	Report      string
	Facts       listenerView
	Other       *listenerView // nil: none
	Key         string        // of the join
	Date        *columnView   // nil: none
	From        string
	Newest      bool
	Others      string
	Columns     []labelled
}

type sourceView struct{ Name, DSN, Tables string }

type recordsView struct {
	Database, Table, Columns, Statuses, Similar string
	Exists                                      bool
}

type listenerView struct {
	Name, Database, Table, Query string
	By                           *columnView // that it is joined by; nil: none
}

type columnView struct {
	Name            string
	Indexed, Unique bool
}

func (c *column) view() *columnView {
	if c == nil {
		return nil
	}
	return &columnView{c.name, c.indexed, c.unique}
}

// text returns the file.
func (s *Starter) text(d *draft, rec *records) ([]byte, error) {
	v := view{
		Redis: s.redis, Sink: escape(s.sink.String()), Report: d.report(), Facts: viewOf(d.facts, d.factsSQL, d.key),
		Date: d.date.view(), From: d.from, Newest: d.newest, Others: strings.Join(d.others, ", "), Columns: d.labelled(),
		Records: recordsView{
			Database: rec.of.name, Table: rec.table, Exists: rec.exists, Similar: strings.Join(rec.similar, ", "),
			Columns: mapping(rec.columns), Statuses: mapping(rec.statuses),
		},
	}
	for _, one := range s.sources {
		v.Sources = append(v.Sources, sourceView{one.name, one.inFile(), one.tableNames()})
	}
	if d.other != nil {
		other := viewOf(d.other, d.otherSQL, d.same)
		v.Other, v.Key = &other, d.key.name
	}
	var out bytes.Buffer
	if err := page.Execute(&out, v); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return out.Bytes(), nil
}

func viewOf(t *table, query string, by *column) listenerView {
	return listenerView{Name: listenerName(t), Database: t.of.name, Table: t.name, Query: escape(query), By: by.view()}
}

// tableNames lists the first tables, for people.
func (s *source) tableNames() string {
	var names []string
	for _, t := range s.tables {
		names = append(names, t.name)
	}
	if len(names) == 0 {
		return "no tables that this account can see"
	}
	return listing(names)
}

// inFile returns the DSN as in the file: with the name of the password's variable.
func (s *source) inFile() string {
	if s.variable == "" {
		return quotedText(escape(s.dsn("")))
	}
	before, after, _ := strings.Cut(escape(s.dsn("\x00")), "\x00")
	return quotedText(before + "${" + s.variable + "}" + after)
}

// report returns the name of the report: the name of the table, with the characters that it can have.
func (d *draft) report() string {
	name := strings.Trim(notInReport.ReplaceAllString(strings.ToLower(d.facts.name), "-"), "-")
	if name == "" {
		return "first-report"
	}
	return name[:min(len(name), 64)]
}

var notInReport = regexp.MustCompile(`[^a-z0-9]+`)

// labelled is a column of the CSV file.
type labelled struct{ Column, Label string }

// labelled returns the columns of the CSV file after the key.
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
				continue // the other table has a column with the name of the key
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

// scalar returns a name as a YAML scalar, quoted only if it must be.
func scalar(name string) string {
	if bareScalar.MatchString(name) && !slices.Contains([]string{"null", "true", "false", "yes", "no", "on", "off"}, strings.ToLower(name)) {
		return name
	}
	return quotedText(escape(name))
}

// quotedText returns a text in double quotes, which mean the same in JSON and YAML.
func quotedText(text string) string { return string(report.EncodeBound(text)) }

// mapping returns the entries of a YAML mapping in one line.
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

// listing joins names, and counts those after the first eight.
func listing(names []string) string {
	const shown = 8
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
