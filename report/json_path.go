package report

import (
	"slices"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// JSONPath leads to one value in a JSON document: a path of RFC 9535 of names and
// indexes, such as $.user['first name'] or $.rows[0]. The zero JSONPath leads nowhere;
// one that is just $ leads to the document itself.
type JSONPath struct {
	text  string
	steps []JSONStep
}

// JSONStep is a part of a path: the name of an object's member, or the index of an
// array's element.
type JSONStep struct {
	Name  string
	Index int // from 0; -1 where the step is a name
}

// badPath is what is wrong with a path.
func badPath(why string) *Mistake {
	return &Mistake{"not a path to one value" + why, "Write names and indexes from 0, such as $.user.id, $.rows[0] or $['first name']"}
}

// ParseJSONPath reads a path. What can find more than one value is refused, and so is
// an index from the end of an array. The mistake is nil if there is none.
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

// String is the path as it was written; empty for the zero JSONPath.
func (p JSONPath) String() string { return p.text }

// Equal tells whether both were written alike.
func (p JSONPath) Equal(other JSONPath) bool { return p.text == other.text }

// MarshalText gives the path as it was written.
func (p JSONPath) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// Given tells whether this is a path at all.
func (p JSONPath) Given() bool { return p.steps != nil }

// Steps are the parts of the path, which must not be changed.
func (p JSONPath) Steps() []JSONStep { return p.steps }

// Overlaps tells whether one leads to the other, or into it.
func (p JSONPath) Overlaps(other JSONPath) bool {
	n := min(len(p.steps), len(other.steps))
	return p.Given() && other.Given() && slices.Equal(p.steps[:n], other.steps[:n])
}

// Find looks in a document as encoding/json decodes it into an any. False where it
// leads nowhere.
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
