package report

import (
	"net/url"
	"strings"
)

// Template is a text with {name} for values. It may contain a secret, so it prints as
// "***".
type Template struct{ text Secret }

// NewTemplate returns a template.
func NewTemplate(text string) Template { return Template{Secret(text)} }

// String hides the text.
func (t Template) String() string { return t.text.String() }

// GoString hides the text from %#v.
func (t Template) GoString() string { return t.text.GoString() }

// Equal reports whether both have the same text.
func (t Template) Equal(other Template) bool { return t == other }

// Reveal returns the text, for checks.
func (t Template) Reveal() string { return t.text.Reveal() }

// Empty reports whether there is no text.
func (t Template) Empty() bool { return t.text == "" }

// Names returns the names that the template uses.
func (t Template) Names() []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(t.text.Reveal(), -1) {
		names = append(names, m[1])
	}
	return names
}

// Fill returns the text with the values, after escape, if it is not nil.
func (t Template) Fill(values map[string]string, escape func(string) string) string {
	return placeholder.ReplaceAllStringFunc(t.text.Reveal(), func(m string) string {
		value := values[m[1:len(m)-1]]
		if escape != nil {
			value = escape(value)
		}
		return value
	})
}

// BadURL returns what is wrong with the template of a URL, or an empty text. The host
// cannot depend on values.
func (t Template) BadURL() string {
	text := t.text.Reveal()
	u, err := url.Parse(placeholder.ReplaceAllString(text, "x"))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "not a URL that begins with http:// or https:// and a host"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "the URL has a #, and what follows it is never sent"
	}
	_, rest, _ := strings.Cut(text, "://")
	host := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host = rest[:i]
	}
	if placeholder.MatchString(host) {
		return "the host cannot contain a {name}"
	}
	return ""
}
