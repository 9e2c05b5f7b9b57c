package decode

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Problem is a mistake in a configuration file, with its place and remedy. It never
// contains a secret: it omits values that can be secret, and shows others as written
// in the file, with variables unexpanded. (Messages show the names in a query, so do
// not put a password into a query.)
type Problem struct {
	File    string // as given to NewReader; of another file, with its folder
	Line    int    // from 1
	Column  int    // from 1
	Path    string // such as reports.payments.stages[0].listeners[1].query; empty for the whole file
	Value   string // as written in the file; empty for a secret and for lists and mappings
	Message string
	Remedy  string // may be empty
}

// Problems are all problems of a file and of those that it names, sorted by file and line. It is an error.
type Problems []Problem

// Error returns the problem in one line:
//
//	fanfold.yaml:12:5: reports.x.timeout: message (value "…"). Remedy
func (p Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Value != "" {
		b.WriteString(" (value " + strconv.Quote(report.Shorten(p.Value)) + ")")
	}
	if p.Remedy != "" {
		b.WriteString(". " + p.Remedy)
	}
	return b.String()
}

// Error returns the problems, one per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems, for errors.As.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// sorted returns the problems in the order of the files and their lines. A mistake that several aliases of one anchor
// repeat is there once, with its first path.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	seen := map[Problem]bool{}
	return slices.DeleteFunc(ps, func(p Problem) bool {
		p.Path = p.Path[strings.LastIndexByte(p.Path, '.')+1:] // tells two missing fields of one mapping apart
		if p.Value != "" {
			p.Path = ""
		}
		again := seen[p]
		seen[p] = true
		return again
	})
}
