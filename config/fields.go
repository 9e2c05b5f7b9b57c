package config

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// field is a value with its key.
type field struct {
	name  string
	key   setting
	value setting
}

// entries returns the fields of a mapping with free names, in the file's order.
// Nothing at all is an empty mapping.
func (p setting) entries() ([]field, bool) {
	if !p.given() || p.null() {
		return nil, true
	}
	if p.node.Kind != yaml.MappingNode {
		p.problem("not a mapping", "Write fields with their values: {name: value}")
		return nil, false
	}
	first := map[string]int{}
	var found []field
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		key := p.reading.at(p.node.Content[i], p.path)
		key.secret = p.secret
		switch {
		case key.node.Kind != yaml.ScalarNode:
			key.problem("a key that is not plain text", "")
			continue
		case key.node.Tag == "!!merge":
			key.problem("merge keys are not supported", "Write the fields out, or use an alias for a whole value")
			continue
		}
		name := key.node.Value
		if line, twice := first[name]; twice {
			key.problem(fmt.Sprintf("given twice, first in line %d", line), "Remove one of them")
			continue
		}
		first[name] = key.line
		value := p.reading.at(p.node.Content[i+1], child(p.path, name))
		value.secret = p.secret
		if !value.isText() {
			// A block begins after its name; people look for the name.
			value.line, value.column = key.line, key.column
		}
		found = append(found, field{name, key, value})
	}
	return found, true
}

// fields are the fields of a mapping of which every name is known.
type fields struct {
	at     setting
	broken bool // the mapping itself is wrong, which has been said
	byName map[string]setting
}

// fields decodes a mapping and refuses every field that is not known.
func (p setting) fields(known ...string) fields {
	entries, ok := p.entries()
	f := fields{at: p, broken: !ok, byName: map[string]setting{}}
	meant := map[string]setting{} // what the name of another field was most likely to be
	for _, e := range entries {
		if slices.Contains(known, e.name) {
			e.value.secret = false // what is secret in it says its reader
			f.byName[e.name] = e.value
			continue
		}
		// The name is shown, the value is not: it may be the secret whose name
		// was misspelt. A piece of a secret that an unquoted comma made a name is
		// shown only where it is near a field's.
		e.value.secret = true
		e.value.line, e.value.column = e.key.line, e.key.column
		near := nearest(e.name, known)
		if p.secret && near == "" {
			e.value.path = p.path
			e.value.problem("a field that is not known", "The fields are "+report.Listing(known)+". Put quotes around a value that has commas")
			continue
		}
		e.value.problem("a field that is not known", fieldRemedy(near, known))
		e.value.secret = false
		meant[near] = e.value
	}
	for name, value := range meant {
		// What follows from the misspelt name is not said as well.
		if _, given := f.byName[name]; !given && name != "" {
			f.byName[name] = value
		}
	}
	return f
}

func fieldRemedy(near string, known []string) string {
	fields := "The fields are " + report.Listing(known)
	if near == "" {
		return fields
	}
	return fmt.Sprintf("Did you mean %q? %s", near, fields)
}

// get returns the field, or the gap where it could be.
func (f fields) get(name string) setting {
	if v, ok := f.byName[name]; ok && !v.null() {
		return v
	}
	gap := f.at
	gap.node, gap.path = nil, child(f.at.path, name)
	return gap
}

// need returns the field; where it is missing, that is a problem.
func (f fields) need(name, remedy string) (setting, bool) {
	v := f.get(name)
	if !v.given() && !f.broken {
		v.problem("missing", remedy)
	}
	return v, v.given()
}

func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
