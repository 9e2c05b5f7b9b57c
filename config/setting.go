package config

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// reading is one run of Load: what it reads from and what it has found wrong.
type reading struct {
	file     string
	env      Environment
	problems Problems
	warnings Problems
	used     variables
}

// setting is a value in the file, or the gap where one could be.
type setting struct {
	*reading
	node   *yaml.Node // nil in a gap
	line   int
	column int
	path   string
	secret bool // the value must not be shown
}

func (r *reading) at(node *yaml.Node, path string) setting {
	p := setting{reading: r, node: node, line: node.Line, column: node.Column, path: path}
	if node.Kind == yaml.AliasNode {
		p.node = node.Alias
	}
	return p
}

// given tells whether the file has something here.
func (p setting) given() bool { return p.node != nil }

// isNull tells whether the value is nothing: written as null, ~ or not at all.
func (p setting) isNull() bool { return p.isScalar() && p.node.Tag == "!!null" }

// isScalar tells whether the value is a single one, perhaps null.
func (p setting) isScalar() bool { return p.node != nil && p.node.Kind == yaml.ScalarNode }

// isText tells whether the value is a single one.
func (p setting) isText() bool { return p.isScalar() && !p.isNull() }

// hidden marks the value as one that no message shows.
func (p setting) hidden() setting {
	p.secret = true
	return p
}

// problem notes that something is wrong here.
func (p setting) problem(message, remedy string) {
	p.problems = append(p.problems, p.found(message, remedy))
}

// warn notes that something here works, but probably not as intended.
func (p setting) warn(message, remedy string) {
	p.warnings = append(p.warnings, p.found(message, remedy))
}

// found is a problem with its value, if that is a single one.
func (p setting) found(message, remedy string) Problem {
	found := Problem{File: p.file, Line: p.line, Column: p.column, Path: p.path, Message: message, Remedy: remedy}
	if p.isScalar() && !p.secret {
		found.Value = p.node.Value
	}
	return found
}

// text reads a single value and expands its variables. False if it cannot, which is a
// problem then.
func (p setting) text() (string, bool) {
	switch {
	case !p.isText():
		p.problem("not a single value", "Write a text, a number or a duration")
		return "", false
	case p.node.Style&yaml.TaggedStyle != 0:
		p.problem("YAML tags are not supported", "Remove "+p.node.Tag)
		return "", false
	}
	text, err := expand(p.node.Value, func(name string) (string, bool) {
		value, set := p.env.Lookup(name)
		p.used.note(name, value, p.secret)
		return value, set
	})
	if err != nil {
		p.problem(err.Message, err.Remedy)
	}
	return text, err == nil
}

// list returns the items of a sequence, or the problem that it is none.
func (p setting) list() ([]setting, bool) {
	if p.node.Kind != yaml.SequenceNode {
		p.problem("not a list", "Write [one, another], or one - in each line")
		return nil, false
	}
	items := make([]setting, len(p.node.Content))
	for i, n := range p.node.Content {
		items[i] = p.reading.at(n, p.path+"["+strconv.Itoa(i)+"]")
		items[i].secret = p.secret
	}
	return items, true
}

// entry is a value of a mapping with its key.
type entry struct {
	name, parent string // parent is the path of the mapping
	key, value   setting
}

// entries returns the entries of a mapping in the file's order. Null is an empty mapping.
func (p setting) entries() ([]entry, bool) {
	if p.isNull() {
		return nil, true
	}
	if p.node.Kind != yaml.MappingNode {
		p.problem("not a mapping", "Write fields with their values: {name: value}")
		return nil, false
	}
	first := map[string]int{}
	var found []entry
	for i := 0; i+1 < len(p.node.Content); i += 2 {
		key := p.reading.at(p.node.Content[i], p.path)
		key.secret = p.secret
		switch {
		case !key.isScalar():
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
		key.path = child(p.path, name)
		value := p.reading.at(p.node.Content[i+1], key.path)
		value.secret = p.secret
		if !value.isText() {
			// A block begins after its name; people look for the name.
			value.line, value.column = key.line, key.column
		}
		found = append(found, entry{name, p.path, key, value})
	}
	return found, true
}

func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// section is what the decoder knows of a mapping: where its fields are.
type section struct {
	setting                    // of the mapping as a whole
	fields  map[string]setting // that are given; nil if there is no mapping
	wrong   map[string]bool    // fields with a problem
}

// section gives itself to the decoder.
func (s *section) self() *section { return s }

// get returns a field, or the gap where it could be.
func (s section) get(name string) setting {
	if v, ok := s.fields[name]; ok && !v.isNull() {
		return v
	}
	gap := s.setting
	gap.node, gap.path = nil, child(s.path, name)
	return gap
}

// has tells whether a field is given and right.
func (s section) has(name string) bool { return s.get(name).given() && !s.wrong[name] }

// first returns the first of these fields that the file has, or the gap of the last one.
func (s section) first(names ...string) (found setting) {
	for _, name := range names {
		if found = s.get(name); found.given() {
			break
		}
	}
	return found
}

// missing notes that a field is needed, unless the mapping itself is wrong.
func (s section) missing(name, remedy string) {
	if s.fields != nil {
		s.get(name).problem("missing", remedy)
	}
}

// read notes where the fields of a mapping are, and refuses unknown ones.
func (s *section) read(known []string) {
	entries, ok := s.entries()
	if !ok {
		return
	}
	s.fields = map[string]setting{}
	meant := map[string]setting{} // the value of a misspelt field, by the field's name
	for _, e := range entries {
		if slices.Contains(known, e.name) {
			e.value.secret = false // the field says whether it is secret
			s.fields[e.name] = e.value
			continue
		}
		// The name is shown, the value is not: it may be the secret whose name was
		// misspelt. A piece of a secret that an unquoted comma made a name is shown only
		// if it is near a field's name.
		e.key.secret = true
		near := nearest(e.name, known)
		remedy := "The fields are " + report.Listing(known)
		switch {
		case near != "":
			remedy = fmt.Sprintf("Did you mean %q? ", near) + remedy
			e.value.secret = false
			meant[near] = e.value
		case s.secret:
			e.key.path = s.path
			remedy += ". Put quotes around a value that has commas"
		}
		e.key.problem("unknown field", remedy)
	}
	for name, value := range meant {
		// A field that is misspelt is not missing as well.
		if _, given := s.fields[name]; !given {
			s.fields[name] = value
		}
	}
}
