// Package fault answers: what does an error mean for its caller? A kind leaves the text of an error as
// it is, and decides the exit code of a command, the status of an answer, or whether a task is retried.
package fault

import (
	"errors"
	"fmt"
)

// Kind is a reason for errors. An error of a kind matches it with errors.Is.
type Kind string

const (
	Input       Kind = "the request or the command line is not valid"
	Config      Kind = "the configuration is not valid"
	NotFound    Kind = "it does not exist"
	Refused     Kind = "its state does not allow it"
	Gone        Kind = "it was deleted"
	JobFailed   Kind = "the job failed"
	Unreachable Kind = "a server cannot be reached or refuses the login"
	Login       Kind = "the server answers and refuses the account"
	Denied      Kind = "the account lacks a grant"
	Unproved    Kind = "the server does not prove that connections see the same rows"
	Underivable Kind = "the server runs a query and does not derive its collations"
)

// Error implements error.
func (k Kind) Error() string { return string(k) }

// Of gives an error a kind. Of(nil) is nil.
func (k Kind) Of(err error) error {
	if err == nil {
		return nil
	}
	return &fault{err, k}
}

// New returns an error of a kind, with a text as fmt.Errorf makes it.
func (k Kind) New(format string, args ...any) error { return k.Of(fmt.Errorf(format, args...)) }

// KindOf returns the outermost kind of an error, or an empty text.
func KindOf(err error) Kind {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.kind
	}
	return ""
}

type fault struct {
	error
	kind Kind
}

func (f *fault) Unwrap() error { return f.error }

func (f *fault) Is(target error) bool { return target == f.kind }
