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
	type listener struct {
		Name, Kind, Source string
		Own                any `json:",omitempty"`
		Columns            []string
		Optional           bool              `json:",omitempty"`
		Values             map[string]string `json:",omitempty"`
		Types              []Kind            `json:",omitempty"`
		Zone               string            `json:",omitempty"`
	}
	definition := struct {
		Name       string
		Parameters []Parameter
		TimeZone   string `json:",omitempty"`
		Stages     [][]listener
		Fold       string `json:",omitempty"`
		Join       Join
		File       File
	}{Name: r.Name, Parameters: slices.Clone(r.Parameters), Fold: r.Fold, Join: r.Join, File: r.File}
	if r.TimeZone != "UTC" { // which is the default
		definition.TimeZone = r.TimeZone
	}
	slices.SortFunc(definition.Parameters, func(a, b Parameter) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range r.Stages {
		var listeners []listener
		for _, l := range s.Listeners {
			listeners = append(listeners, listener{l.Name, l.Kind, DatabaseOf(l.Source), l.Own, l.Columns, l.Optional,
				l.Values, l.Types, l.Zone})
		}
		definition.Stages = append(definition.Stages, listeners)
	}
	text, err := json.Marshal(definition)
	if err != nil {
		panic(fmt.Sprintf("encode a definition: %v", err)) // plain values only: it cannot fail
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:12]
}
