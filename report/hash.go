package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Hash returns 12 hexadecimal digits that change whenever the result of the report can
// change: with its parameters, listeners, queries, join and file. Timeouts, the
// place in the file and the order of the parameters do not change it. Of a database only
// the name and time zone count, so moving it to another host, or reading its replica, does not change the hash. The
// JSON tags of Join, File and the fields of the kinds decide what of them counts. config/hash_test.go holds what does
// not change a hash, with the table in docs/reference/configuration.md.
func (r *Report) Hash() string {
	definition := struct {
		Name       string
		Parameters []Parameter
		TimeZone   string `json:",omitempty"`
		Stages     [][]hashed
		Fold       string `json:",omitempty"`
		Join       Join
		File       File
	}{Name: r.Name, Parameters: sorted(r.Parameters), Fold: r.Fold, Join: r.Join, File: r.File}
	if r.TimeZone != "UTC" { // which is the default
		definition.TimeZone = r.TimeZone
	}
	for _, s := range r.Stages {
		var listeners []hashed
		for _, l := range s.Listeners {
			listeners = append(listeners, hashed{l.Name, l.Kind, DatabaseOf(l.Source), l.Own, l.Columns, l.Optional,
				l.Values, l.Types, l.Zone})
		}
		definition.Stages = append(definition.Stages, listeners)
	}
	return hashOf(definition)
}

// hashed is what counts of a listener.
type hashed struct {
	Name, Kind, Source string
	Own                any `json:",omitempty"`
	Columns            []string
	Optional           bool              `json:",omitempty"`
	Values             map[string]string `json:",omitempty"`
	Types              []Kind            `json:",omitempty"`
	Zone               string            `json:",omitempty"`
}

// ListenerHash returns 12 hexadecimal digits that change whenever the rows of a listener can change for the same
// values of the parameters: with its own part of the definition, the declared parameters, and the listeners that must
// be done before it.
func ListenerHash(r *Report, l *Listener) string {
	definition := struct {
		Parameters []Parameter
		TimeZone   string
		Listener   hashed
		Divide     *Divide
		From       *Ref
		Needs      []string
	}{
		Parameters: sorted(r.Parameters), TimeZone: r.TimeZone, From: l.From,
		Listener: hashed{
			Name: l.Name, Kind: l.Kind, Source: DatabaseOf(l.Source), Own: l.Own, Columns: l.Columns,
			Types: l.Types, Zone: l.Zone,
		},
	}
	if l.Divide != nil {
		divide := *l.Divide
		divide.Line = 0
		definition.Divide = &divide
	}
	_, stage, _ := r.Listener(l.Name)
	for _, name := range l.Needs() {
		if before, earlier, ok := r.Listener(name); ok && earlier < stage {
			name += " " + ListenerHash(r, before)
		}
		definition.Needs = append(definition.Needs, name)
	}
	return hashOf(definition)
}

// sorted returns parameters in the order of their names.
func sorted(parameters []Parameter) []Parameter {
	parameters = slices.Clone(parameters)
	slices.SortFunc(parameters, func(a, b Parameter) int { return cmp.Compare(a.Name, b.Name) })
	return parameters
}

func hashOf(definition any) string {
	text, err := json.Marshal(definition)
	if err != nil {
		panic(fmt.Sprintf("encode a definition: %v", err)) // plain values only: it cannot fail
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:12]
}
