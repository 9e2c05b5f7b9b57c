package decode

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/report"
)

// Section is a mapping with the places of its fields.
type Section struct {
	Setting                    // of the whole mapping
	fields  map[string]Setting // fields that the file has; nil if there is no mapping
	wrong   map[string]bool    // fields with a problem
}

// Of returns the Section of a struct. The argument is a pointer to the struct inside the
// one that Decode filled.
func (r *Reader) Of(fields any) Section { return r.sections[fields] }

// note calls decode for a field, and records whether that finds a problem.
func (s Section) note(name string, decode func()) {
	before := len(s.r.problems)
	decode()
	s.wrong[name] = len(s.r.problems) > before
}

// File returns the name of the file that has the mapping, as messages show it.
func (s Section) File() string { return s.from.name }

// Raw returns a field even if its value is null.
func (s Section) Raw(name string) Setting {
	if v, ok := s.fields[name]; ok {
		return v
	}
	return s.Get(name)
}

// Get returns a field. If the file does not have it, Given is false. The name of an entry
// of a mapping with free names is field.name.
func (s Section) Get(name string) Setting {
	if v, ok := s.fields[name]; ok && !v.IsNull() {
		return v
	}
	gap := s.Setting
	gap.Node, gap.more, gap.path = nil, nil, child(s.path, name)
	return gap
}

// Has reports whether a field is given and has no problem.
func (s Section) Has(name string) bool { return s.Get(name).Given() && !s.wrong[name] }

// Wrong reports whether one of these fields has a problem; without names, any field.
func (s Section) Wrong(names ...string) bool {
	for name, wrong := range s.wrong {
		if wrong && (len(names) == 0 || slices.Contains(names, name)) {
			return true
		}
	}
	return false
}

// Readable reports whether there is a mapping, or its short form.
func (s Section) Readable() bool { return s.fields != nil }

// Present returns the fields that the file has.
func (s Section) Present(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !s.Get(name).Given() })
}

// First returns the first field that the file has, or else the last one, with Given false.
func (s Section) First(names ...string) (found Setting) {
	for _, name := range names {
		if found = s.Get(name); found.Given() {
			break
		}
	}
	return found
}

// Missing records that a required field is missing, unless the whole mapping is wrong.
func (s Section) Missing(name, remedy string) {
	if s.fields != nil {
		s.Get(name).Problem("missing", remedy)
	}
}

// Refers reports whether a field names one of known, and records the problem if not. what are they, in
// the plural.
func (s Section) Refers(field, name, what string, known []string) bool {
	if at := s.Get(field); !at.Given() {
		s.Missing(field, "Name one of "+what+": "+report.Listing(known))
		// if none are known, there is a problem for that already
	} else if !s.Wrong(field) && !slices.Contains(known, name) && len(known) > 0 {
		at.Problem("no such "+strings.TrimSuffix(what, "s"), report.DidYouMean(name, known))
	} else {
		return true
	}
	return false
}

// read records the places of the fields of a mapping, and rejects unknown fields. Others are known, too.
func (s *Section) read(fields []target, others []Field) {
	var known []string
	for _, f := range others {
		fields = append(fields, target{Field: f})
	}
	for _, f := range fields {
		for _, name := range []string{f.Name, f.Tag.Get("file")} {
			if name != "" && !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
	}
	parts := s.more
	s.more = nil // join adds them to the fields
	entries, ok := s.Entries()
	if !ok {
		return
	}
	s.fields = map[string]Setting{}
	meant := map[string]Setting{} // the value of a misspelt field, by the field's name
	var before, cut string        // the field before, and the last one with such a problem
	for _, e := range entries {
		switch {
		case slices.Contains(known, e.Name):
			e.Value.secret = false // the field says whether it is secret
			s.fields[e.Name] = e.Value
			before = e.Name
		case !s.cuts(s.fields[before], e) || report.Nearest(e.Name, known) != "":
			s.unknown(e, known, meant)
		default:
			whole := s.fields[before]
			if cut != before {
				e.Key.secret, e.Key.path, cut = true, whole.path, before
				e.Key.Problem("the value ends at the comma before this", "Put quotes around the whole value")
			}
			node := *whole.Node
			node.Value += ", " + e.Name
			whole.Node, whole.secret = &node, true
			s.fields[before] = whole
		}
	}
	for _, part := range parts {
		s.join(part, fields, meant)
	}
	for name, value := range meant {
		// A misspelt field is not reported as missing, too.
		if _, given := s.fields[name]; !given {
			s.fields[name] = value
		}
	}
}

// cuts reports whether a name without a value is the rest of the words before, after a comma: {a: one two, three}.
func (s *Section) cuts(before Setting, e Entry) bool {
	return before.IsText() && before.Node.Style == 0 && strings.Contains(before.Node.Value, " ") && e.Value.IsNull() &&
		e.Value.Node.Value == "" && s.Node.Style&yaml.FlowStyle != 0
}

// unknown rejects a field, and notes its value under the name of the field that it may mean.
func (s *Section) unknown(e Entry, known []string, meant map[string]Setting) {
	// The message shows the name, but not the value, which may be a secret under a
	// misspelt name. If an unquoted comma turned part of a secret into a name, the
	// message shows it only if it is similar to the name of a field.
	e.Key.secret = true
	near := report.Nearest(e.Name, known)
	remedy := "The fields are " + report.Listing(known)
	switch {
	case near != "":
		remedy = fmt.Sprintf("Did you mean %q? ", near) + remedy
		e.Value.secret = false
		meant[near] = e.Value
	case s.secret:
		e.Key.path = s.path
		remedy += ". Put quotes around a value that has commas"
	}
	e.Key.Problem("unknown field", remedy)
}
