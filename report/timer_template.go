package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Template is a text with {name} for values. It may hold a secret, and prints as
// "***".
type Template struct{ text Secret }

// NewTemplate makes a template of a text.
func NewTemplate(text string) Template { return Template{Secret(text)} }

// String hides the text.
func (t Template) String() string { return t.text.String() }

// GoString hides the text from %#v.
func (t Template) GoString() string { return t.text.GoString() }

// Equal tells whether both have the same text.
func (t Template) Equal(other Template) bool { return t == other }

// Reveal returns the text, for checks.
func (t Template) Reveal() string { return t.text.Reveal() }

// Empty tells whether there is no text.
func (t Template) Empty() bool { return t.text == "" }

// Names are those that the template uses.
func (t Template) Names() []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(t.text.Reveal(), -1) {
		names = append(names, m[1])
	}
	return names
}

// Fill puts the values in, each as escape gives it back; nil changes nothing.
func (t Template) Fill(values map[string]string, escape func(string) string) string {
	return placeholder.ReplaceAllStringFunc(t.text.Reveal(), func(m string) string {
		value := values[m[1:len(m)-1]]
		if escape != nil {
			value = escape(value)
		}
		return value
	})
}

// ErrValue is matched by the error for a value that cannot go where it belongs.
var ErrValue = errors.New("report: a value that cannot be used here")

// BadURL tells what is wrong with the template of a URL; empty: nothing. Values must
// not decide where a request goes.
func (t Template) BadURL() string {
	text := t.text.Reveal()
	u, err := url.Parse(placeholder.ReplaceAllString(text, "x"))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "not a URL that begins with http:// or https:// and a host"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "a URL with #, which is never sent"
	}
	_, rest, _ := strings.Cut(text, "://")
	host := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host = rest[:i]
	}
	if placeholder.MatchString(host) {
		return "a value in the host of a URL"
	}
	return ""
}

// FillURL puts the values into a URL: escaped for its path or its query.
func (t Template) FillURL(values map[string]string) (string, error) {
	path, query, has := strings.Cut(t.text.Reveal(), "?")
	var wrong error
	text := NewTemplate(path).Fill(values, func(v string) string {
		// A server, or a proxy that decodes %2F, would take these for a way to another place.
		if hasDots(v) {
			wrong = fmt.Errorf("%w: %q in the path of a URL", ErrValue, v)
		}
		return url.PathEscape(v)
	})
	if has {
		text += "?" + NewTemplate(query).Fill(values, url.QueryEscape)
	}
	return text, wrong
}

// FillBody puts the values into a body of this content type: escaped for JSON
// and for forms, otherwise as they are.
func (t Template) FillBody(values map[string]string, contentType string) string {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	switch kind = strings.TrimSpace(kind); {
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return t.Fill(values, jsonEscape)
	case kind == "application/x-www-form-urlencoded":
		return t.Fill(values, url.QueryEscape)
	}
	return t.Fill(values, nil)
}

// jsonEscape gives what stands between the quotes of a JSON string.
func jsonEscape(value string) string {
	b, err := json.Marshal(value)
	if err != nil {
		return "" // a string can always be marshalled
	}
	return string(b[1 : len(b)-1])
}
