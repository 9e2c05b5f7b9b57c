package report

import (
	"slices"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// JSONPath is the path to one value in a JSON document, by RFC 9535, with names and
// indexes only, such as $.user['first name'] or $.rows[0]. The zero JSONPath finds nothing;
// $ finds the whole document.
type JSONPath struct {
	text  string
	steps []JSONStep
}

// JSONStep is a segment of a path: the name of an object's member, or the index of an
// array's element.
type JSONStep struct {
	Name  string
	Index int // from 0; -1 if the step is a name
}

// badPath returns the mistake of a path.
func badPath(why string) *Mistake {
	return &Mistake{"not a path to one value" + why,
		"Write names and indexes from 0, such as $.user.id, $.rows[0] or $['first name']"}
}

// ParseJSONPath reads a path. It rejects paths that can find more than one value, and
// indexes from the end of an array. The mistake is nil if there is none.
func ParseJSONPath(text string) (JSONPath, *Mistake) {
	path, err := jsonpath.Parse(text)
	if err != nil {
		return JSONPath{}, badPath(": " + strings.TrimPrefix(err.Error(), "jsonpath: "))
	}
	query := path.Query()
	if query.Singular() == nil {
		return JSONPath{}, badPath("")
	}
	p := JSONPath{text: text, steps: []JSONStep{}}
	for _, segment := range query.Segments() {
		switch s := segment.Selectors()[0].(type) {
		case spec.Name:
			p.steps = append(p.steps, JSONStep{Name: string(s), Index: -1})
		case spec.Index:
			if s < 0 {
				return JSONPath{}, badPath(": an index from the end")
			}
			p.steps = append(p.steps, JSONStep{Index: int(s)})
		default:
			return JSONPath{}, badPath("")
		}
	}
	return p, nil
}

// String returns the path as written; empty for the zero JSONPath.
func (p JSONPath) String() string { return p.text }

// Equal reports whether both have the same text.
func (p JSONPath) Equal(other JSONPath) bool { return p.text == other.text }

// MarshalText returns the path as written.
func (p JSONPath) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// Given reports whether this is not the zero JSONPath.
func (p JSONPath) Given() bool { return p.steps != nil }

// Steps returns the segments of the path. Do not change them.
func (p JSONPath) Steps() []JSONStep { return p.steps }

// Overlaps reports whether one path is equal to the other or a prefix of it.
func (p JSONPath) Overlaps(other JSONPath) bool {
	n := min(len(p.steps), len(other.steps))
	return p.Given() && other.Given() && slices.Equal(p.steps[:n], other.steps[:n])
}

// Find returns the value in a document that encoding/json has decoded into an any, or
// false if the value does not exist.
func (p JSONPath) Find(document any) (any, bool) {
	if !p.Given() {
		return nil, false
	}
	for _, s := range p.steps {
		switch in := document.(type) {
		case map[string]any:
			value, ok := in[s.Name]
			if !ok || s.Index >= 0 {
				return nil, false
			}
			document = value
		case []any:
			if s.Index < 0 || s.Index >= len(in) {
				return nil, false
			}
			document = in[s.Index]
		default:
			return nil, false
		}
	}
	return document, true
}
