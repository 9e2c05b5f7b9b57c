package dialect

import (
	"errors"
	"strconv"
)

// Postgres is the SQL of PostgreSQL with standard_conforming_strings on.
var Postgres = &Dialect{
	Strings: `'`, Names: `"`, LowerNames: true,
	Dollars: true, EscapeStrings: true, NestedComments: true,
	Placeholder: func(n int) string { return "$" + strconv.Itoa(n) },
}

// Array is a list of values that is one argument. IN (:name) becomes = ANY ($1), and NOT IN (:name) becomes
// <> ALL ($1); elsewhere it is $1, as in unnest(:name).
type Array struct{ Of any }

// use is a place where a parameter stands.
type use struct {
	list   *listed // nil: none
	tested bool    // by IS [NOT] NULL, which says nothing about its type
}

// isTested reports whether IS [NOT] NULL follows, which begins these tokens.
func isTested(tokens []token) bool {
	var words []token
	for i := 0; i < len(tokens) && len(words) < 3; i++ {
		if tokens[i].kind != tokenSpace {
			words = append(words, tokens[i])
		}
	}
	return len(words) > 1 && words[0].is("IS") && (words[1].is("NULL") ||
		len(words) > 2 && words[1].is("NOT") && words[2].is("NULL"))
}

// listed is an [NOT] IN (:name), of which the parentheses have nothing else.
type listed struct {
	before int // bytes before the parameter, from [NOT] IN on
	after  int // bytes after the parameter, with the )
	not    bool
}

// operator returns what replaces the operator IN, and its (.
func (l listed) operator() string {
	if l.not {
		return "<> ALL ("
	}
	return "= ANY ("
}

// listedAt returns the operator IN around the parameter with this number in a list of tokens; nil: there is none.
func listedAt(tokens []token, at int) *listed {
	l := &listed{}
	step := func(i, by int, size *int, word string) int { // returns -1 if the next token is another
		for i += by; i >= 0 && i < len(tokens); i += by {
			*size += len(tokens[i].text)
			if tokens[i].kind != tokenSpace {
				if tokens[i].is(word) {
					return i
				}
				return -1
			}
		}
		return -1
	}
	open := step(at, -1, &l.before, "(")
	if open < 0 || step(at, 1, &l.after, ")") < 0 {
		return nil
	}
	in := step(open, -1, &l.before, "IN")
	if in < 0 {
		return nil
	}
	before := l.before
	if step(in, -1, &before, "NOT") >= 0 {
		l.before, l.not = before, true
	}
	return l
}

// errWrites is the error of a statement that does not only read.
var errWrites = errors.New("changes data: remove it, because a query must only read")

// changes are the words that begin a statement that changes data.
var changes = words("INSERT UPDATE DELETE MERGE")

// findChange returns the number of the token that begins a statement which changes data: behind the parts of a WITH,
// or in one of them. -1: none.
func findChange(tokens []token) int {
	var before [2]token // the last two but spaces
	depth := 0
	with := false
	for i, t := range tokens {
		if t.kind == tokenSpace {
			continue
		}
		with = with || before[1].text == "" && t.is("WITH")
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case !t.in(changes):
		case before[1].is("(") && (before[0].is("AS") || before[0].is("MATERIALIZED")),
			with && depth == 0 && before[1].is(")"):
			return i
		}
		before[0], before[1] = before[1], t
	}
	return -1
}

// skipDistinctOn returns the tokens behind DISTINCT ON (…), of which none is a space.
func skipDistinctOn(tokens []token) []token {
	if len(tokens) < 2 || !tokens[0].is("ON") || !tokens[1].is("(") {
		return tokens
	}
	depth := 0
	for i, t := range tokens {
		if t.is("(") {
			depth++
		} else if t.is(")") {
			if depth--; depth == 0 {
				return tokens[i+1:]
			}
		}
	}
	return tokens
}
