package parse

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Error is a mistake in the text.
type Error struct {
	Position
	Message, Remedy string
}

// Error returns the message and the remedy.
func (e *Error) Error() string { return e.Message + ". " + e.Remedy }

// Errors are all mistakes of a query. None: only what follows from the mistakes of another part is wrong.
type Errors []*Error

// Error returns the mistakes.
func (es Errors) Error() string {
	texts := make([]string, len(es))
	for i, e := range es {
		texts[i] = e.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the mistakes.
func (es Errors) Unwrap() []error {
	all := make([]error, len(es))
	for i, e := range es {
		all[i] = e
	}
	return all
}

// Sorted returns the mistakes in the order of their places. Of several at one place, the first is the cause.
func (es Errors) Sorted() Errors {
	all := slices.Clone(es)
	slices.SortStableFunc(all, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.CompactFunc(all, func(a, b *Error) bool { return a.Position == b.Position })
}

// Refuse ends what Catch protects with a mistake.
func Refuse(at Position, message, remedy string) { panic(Errors{{at, message, remedy}}) }

// Must returns a result, or ends what Catch protects with its mistakes.
func Must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// Catch keeps the mistakes that ended the function which defers it.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case Errors:
		*err = r
	default:
		panic(r)
	}
}

// Failure is an error of an expression in a row.
type Failure struct {
	Position
	Err error
}

// Error returns the error without its place.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error.
func (f *Failure) Unwrap() error { return f.Err }

// FailedAt gives an error the place of the expression that has it, unless it has one.
func FailedAt(at Position, err error) error {
	if _, has := errors.AsType[*Failure](err); has || err == nil || at.Line == 0 {
		return err
	}
	return &Failure{at, err}
}
