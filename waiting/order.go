package waiting

import (
	"encoding/json"
	"html/template"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/languages"
	"github.com/fanfold/fanfold/web/link"
)

// maxItems is the maximum number of values of a list that a page shows.
const maxItems = 20

// ordered is a parameter of a record.
type ordered struct{ Name, Value string }

// order returns the parameters of a record that its report describes, because a description is for people: a
// parameter that only services need has none. It leaves out those that are empty.
func order(in *languages.Language, parameters []byte, of *report.Report) (all []ordered) {
	if of == nil {
		return nil
	}
	given, err := report.ParameterFields(parameters)
	if err != nil {
		return nil
	}
	for _, p := range of.Parameters {
		raw, ok := given[p.Name]
		if !ok && p.Default != nil {
			raw = json.RawMessage(*p.Default)
		}
		if text := plainValue(in, raw); p.Description != "" && text != "" {
			all = append(all, ordered{p.Description, text})
		}
	}
	return all
}

// plainValue returns the JSON of a value as people write it; empty: none.
func plainValue(in *languages.Language, raw json.RawMessage) string {
	var text string
	var items []json.RawMessage
	switch {
	case json.Unmarshal(raw, &text) == nil: // null, too
		return report.Shorten(text)
	case json.Unmarshal(raw, &items) == nil:
		var texts []string
		for _, item := range items[:min(len(items), maxItems)] {
			texts = append(texts, plainValue(in, item))
		}
		if len(items) > maxItems {
			texts = append(texts, "…")
		}
		return in.List(texts)
	default:
		return report.Shorten(string(raw))
	}
}

// Time returns an element with a time, for the template.
func (v view) Time(t time.Time) template.HTML { return link.Time(v.In, t) }

// SayTime returns the text of a key with the element of a time, for the template.
func (v view) SayTime(key string, t time.Time) template.HTML { return link.SayTime(v.In, key, t) }
