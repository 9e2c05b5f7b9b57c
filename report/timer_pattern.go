package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// placeholder matches a placeholder of patterns and templates. Other braces, such as
// those of JSON, are text.
var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Pattern is the pattern of the names of a timer, such as send_message-{user}-{type}.
// A {name} matches one character or more, but no -. The last one matches any
// characters, up to the text after it.
type Pattern struct {
	text   string
	prefix string
	names  []string
	form   *regexp.Regexp
}

// ParsePattern reads a pattern. The mistake is nil if there is none.
func ParsePattern(text string) (Pattern, *Mistake) {
	wrong := func(format string, values ...any) *Mistake {
		return &Mistake{"not a valid pattern: " + fmt.Sprintf(format, values...),
			"Write a pattern such as send_message-{user}-{type}"}
	}
	p := Pattern{text: text}
	at := placeholder.FindAllStringSubmatchIndex(text, -1)
	var form strings.Builder
	form.WriteString(`\A`)
	end := 0
	for i, m := range at {
		literal, name := text[end:m[0]], text[m[2]:m[3]]
		switch {
		case i == 0:
			p.prefix = literal
		case literal == "":
			return p, wrong("no text between {%s} and {%s}", p.names[i-1], name)
		}
		if slices.Contains(p.names, name) {
			return p, wrong("{%s} occurs twice", name)
		}
		p.names = append(p.names, name)
		form.WriteString(regexp.QuoteMeta(literal))
		if i < len(at)-1 {
			form.WriteString(`([^-]+)`)
		} else {
			form.WriteString(`(.+)`)
		}
		end = m[1]
	}
	if len(at) == 0 {
		p.prefix = text
	}
	form.WriteString(regexp.QuoteMeta(text[end:]) + `\z`)
	literals := placeholder.ReplaceAllString(text, "")
	switch {
	case text == "":
		return p, wrong("it is empty")
	case strings.ContainsAny(literals, "{}"):
		return p, wrong("a brace is not part of a {name}")
	case strings.ContainsFunc(literals, func(r rune) bool { return r <= ' ' || r > '~' }) || len(literals) > 200:
		return p, wrong("its text must be at most 200 printable ASCII characters without spaces")
	}
	p.form = regexp.MustCompile(form.String())
	return p, nil
}

// Prefix is the text before the first {name}.
func (p Pattern) Prefix() string { return p.prefix }

// String returns the pattern as written.
func (p Pattern) String() string { return p.text }

// Names returns the names in braces, in order.
func (p Pattern) Names() []string { return p.names }

// Equal reports whether both have the same text.
func (p Pattern) Equal(other Pattern) bool { return p.text == other.text }

// Match returns the values in a name, or false if the name does not match.
func (p Pattern) Match(name string) (map[string]string, bool) {
	if p.form == nil {
		return nil, false
	}
	found := p.form.FindStringSubmatch(name)
	if found == nil {
		return nil, false
	}
	values := make(map[string]string, len(p.names))
	for i, n := range p.names {
		values[n] = found[i+1]
	}
	return values, true
}
