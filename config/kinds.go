package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
)

// Kinds are what a program offers to its configurations.
type Kinds struct {
	Formats []report.Format   // of files; the first is the default
	Sinks   []report.SinkKind // places of files
	Sources kind.Sources      // of listeners; the first is the default
	Records []kind.Records    // databases of the records
	Actions []kind.Action     // of timers
}

// RecordsIn returns the kind of databases of a name, if they can have the table of the records.
func (k Kinds) RecordsIn(name string) (kind.Records, bool) {
	i := slices.IndexFunc(k.Records, func(of kind.Records) bool { return of.Name == name })
	if i < 0 {
		return kind.Records{}, false
	}
	return k.Records[i], true
}

// language returns the language of a configuration that can choose these kinds.
func (k Kinds) language() decode.Language {
	l := language
	l.Kinds = map[string][]decode.Kind{}
	var names []string
	for _, s := range k.Sources {
		l.Kinds["source"] = append(l.Kinds["source"], decode.Kind{Name: s.Name, Fields: s.Fields})
		if s.DSN != nil {
			names = append(names, s.DSN.Form)
		}
	}
	l.Forms = maps.Clone(l.Forms)
	l.Forms["dsn"] = k.badDSN
	l.Remedies = map[string]string{"dsn": "Write " + strings.Join(names, " or ")}
	for _, f := range k.Formats {
		l.Kinds["format"] = append(l.Kinds["format"], decode.Kind{Name: f.Name, Fields: f.Fields})
	}
	for _, s := range k.Sinks {
		l.Kinds["sink"] = append(l.Kinds["sink"], decode.Kind{Name: s.Scheme, Fields: s.Fields})
	}
	for _, a := range k.Actions {
		l.Kinds["action"] = append(l.Kinds["action"], decode.Kind{Name: a.Name, Doc: a.Doc, Fields: a.Fields})
	}
	l.Types = maps.Clone(l.Types)
	l.Types[reflect.TypeFor[report.SinkURL]()] = textOf(k.ParseSink)
	return l
}

// Undecided returns the own fields of kinds that hold a text and have the name of a secret, such as token, but
// neither of the tags secret and open.
func (k Kinds) Undecided() (all []string) {
	l := k.language()
	for _, table := range l.Kinds {
		for _, k := range table {
			if k.Fields != nil {
				all = append(all, decode.Undecided(l, reflect.TypeOf(k.Fields()).Elem())...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ParseSink reads the URL of a sink, and ignores slashes at the end.
func (k Kinds) ParseSink(text string) (report.SinkURL, *report.Mistake) {
	var schemes []string
	for _, s := range k.Sinks {
		schemes = append(schemes, s.Scheme+"://")
		if !strings.HasPrefix(text, s.Scheme+"://") {
			continue
		}
		url, wrong := s.Parse(text)
		if wrong == "" {
			return url, nil
		}
		return "", &report.Mistake{Message: wrong, Remedy: "Write " + s.Form}
	}
	return "", &report.Mistake{Message: decode.NoneOf(schemes), Remedy: k.sinkRemedy()}
}

// SinkForms returns the forms of URLs of sinks, for people.
func (k Kinds) SinkForms() string {
	var forms []string
	for _, s := range k.Sinks {
		forms = append(forms, s.Form)
	}
	return anyOf(forms)
}

// anyOf joins choices for people.
func anyOf(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

func (k Kinds) sinkRemedy() string { return "Write " + k.SinkForms() }
