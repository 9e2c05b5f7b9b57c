package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// reading is one run of Load: what it reads from and what it has found wrong.
type reading struct {
	file     string
	env      Environment
	problems Problems
	warnings Problems
	used     variables
	readers  map[string]*draftListener // the first listener of each name, in any report
}

// setting is a value in the file, or the gap where one could be. The methods that
// decode it say false where they cannot, and have then said why; so a caller
// only skips what depends on the value.
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

// hidden marks the value as one that no message shows.
func (p setting) hidden() setting {
	p.secret = true
	return p
}

// problem notes that something is wrong here, and shows the value where it is a
// single one.
func (p setting) problem(message, remedy string) {
	p.problems = append(p.problems, p.found(message, remedy))
}

// warn notes that something here works, and probably not as it is meant.
func (p setting) warn(message, remedy string) {
	p.warnings = append(p.warnings, p.found(message, remedy))
}

func (p setting) found(message, remedy string) Problem {
	found := Problem{File: p.file, Line: p.line, Column: p.column, Path: p.path, Message: message, Remedy: remedy}
	if p.node != nil && p.node.Kind == yaml.ScalarNode && !p.secret {
		found.Value = p.node.Value
	}
	return found
}

// is tells what kind of value is here; a missing or empty one is of no kind.
func (p setting) is(kind yaml.Kind) bool {
	return p.node != nil && p.node.Kind == kind && !p.null()
}

// null tells whether the value is nothing: written as null, ~ or not at all.
func (p setting) null() bool {
	return p.node != nil && p.node.Kind == yaml.ScalarNode && p.node.Tag == "!!null"
}

// list decodes a sequence. Nothing at all is an empty one.
func (p setting) list() ([]setting, bool) {
	if !p.given() || p.null() {
		return nil, true
	}
	if p.node.Kind != yaml.SequenceNode {
		p.problem("not a list", "Write [one, another], or one - in each line")
		return nil, false
	}
	items := make([]setting, len(p.node.Content))
	for i, n := range p.node.Content {
		items[i] = p.reading.at(n, p.path+"["+strconv.Itoa(i)+"]")
	}
	return items, true
}

// oneOrMore decodes a list of texts that may be written as a single text.
func (p setting) oneOrMore() ([]setting, bool) {
	if p.is(yaml.ScalarNode) {
		return []setting{p}, true
	}
	return p.list()
}

// text decodes a scalar and puts the variables in.
func (p setting) text() (string, bool) {
	switch {
	case !p.is(yaml.ScalarNode):
		p.problem("not a single value", "Write a text, a number or a duration")
		return "", false
	case p.node.Style&yaml.TaggedStyle != 0:
		p.problem("a YAML tag, which has no meaning here", "Remove "+p.node.Tag)
		return "", false
	}
	text, err := expand(p.node.Value, func(name string) (string, bool) {
		value, set := p.env.Lookup(name)
		p.used.note(name, value, p.secret)
		return value, set
	})
	if err != nil {
		p.problem(err.Message, err.Remedy)
		return "", false
	}
	return text, true
}

// name decodes a text that must have a form.
func (p setting) name(form *regexp.Regexp, what, remedy string) (string, bool) {
	text, ok := p.text()
	if ok && !form.MatchString(text) {
		p.problem("not "+what, remedy)
		return "", false
	}
	return text, ok
}

// integer decodes a whole number within bounds, both included. In a gap it is
// the default.
func (p setting) integer(otherwise, least, most int) int {
	if !p.given() {
		return otherwise
	}
	text, ok := p.text()
	if !ok {
		return otherwise
	}
	if n, err := strconv.Atoi(text); err == nil && n >= least && n <= most {
		return n
	}
	p.problem(fmt.Sprintf("not a whole number from %d to %d", least, most), "")
	return otherwise
}

// longest is the longest duration that can be given. It keeps sums of them far
// from the end of time.Duration.
const longest = 30 * 24 * time.Hour

// duration decodes a duration such as 90s or 1h30m. In a gap it is the default.
func (p setting) duration(otherwise time.Duration) time.Duration {
	if !p.given() {
		return otherwise
	}
	text, ok := p.text()
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		p.problem("not a duration", "Write a number with its unit, such as 500ms, 30s, 10m or 1h30m")
	case d < time.Millisecond || d > longest:
		p.problem("not a duration from 1ms to 720h", "")
	default:
		return d
	}
	return otherwise
}

// boolean decodes true or false. In a gap it is false.
func (p setting) boolean() bool {
	if !p.given() {
		return false
	}
	text, ok := p.text()
	if ok && text != "true" && text != "false" {
		p.problem("neither true nor false", "")
	}
	return text == "true"
}

// isText tells whether the value is written in its short form, as a single text.
func (p setting) isText() bool { return p.is(yaml.ScalarNode) }
