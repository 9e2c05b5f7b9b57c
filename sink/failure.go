package sink

import "fmt"

// failure is an error with one sentence for people as its text, and the errors that it matches.
type failure struct {
	text string
	as   []error
}

// Failure returns an error with this text, which matches other errors.
func Failure(text string, as ...error) error { return &failure{text, as} }

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return f.as }

// Refused makes an error match ErrRefused. Its text stays.
func Refused(err error) error { return Failure(err.Error(), ErrRefused, err) }

// Taken is the error of a commit to a place where something else exists. ErrConflict matches it.
func Taken(place, what string) error {
	return Failure(fmt.Sprintf("%s is taken: %s lies there and was not changed", place, what), ErrConflict)
}
