// Package form answers one question: how does a person give the parameters of a report?
//
// A form has a field for each parameter, which begins with its default or with the value of an earlier record. Read
// reads what the person has sent; the fields keep it, and say what is wrong with it.
package form

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Sent is what a form has, by the names of parameters. The values of a list are lines.
type Sent struct {
	Typed map[string]string
	Wrong map[string]report.ParameterMistake
}

// minutes is what browsers send for a datetime without seconds.
var minutes = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d$`)

// Read reads the fields p.NAME of a form. A list has one value per line, or several values. An empty field means
// that the parameter is not given. The parameters are for a record; they are nil if something is wrong.
func Read(of *report.Report, fields url.Values, now time.Time) (parameters []byte, sent Sent) {
	sent = Sent{map[string]string{}, map[string]report.ParameterMistake{}}
	given := map[string]json.RawMessage{}
	for _, p := range of.Parameters {
		text := strings.ReplaceAll(strings.Join(fields["p."+p.Name], "\n"), "\r\n", "\n")
		if p.Type == report.ParamDatetime && minutes.MatchString(text) {
			text += ":00"
		}
		sent.Typed[p.Name] = text
		texts := []string{text}
		if p.List {
			texts = strings.Split(strings.TrimSpace(text), "\n")
		}
		if text == "" {
			continue
		}
		given[p.Name] = p.FromTexts(texts)
	}
	values, wrong := of.Check(given, now)
	for _, m := range wrong {
		sent.Wrong[m.Name] = m
	}
	if len(wrong) > 0 {
		return nil, sent
	}
	return report.EncodeBound(values), sent
}

// Of returns the form of the parameters of a record, or of the defaults where it has none.
func Of(of *report.Report, parameters []byte) Sent {
	sent := Sent{Typed: map[string]string{}}
	given, _ := report.ParameterFields(parameters)
	for _, p := range of.Parameters {
		raw, ok := given[p.Name]
		if !ok && p.Default != nil {
			raw = json.RawMessage(*p.Default)
		}
		var items []json.RawMessage
		if !p.List || json.Unmarshal(raw, &items) != nil {
			items = []json.RawMessage{raw}
		}
		var lines []string
		for _, item := range items {
			lines = append(lines, text(item))
		}
		sent.Typed[p.Name] = strings.Join(lines, "\n")
	}
	return sent
}

// text returns a JSON value as a person types it.
func text(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil { // null, too
		return text
	}
	return string(raw)
}

// Field is the field of a parameter.
type Field struct {
	report.Parameter
	ID      string // of the element, unique in the page
	Typed   string
	Mistake *report.ParameterMistake // nil: nothing is wrong
}

// Fields returns the fields of a form. Their ids begin with a prefix.
func (s Sent) Fields(of *report.Report, prefix string) (all []Field) {
	for _, p := range of.Parameters {
		f := Field{Parameter: p, ID: prefix + p.Name, Typed: s.Typed[p.Name]}
		if m, ok := s.Wrong[p.Name]; ok {
			f.Mistake = &m
		}
		all = append(all, f)
	}
	return all
}

// Choices are the values of a parameter with options; those of a boolean are true and false.
func (f Field) Choices() []string {
	if f.Type == report.ParamBoolean && !f.List {
		return []string{"true", "false"}
	}
	return f.Options
}

// Chosen reports whether the field has a value.
func (f Field) Chosen(value string) bool { return slices.Contains(strings.Split(f.Typed, "\n"), value) }
