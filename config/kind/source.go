package kind

import (
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Source is a kind of source.
type Source struct {
	Name string // value of a listener's kind
	report.Words
	// Field is the field of a listener that names its database or API; empty: it has none.
	Field string
	// DSN reads the data source names of its databases; nil: it has no databases.
	DSN *DSN
	// Init reads its databases for a first configuration; nil: fanfold init cannot.
	Init *Init
	// Fields returns a pointer to a new struct with the tags of config/decode: a listener's own
	// fields, which become its Own. Their JSON is part of the definition's hash. Kinds whose
	// listeners have the same fields return the same type.
	Fields func() any
	// Read validates the own fields of a listener, and records the problems.
	Read func(l *Listener)
}

// DSN reads the data source names of a kind. They are secrets: no mistake shows a part of one that may
// be a password.
type DSN struct {
	// Schemes begin them, before ://. The kind without schemes has those that begin with no scheme.
	Schemes []string
	Form    string // without a password, for remedies
	Full    string // the form with a password
	// Check returns what is wrong with a name. Without a remedy, it has the form of no kind.
	Check func(dsn string) *report.Mistake
	// Warn returns what has no effect in a valid name; nil: nothing.
	Warn func(dsn string) *report.Mistake
	// Account returns the user of a name, and whether it has a password; nil: no name has a user.
	Account func(dsn string) (user string, password bool)
	// AddPassword adds the password to a name that has a user and no password.
	AddPassword func(dsn, password string) string
	// Measured: its servers say how busy they are, and can have replicas.
	Measured bool
	// SetsTLS reports whether a name says itself how to use TLS; nil: there is no TLS.
	SetsTLS func(dsn string) bool
}

// reads reports whether a kind reads names with this scheme; empty: without any.
func (d *DSN) reads(scheme string) bool {
	if d == nil || len(d.Schemes) == 0 {
		return d != nil && scheme == ""
	}
	for _, s := range d.Schemes {
		if s == scheme {
			return true
		}
	}
	return false
}

// Sources are the kinds that a program has. The first is that of listeners that name none.
type Sources []Source

// Of returns the kind of a name.
func (ss Sources) Of(name string) (Source, bool) {
	for _, s := range ss {
		if s.Name == name {
			return s, true
		}
	}
	return Source{}, false
}

// OfAPIs returns the kind whose connections are the entries of apis.
func (ss Sources) OfAPIs() (Source, bool) {
	for _, s := range ss {
		if s.Field != "" && s.DSN == nil {
			return s, true
		}
	}
	return Source{}, false
}

// DSNForms lists the forms of data source names, for people.
func (ss Sources) DSNForms() string {
	var forms []string
	for _, s := range ss {
		if s.DSN != nil && s.DSN.Full != "" {
			forms = append(forms, s.DSN.Full)
		}
	}
	return strings.Join(forms, " or ")
}

// OfDSN returns the kind that reads a data source name: that of its scheme, or for a name without a
// known scheme the kind without schemes.
func (ss Sources) OfDSN(dsn string) (Source, bool) {
	scheme, _, _ := strings.Cut(dsn, "://")
	if len(scheme) == len(dsn) {
		scheme = ""
	}
	for _, scheme := range []string{scheme, ""} {
		for _, s := range ss {
			if s.DSN.reads(scheme) {
				return s, true
			}
		}
	}
	return Source{}, false
}
