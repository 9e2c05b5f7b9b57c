package config

import (
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// Kinds are what a program offers to its configurations. In every table, the first is the default.
type Kinds struct {
	Formats []report.Format // of files
}

// language returns the language of a configuration that can choose these kinds.
func (k Kinds) language() decode.Language {
	l := language
	l.Kinds = map[string][]decode.Kind{}
	for _, f := range k.Formats {
		l.Kinds["format"] = append(l.Kinds["format"], decode.Kind{Name: f.Name, Fields: f.Fields})
	}
	return l
}
