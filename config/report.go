package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

var (
	reportName    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	parameterName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

var parameterTypes = []string{
	string(report.ParamString), string(report.ParamInteger), string(report.ParamDecimal),
	string(report.ParamBoolean), string(report.ParamDate), string(report.ParamDatetime),
}

// draft is a report that is being read, with the places that later parts of it
// are checked against.
type draft struct {
	setting
	*report.Report
	sources    sourceNames
	parameters map[string]setting
	used       map[string]bool // parameters
	listeners  []*draftListener
	guessed    bool // a timeout or a retry is wrong, so the time that listeners take is not known
	nameless   bool // a listener has no usable name, so a name that is not there may be its
}

// sourceNames are what listeners can read, by the kind of listener.
type sourceNames struct {
	databases []string
	apis      map[string]API
}

// report decodes one report. Each part is checked against the ones before.
func (p setting) report(name string, sources sourceNames) *report.Report {
	d := &draft{setting: p, Report: &report.Report{Name: name, Line: p.line}, sources: sources, parameters: map[string]setting{}, used: map[string]bool{}}
	f := p.fields("timeout", "retry", "parameters", "stages", "join", "csv", "paused_deadline", "on_change", "strict_timeout")
	if f.broken {
		return d.Report
	}
	d.readParameters(f.get("parameters"))
	d.Retry = d.retry(f.get("retry"), report.DefaultRetry)
	d.DeadlineWaits = f.get("paused_deadline").choice("runs", "waits")
	d.RestartOnChange = f.get("on_change").choice("wait", "restart")
	d.readStages(f)
	d.checkFieldNames()
	d.resolveQueries()
	if d.readJoin(f.get("join")) {
		d.readCSV(f.get("csv"))
	}
	d.checkDriver()
	d.checkUse()
	d.readTimeout(f.get("timeout"), f.get("strict_timeout"))
	return d.Report
}

// choice decodes one of two words, and tells whether it is the second. In a gap it is not.
func (p setting) choice(first, second string) bool {
	if !p.given() {
		return false
	}
	text, ok := p.text()
	if choices := []string{first, second}; ok && !slices.Contains(choices, text) {
		p.problem("neither "+first+" nor "+second, didYouMean(text, choices))
	}
	return text == second
}

func (d *draft) readParameters(at setting) {
	entries, _ := at.entries()
	for _, e := range entries {
		if !parameterName.MatchString(e.name) {
			e.value.problem("a parameter's name that is not allowed", "Use letters, digits and _, and do not begin with a digit")
			continue
		}
		d.parameters[e.name] = e.value
		d.Parameters = append(d.Parameters, e.value.parameter(e.name))
	}
}

func (p setting) parameter(name string) report.Parameter {
	parameter := report.Parameter{Name: name, Type: report.ParamString}
	if p.is(yaml.ScalarNode) || p.null() {
		parameter.Type = p.parameterType()
		return parameter
	}
	f := p.fields("type", "list", "default")
	if t := f.get("type"); t.given() {
		parameter.Type = t.parameterType()
	}
	parameter.List = f.get("list").boolean()
	if given, ok := f.byName["default"]; ok && slices.Contains(parameterTypes, string(parameter.Type)) {
		parameter.Default = given.parameterDefault(parameter)
	}
	return parameter
}

func (p setting) parameterType() report.ParameterType {
	text, ok := p.text()
	if ok && !slices.Contains(parameterTypes, text) {
		p.problem("no such type", didYouMean(text, parameterTypes))
	}
	return report.ParameterType(text)
}

// parameterDefault turns YAML into the JSON that a record would give.
func (p setting) parameterDefault(parameter report.Parameter) *string {
	if p.null() {
		null := "null"
		return &null
	}
	raw, ok := p.parameterJSON(parameter)
	if !ok {
		return nil
	}
	value, wrong := parameter.Bind(raw)
	if wrong != nil {
		p.problem(wrong.Message, wrong.Remedy)
		return nil
	}
	text := string(report.EncodeBound(value))
	return &text
}

func (p setting) parameterJSON(parameter report.Parameter) (json.RawMessage, bool) {
	if !parameter.List {
		text, ok := p.text()
		if parameter.Type == report.ParamBoolean && (text == "true" || text == "false") {
			return json.RawMessage(text), ok
		}
		return report.EncodeBound(text), ok
	}
	items, ok := p.list()
	if !ok {
		return nil, false
	}
	parameter.List = false
	parts := make([]string, len(items))
	for i, item := range items {
		raw, itemOK := item.parameterJSON(parameter)
		parts[i], ok = string(raw), ok && itemOK
	}
	return json.RawMessage("[" + strings.Join(parts, ",") + "]"), ok
}

// checkUse finds what is there and changes nothing: most often a misspelt name.
func (d *draft) checkUse() {
	for _, name := range sortedKeys(d.parameters) {
		if !d.used[name] && !d.nameless && d.allQueriesKnown() {
			d.parameters[name].problem("a parameter that no query uses", fmt.Sprintf("Use :%s in a query, or remove it", name))
		}
	}
}

// allQueriesKnown tells whether every query could be read; if not, what seems
// unused may be used in one of the others, or by an external service.
func (d *draft) allQueriesKnown() bool {
	return len(d.listeners) > 0 && !slices.ContainsFunc(d.listeners, func(l *draftListener) bool { return !l.whole })
}
