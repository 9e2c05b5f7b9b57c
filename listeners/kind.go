package listeners

import (
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// Kind is a kind of source: its package, and one line in cmd/fanfold/kinds, or an argument of command.Main in a
// program of your own.
type Kind struct {
	kind.Source
	// OpenDatabase opens a database whose data source name the kind reads. It does no I/O.
	OpenDatabase func(d report.Database) (Connection, error)
	// OpenAPI opens an entry of apis; prefix is that of the keys of this installation. It does no I/O.
	OpenAPI func(api report.API, prefix string) (Connection, error)
}

// Names returns what no two kinds share, for people.
func (k Kind) Names() []string {
	names := []string{"source " + k.Name}
	if k.DSN != nil && len(k.DSN.Schemes) == 0 {
		names = append(names, "DSNs of no scheme")
	} else if k.DSN != nil {
		for _, scheme := range k.DSN.Schemes {
			names = append(names, "DSNs of "+scheme+"://")
		}
	}
	return names
}

// Kinds are the kinds of sources that a program has.
type Kinds []Kind

// Config returns what the configuration needs to know of the kinds.
func (ks Kinds) Config() kind.Sources {
	all := make(kind.Sources, len(ks))
	for i, k := range ks {
		all[i] = k.Source
	}
	return all
}

// Of returns the kind of a name.
func (ks Kinds) Of(name string) (Kind, bool) {
	for _, k := range ks {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}
