package starter

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// page has the values of the template.
type page struct {
	Redis, Sink string   // URLs
	Places      string   // forms of URLs of sinks
	Notes       []string // about the sink
	Sources     []*source
	Records     records
	Pick        *pick // nil: not chosen, and the file has a report that is valid and no more
}

//go:embed starter.yaml
var form string

var pages = template.Must(template.New("starter.yaml").Funcs(template.FuncMap{
	"text":   func(text string) string { return quotedText(escape(text)) },
	"url":    quotedText,
	"escape": escape,
	"indent": func(text string) string { return strings.ReplaceAll(text, "\n", "\n          ") },
}).Parse(form))

// load writes the file and validates it.
func (p *page) load(o Options) (*config.Config, []byte, error) {
	var out bytes.Buffer
	p.Places = o.Kinds.SinkForms()
	for _, of := range o.Kinds.Sinks {
		if of.Scheme == report.SinkURL(p.Sink).Scheme() {
			p.Notes = of.Notes
		}
	}
	if err := pages.Execute(&out, p); err != nil {
		return nil, nil, fmt.Errorf("write the configuration: %w", err)
	}
	c, err := config.Load(o.File, out.Bytes(), decode.Environment{Lookup: o.Lookup}, o.Kinds)
	return c, out.Bytes(), err
}

// proposal describes the file.
func (p *page) proposal(o Options) (*Proposal, error) {
	_, text, err := p.load(o)
	if err != nil {
		return nil, fmt.Errorf("the tables do not make a valid configuration: %w", err)
	}
	made := &Proposal{Text: text, Report: p.Pick.Report(), Joins: p.Pick.Facts.Listener(),
		Records: p.Records.Of.Name + "." + p.Records.Table, Exists: p.Records.Exists}
	if p.Pick.Other != nil {
		made.Joins += " with " + p.Pick.Other.Listener() + " by " + p.Pick.Key.Name
	}
	if p.Pick.Date != nil {
		made.Parameter = "from=" + p.Pick.From
		made.Joins += ", from a " + p.Pick.Date.Name + " on"
	}
	addresses := p.Redis
	for _, s := range p.Sources {
		addresses += s.DSN
	}
	os.Expand(strings.ReplaceAll(addresses, "$${", ""), func(name string) string {
		if !slices.Contains(made.Variables, name) {
			made.Variables = append(made.Variables, name)
		}
		return ""
	})
	return made, nil
}

// TableNames lists the first tables, for people.
func (s *source) TableNames() string {
	var names []string
	for _, t := range s.Tables {
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return "no tables that this account can see"
	}
	return report.Listing(names)
}

// Mapping returns the columns as the entries of a YAML mapping, in one line.
func (r records) Mapping() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Columns)) {
		parts = append(parts, name+": "+quotedText(r.Columns[name]))
	}
	return strings.Join(parts, ", ")
}

var notInReport = regexp.MustCompile(`[^a-z0-9]+`)

// Report returns the name of the report: the name of the table, with the characters that it can have.
func (p *pick) Report() string {
	name := strings.Trim(notInReport.ReplaceAllString(strings.ToLower(p.Facts.Name), "-"), "-")
	if name == "" {
		return "first-report"
	}
	return name[:min(len(name), 64)]
}

// quotedText returns a text in double quotes, which mean the same in JSON and YAML.
func quotedText(text string) string { return string(report.EncodeBound(text)) }
