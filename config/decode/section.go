package decode

import (
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/report"
)

// Section is what the decoder knows of a mapping: where its fields are.
type Section struct {
	Setting                    // of the mapping as a whole
	fields  map[string]Setting // that are given; nil if there is no mapping
	wrong   map[string]bool    // fields with a problem
}

// Of returns what the decoder knows of a struct that it has read. The argument is a
// pointer to it, in its place in what Decode has filled.
func (r *Reader) Of(fields any) Section { return r.sections[fields] }

// note runs what decodes a field, and notes whether that finds a problem.
func (s Section) note(name string, decode func()) {
	before := len(s.r.problems)
	decode()
	s.wrong[name] = len(s.r.problems) > before
}

// Raw returns a field even if its value is null.
func (s Section) Raw(name string) Setting {
	if v, ok := s.fields[name]; ok {
		return v
	}
	return s.Get(name)
}

// Get returns a field, or the gap where it could be. An entry of a mapping with free names
// is field.name.
func (s Section) Get(name string) Setting {
	if v, ok := s.fields[name]; ok && !v.IsNull() {
		return v
	}
	gap := s.Setting
	gap.Node, gap.path = nil, child(s.path, name)
	return gap
}

// Has tells whether a field is given and right.
func (s Section) Has(name string) bool { return s.Get(name).Given() && !s.wrong[name] }

// Wrong tells whether one of these fields has a problem; without names, any field.
func (s Section) Wrong(names ...string) bool {
	for name, wrong := range s.wrong {
		if wrong && (len(names) == 0 || slices.Contains(names, name)) {
			return true
		}
	}
	return false
}

// Readable tells whether there is a mapping, or a short form of it.
func (s Section) Readable() bool { return s.fields != nil }

// Present returns those of these fields that the file has.
func (s Section) Present(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !s.Get(name).Given() })
}

// First returns the first of these fields that the file has, or the gap of the last one.
func (s Section) First(names ...string) (found Setting) {
	for _, name := range names {
		if found = s.Get(name); found.Given() {
			break
		}
	}
	return found
}

// Missing notes that a field is needed, unless the mapping itself is wrong.
func (s Section) Missing(name, remedy string) {
	if s.fields != nil {
		s.Get(name).Problem("missing", remedy)
	}
}

// read notes where the fields of a mapping are, and refuses unknown ones.
func (s *Section) read(fields []Field) {
	var known []string
	for _, f := range fields {
		for _, name := range []string{f.Name, f.Tag.Get("file")} {
			if name != "" {
				known = append(known, name)
			}
		}
	}
	entries, ok := s.Entries()
	if !ok {
		return
	}
	s.fields = map[string]Setting{}
	meant := map[string]Setting{} // the value of a misspelt field, by the field's name
	for _, e := range entries {
		if slices.Contains(known, e.Name) {
			e.Value.secret = false // the field says whether it is secret
			s.fields[e.Name] = e.Value
			continue
		}
		// The name is shown, the value is not: it may be the secret whose name was
		// misspelt. A piece of a secret that an unquoted comma made a name is shown only
		// if it is near a field's name.
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
	for name, value := range meant {
		// A field that is misspelt is not missing as well.
		if _, given := s.fields[name]; !given {
			s.fields[name] = value
		}
	}
}
