package config

import (
	"maps"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// Kinds are what a program offers to its configurations. In every table, the first is the default.
type Kinds struct {
	Formats []report.Format // of files
	Sources kind.Sources    // of listeners
}

// language returns the language of a configuration that can choose these kinds.
func (k Kinds) language() decode.Language {
	l := language
	l.Kinds = map[string][]decode.Kind{}
	for _, s := range k.Sources {
		l.Kinds["source"] = append(l.Kinds["source"], decode.Kind{Name: s.Name, Fields: s.Fields})
	}
	l.Forms = maps.Clone(l.Forms)
	l.Forms["dsn"] = k.badDSN
	for _, f := range k.Formats {
		l.Kinds["format"] = append(l.Kinds["format"], decode.Kind{Name: f.Name, Fields: f.Fields})
	}
	return l
}
