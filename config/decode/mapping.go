package decode

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// Entry is a value of a mapping with its key.
type Entry struct {
	Name       string
	Key, Value Setting
	parent     string // path of the mapping
}

// Entries returns the entries of a mapping in the file's order, and after them those that it merges
// with the key <<. Null is an empty mapping.
func (p Setting) Entries() ([]Entry, bool) {
	all, _, ok := entries(p)
	return all, ok
}

// entries returns the entries of a mapping and of what included files add to it, and the number of keys
// with a problem.
func entries(p Setting) (all []Entry, wrong int, ok bool) {
	first := map[string]Entry{}
	for _, part := range append([]Setting{p}, p.more...) {
		part.secret = part.secret || p.secret
		if !part.IsNull() && part.Node.Kind != yaml.MappingNode {
			part.Problem("not a mapping", "Write fields with their values: {name: value}")
			return all, wrong, false
		}
		m := mapping{given: map[string]bool{}, merged: map[*yaml.Node]bool{}}
		m.add(part)
		wrong += m.wrong
		for _, e := range m.found {
			if was, twice := first[e.Name]; twice {
				wrong++
				e.Key.path = e.parent
				e.Key.Problem("given twice, first "+e.Key.PlaceOf(was.Key), "Remove one of them")
				continue
			}
			first[e.Name] = e
			all = append(all, e)
		}
	}
	return all, wrong, true
}

// mapping collects the entries of a mapping.
type mapping struct {
	found  []Entry
	given  map[string]bool     // names of found
	wrong  int                 // keys with a problem
	merged map[*yaml.Node]bool // what was added; true: not all of it yet. A second time, it would add nothing
}

// add adds the entries of p, and then those that it merges, without the names that are given
// already.
func (m *mapping) add(p Setting) {
	if _, again := m.merged[p.Node]; again || p.IsNull() {
		return
	}
	m.merged[p.Node] = true
	defer func() { m.merged[p.Node] = false }()
	first := map[string]Setting{}
	var merges []Entry
	for i := 0; i+1 < len(p.Node.Content); i += 2 {
		key := beside(p, p.Node.Content[i], p.path)
		key.secret = p.secret
		if !key.isScalar() {
			m.wrong++
			key.Problem("the key is not a plain text", "")
			continue
		}
		name, merge := key.Node.Value, key.Node.Tag == "!!merge"
		if was, twice := first[name]; twice {
			m.wrong++
			remedy := "Remove one of them"
			if merge {
				remedy = "Write one list: <<: [*one, *another]"
			}
			key.Problem("given twice, first "+key.PlaceOf(was), remedy)
			continue
		}
		first[name] = key
		value := beside(p, p.Node.Content[i+1], child(p.path, name))
		value.secret = p.secret
		if merge {
			value.path = p.path
			merges = append(merges, Entry{name, key, value, p.path})
			continue
		}
		key.path = value.path
		if !value.IsText() {
			// Point to the name, not to the block after it.
			value.Line, value.column = key.Line, key.column
		}
		if !m.given[name] {
			m.given[name] = true
			m.found = append(m.found, Entry{name, key, value, p.path})
		}
	}
	for _, e := range merges {
		m.merge(e)
	}
}

// merge adds the entries of the value of a merge key: a mapping, or a list of mappings.
func (m *mapping) merge(e Entry) {
	from := []Setting{e.Value}
	if e.Value.Node.Kind == yaml.SequenceNode {
		from, _ = e.Value.List()
	}
	for _, p := range from {
		if p.Node.Kind != yaml.MappingNode {
			m.wrong++
			// The value may be a secret.
			e.Key.Problem("neither a mapping nor a list of mappings",
				"Write <<: *NAME, and &NAME before the mapping with the fields")
			return
		} else if m.merged[p.Node] {
			m.wrong++
			e.Key.Problem("the mapping merges itself", "Remove it")
			return
		}
		p.path = e.parent
		m.add(p)
	}
}

// quietly returns p with a Reader that keeps no problems.
func quietly(p Setting) Setting {
	p.r = NewReader("", p.r.env, p.r.Language)
	p.more = slices.Clone(p.more)
	for i := range p.more {
		p.more[i].r = p.r
	}
	return p
}

// find returns a field of a mapping, or a Setting that is not given.
func find(p Setting, name string) Setting {
	if p.Given() && p.Node.Kind == yaml.MappingNode {
		entries, _ := p.Entries()
		for _, e := range entries {
			if e.Name == name {
				return e.Value
			}
		}
	}
	return Setting{r: p.r, from: p.from}
}

func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Size returns the number of entries of a mapping, those with a problem included, or of items of a list.
func (p Setting) Size() int {
	switch {
	case p.Node == nil:
		return 0
	case p.Node.Kind == yaml.MappingNode:
		all, wrong, _ := entries(quietly(p))
		return len(all) + wrong
	}
	return len(p.Node.Content)
}
