package decode

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Problem is one thing that is wrong in a configuration file, with its place
// and what to do about it. It never holds a secret: of values that can be
// secret nothing is kept, and of the others what the file says, not what a
// variable in it stands for. (Names inside of a query are named as the query
// has them, so a password does not belong into a query.)
type Problem struct {
	File    string // as given to NewReader
	Line    int    // from 1
	Column  int    // from 1
	Path    string // such as reports.payments.stages[0].listeners[1].query; empty for the file as a whole
	Value   string // what the file says there; empty where that is no single value, or a secret
	Message string
	Remedy  string // what to do; may be empty
}

// Problems is every problem of one file, sorted by line. It is an error.
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

// Error returns all problems, one in a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each problem to errors.As.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// sorted returns the problems in the order of the file. An anchor that is used
// twice is proved twice: what is equal is said once.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(ps)
}
