package process

// Kind is what the user must correct. Errors of a kind match it with errors.Is.
type Kind string

const (
	ErrConfig      Kind = "the configuration or the command line is wrong"
	ErrUnreachable Kind = "a server cannot be reached or refuses the login"
)

func (k Kind) Error() string { return string(k) }

// of gives an error a kind. Its text stays as it is.
func (k Kind) of(err error) error { return kindOf{err, k} }

type kindOf struct {
	error
	kind Kind
}

func (k kindOf) Unwrap() error { return k.error }

func (k kindOf) Is(target error) bool { return target == k.kind }
