package decode

import (
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// Setting is a value in the file, or the place of a missing one.
type Setting struct {
	Node   *yaml.Node // nil if the value is missing
	Line   int        // from 1
	r      *Reader
	from   *source
	column int
	path   string
	secret bool      // the value must not be shown
	more   []Setting // mappings of included files, whose entries are as if they were in this one
}

// beside returns the setting of a node in the same file as p.
func beside(p Setting, node *yaml.Node, path string) Setting {
	p = Setting{r: p.r, from: p.from, Node: node, Line: node.Line, column: node.Column, path: path}
	if node.Kind == yaml.AliasNode {
		p.Node = node.Alias
	}
	return p
}

// Given reports whether the file has a value here.
func (p Setting) Given() bool { return p.Node != nil }

// IsNull reports whether the value is null, written as null, ~ or nothing.
func (p Setting) IsNull() bool { return p.isScalar() && p.Node.Tag == "!!null" }

// isScalar reports whether the value is a scalar, null included.
func (p Setting) isScalar() bool { return p.Node != nil && p.Node.Kind == yaml.ScalarNode }

// IsText reports whether the value is a scalar other than null.
func (p Setting) IsText() bool { return p.isScalar() && !p.IsNull() }

// Hidden returns the setting with its value hidden from messages.
func (p Setting) Hidden() Setting {
	p.secret = true
	return p
}

// Problem records a mistake here.
func (p Setting) Problem(message, remedy string) {
	p.r.problems = append(p.r.problems, p.found(message, remedy))
}

// Warn records that this works, but probably not as intended.
func (p Setting) Warn(message, remedy string) {
	p.r.warnings = append(p.r.warnings, p.found(message, remedy))
}

// withUser matches URLs with a user, and perhaps a password, which can have any character if the URL is wrong.
var withUser = regexp.MustCompile(`(?s)^\s*[A-Za-z][A-Za-z0-9+.-]*://.*@`)

// found returns a problem, with the value if it is a scalar without a secret.
func (p Setting) found(message, remedy string) Problem {
	found := Problem{File: p.from.name, Line: p.Line, Column: p.column, Path: p.path, Message: message, Remedy: remedy}
	if p.isScalar() && !p.secret && !withUser.MatchString(p.Node.Value) {
		found.Value = p.Node.Value
	}
	return found
}

// PlaceOf says where another setting is, for a message here: in line 3, or in orders.yaml:3.
func (p Setting) PlaceOf(other Setting) string {
	if p.from == other.from {
		return fmt.Sprintf("in line %d", other.Line)
	}
	return fmt.Sprintf("in %s:%d", other.from.name, other.Line)
}

// Text reads a scalar and expands its variables. If it returns false, it has recorded a
// problem.
func (p Setting) Text() (string, bool) {
	switch {
	case !p.IsText():
		p.Problem("not a single value", "Write a text, a number or a duration")
		return "", false
	case p.Node.Style&yaml.TaggedStyle != 0:
		p.Problem("YAML tags are not supported", "Remove "+p.Node.Tag)
		return "", false
	}
	text, err := expand(p.Node.Value, func(name string) (string, bool) {
		value, set := p.r.env.Lookup(name)
		p.r.used.note(name, value, p.secret)
		return value, set
	})
	if err != nil {
		p.Problem(err.Message, err.Remedy)
	}
	return text, err == nil
}

// List returns the items of a sequence. If it returns false, it has recorded a problem.
func (p Setting) List() ([]Setting, bool) {
	if p.Node.Kind != yaml.SequenceNode {
		p.Problem("not a list", "Write [one, another], or one item in each line after a -")
		return nil, false
	}
	items := make([]Setting, len(p.Node.Content))
	for i, n := range p.Node.Content {
		items[i] = beside(p, n, p.path+"["+strconv.Itoa(i)+"]")
		items[i].secret = p.secret
	}
	return items, true
}

// Item returns an item of a list, or the value itself if it is not a list.
func (p Setting) Item(i int) Setting {
	if items := p.Node.Content; i < len(items) {
		return beside(p, items[i], fmt.Sprintf("%s[%d]", p.path, i))
	}
	return p
}
