package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// readOnFailure decodes on_failure. The columns are known.
func (l *draftListener) readOnFailure(at setting) {
	l.failure = at
	switch {
	case !at.given():
		return
	case !at.isText():
		l.OnFailure = report.Default
		l.readDefaults(at)
		return
	}
	text, ok := at.text()
	if !ok {
		return
	}
	const required = "required"
	policies := []string{required, string(report.Optional)}
	switch {
	case !slices.Contains(policies, text):
		at.problem("no such policy", didYouMean(text, policies)+", or write {default: {column: value}}")
	case text != required:
		l.OnFailure = report.OnFailure(text)
	}
}

// readDefaults decodes {default: {column: value}}.
func (l *draftListener) readDefaults(at setting) {
	f := at.fields("default")
	values, ok := f.need("default", "Write {default: {column: value}}, or optional")
	if !ok {
		return
	}
	entries, ok := values.entries()
	if ok && len(entries) == 0 {
		values.problem("no column", "Name the columns with their values, or write on_failure: optional")
	}
	l.Defaults = map[string]string{}
	for _, e := range entries {
		if e.value.null() {
			e.value.problem("no value", "Leave the column out: it is empty then")
			continue
		}
		text, ok := e.value.text()
		if ok && l.gives(e.name, e.value) {
			l.Defaults[e.name] = e.value.cell(text)
		}
	}
}

// cell is the JSON of a value: of a number where it is one and has no quotes.
func (p setting) cell(text string) string {
	bare := p.node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0
	if bare && json.Valid([]byte(text)) && strings.ContainsRune("-0123456789", rune(text[0])) {
		return text
	}
	return string(report.EncodeBound(text))
}

// checkDriver proves that no job goes on without the listener that gives the rows.
func (d *draft) checkDriver() {
	if len(d.Join.Listeners) == 0 {
		return
	}
	l := d.listener(d.Join.Listeners[0].Listener)
	if l == nil || !l.CanOmit() {
		return
	}
	remedy := "Leave on_failure out"
	if len(d.Join.Listeners) > 1 {
		remedy += ", or put a listener first in join.listeners that is required"
	}
	l.failure.problem(fmt.Sprintf("%s gives the rows of the file: without it there are none", l.Name), remedy)
}

// checkPartial proves that a table of a service has a value for PARTIAL, where a job
// can end so.
func (c *Config) checkPartial(records setting) {
	for _, name := range sortedKeys(c.Reports) {
		if !c.Reports[name].CanOmit() {
			continue
		}
		c.Records.Partial = true
		if _, ok := c.Records.Statuses[string(report.Partial)]; !ok && len(c.Records.Statuses) > 0 && records.given() {
			records.path = child(records.path, "statuses")
			records.problem(fmt.Sprintf("no value for PARTIAL, as which a job of report %s can end: one of its listeners has on_failure", name),
				"Add PARTIAL: VALUE, or make all listeners required")
		}
		return
	}
}
