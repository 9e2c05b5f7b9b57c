package decode

import (
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/report"
)

// included reads the files that the field with the tag include names, and returns their mappings.
func (r *Reader) included(top Setting, fields []Field) []Setting {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Is("include") })
	if i < 0 {
		return nil
	}
	// The decoder records mistakes of the field itself.
	at := find(quietly(top), fields[i].Name)
	patterns := []Setting{at}
	if at.Given() && at.Node.Kind == yaml.SequenceNode {
		patterns, _ = at.List()
	}
	var parts []Setting
	seen := map[string]bool{}
	for _, p := range patterns {
		if !p.IsText() {
			continue
		}
		pattern, ok := p.Text()
		p.r = r
		for _, file := range (fileName{p}).files(pattern, ok) {
			if path := file.from.path(file.Node.Value); !seen[path] {
				seen[path] = true
				if part, ok := file.mapping(may(fields)); ok {
					parts = append(parts, part)
				}
			}
		}
	}
	return parts
}

// may returns the names of the fields that an included file may have.
func may(fields []Field) []string {
	var names []string
	for _, f := range fields {
		if f.Is("included") {
			names = append(names, f.Name)
		}
	}
	return names
}

// files returns the names of the files that match a pattern, without the file that has it.
func (p fileName) files(pattern string, ok bool) []fileName {
	var found []fileName
	if !ok {
		return nil
	}
	paths, main := []string{p.from.path(pattern)}, p.from.name
	isMain := func(path string) bool {
		return path == filepath.Base(main) || filepath.IsAbs(path) && path == filepath.Clean(main)
	}
	if strings.ContainsAny(pattern, `*?[`) {
		matching, err := p.r.env.Glob(paths[0])
		if err != nil {
			p.Problem("not a valid pattern", `Close every [ by a ], or write \[ for a [`)
			return nil
		}
		paths = slices.DeleteFunc(matching, isMain)
	}
	switch {
	case len(paths) == 0:
		p.Problem("no file matches", "Correct it, or add such a file; a relative pattern is relative to the folder of this file")
	case isMain(paths[0]):
		p.Problem("the file includes itself", "Remove it")
		return nil
	}
	for _, path := range paths {
		node := *p.Node
		node.Value = path // messages show it
		file := p
		file.Node = &node
		found = append(found, file)
	}
	return found
}

// mapping reads an included file.
func (p fileName) mapping(may []string) (Setting, bool) {
	begin := "Begin with " + strings.Join(may[:len(may)-1], ", ") + " or " + may[len(may)-1]
	data, ok := p.read(p.Node.Value, "Name a file that has "+report.Listing(may))
	if !ok {
		return p.Setting, false
	}
	part, ok := p.r.readYAML(p.below(p.Node.Value), data, begin)
	if ok && part.Node.Kind != yaml.MappingNode {
		part.Hidden().Problem("not a mapping", begin)
		ok = false
	}
	return part, ok
}

// join adds the fields of an included file.
func (s *Section) join(part Setting, fields []target, meant map[string]Setting) {
	all := make([]Field, len(fields))
	for i, f := range fields {
		all[i] = f.Field
	}
	allowed := may(all)
	entries, _ := part.Entries()
	for _, e := range entries {
		known := slices.ContainsFunc(all, func(f Field) bool { return f.Name == e.Name })
		have, given := s.fields[e.Name]
		switch {
		case known && !slices.Contains(allowed, e.Name):
			e.Key.Hidden().Problem("not allowed in an included file",
				"Move it to "+s.from.name+"; the fields here are "+report.Listing(allowed))
		case !known:
			s.unknown(e, allowed, meant)
		case e.Value.IsNull():
		case !given || have.IsNull():
			s.fields[e.Name] = e.Value
		default:
			have.more = append(slices.Clip(have.more), e.Value)
			s.fields[e.Name] = have
		}
	}
}
