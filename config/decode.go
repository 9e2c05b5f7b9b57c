package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

var (
	settingType = reflect.TypeFor[setting]()
	sectionType = reflect.TypeFor[section]()
	contentType = reflect.TypeFor[content]()
	secretType  = reflect.TypeFor[report.Secret]()
)

// field is a field of a struct that the file can set.
type field struct {
	name  string // in the file; empty: only a short form sets it
	index []int
	typ   reflect.Type
	tag   reflect.StructTag
	kind  string // of the listeners that have it; empty: all
}

func (f field) is(tag string) bool {
	_, ok := f.tag.Lookup(tag)
	return ok
}

// fieldsOf returns the fields of a struct and of those that it embeds, in their order.
func fieldsOf(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		s := t.Field(i)
		if s.Anonymous && s.Type != sectionType {
			for _, f := range fieldsOf(s.Type) {
				f.index, f.kind = append([]int{i}, f.index...), cmp.Or(f.kind, s.Tag.Get("kind"))
				all = append(all, f)
			}
		}
		f := field{name: s.Tag.Get("yaml"), index: []int{i}, typ: s.Type, tag: s.Tag}
		if f.name != "" || f.is("short") {
			all = append(all, f)
		}
	}
	return all
}

// keyIn returns the field of an entry that takes its name; false: t is not an entry.
func keyIn(t reflect.Type) (f reflect.StructField, ok bool) {
	if t.Kind() != reflect.Struct {
		return f, false
	}
	for _, f := range reflect.VisibleFields(t) {
		if _, ok := f.Tag.Lookup("key"); ok {
			return f, true
		}
	}
	return f, false
}

// setDefault sets the value that a field has if the file leaves it out.
func (f field) setDefault(v reflect.Value) {
	text, ok := f.tag.Lookup("default")
	if !ok {
		return
	}
	value, wrong := parse(text, f.typ, f.tag)
	if wrong != nil {
		panic(fmt.Sprintf("config: default of %s: %v", f.name, wrong)) // a test decodes every struct
	}
	v.Set(reflect.ValueOf(value).Convert(f.typ))
}

// decodeStruct reads a mapping, or the short form of one. In a gap it sets the defaults.
func (p setting) decodeStruct(v reflect.Value) {
	fields := fieldsOf(v.Type())
	for _, f := range fields {
		f.setDefault(v.FieldByIndex(f.index))
	}
	if d, ok := v.Addr().Interface().(interface{ setDefaults() }); ok {
		d.setDefaults()
	}
	s := section{setting: p, wrong: map[string]bool{}}
	short := slices.IndexFunc(fields, func(f field) bool { return f.is("short") })
	long := slices.ContainsFunc(fields, func(f field) bool { return f.name != "" })
	note := func(f field, decode func(reflect.Value)) {
		before := len(p.problems)
		decode(v.FieldByIndex(f.index))
		s.wrong[f.name] = len(p.problems) > before
	}
	switch {
	case !p.given():
	case short >= 0 && (p.isScalar() || !long):
		f := fields[short]
		s.fields = map[string]setting{f.name: p}
		note(f, func(to reflect.Value) { p.decode(to, f.tag) })
		fields = nil
	default:
		fields = s.ofKind(v, fields)
	}
	for _, f := range fields {
		note(f, func(to reflect.Value) { s.decode(f, to) })
	}
	if to, ok := v.Addr().Interface().(interface{ self() *section }); ok {
		*to.self() = s
	}
}

// ofKind reads where the fields are, and returns those that a listener of its kind has.
func (s *section) ofKind(v reflect.Value, fields []field) []field {
	kind := ""
	if i := slices.IndexFunc(fields, func(f field) bool { return f.name == "kind" }); i >= 0 && s.node.Kind == yaml.MappingNode {
		of := v.FieldByIndex(fields[i].index)
		for n := 0; n+1 < len(s.node.Content); n += 2 {
			if s.node.Content[n].Value == "kind" {
				s.reading.at(s.node.Content[n+1], child(s.path, "kind")).decode(of, fields[i].tag)
			}
		}
		kind = of.String()
		fields = slices.DeleteFunc(fields, func(f field) bool { return f.kind != "" && f.kind != kind })
	}
	var known []string
	for _, f := range fields {
		if f.name != "" {
			known = append(known, f.name)
		}
		if file := f.tag.Get("file"); file != "" {
			known = append(known, file)
		}
	}
	s.read(known)
	if kind != "" { // it has been decoded
		fields = slices.DeleteFunc(fields, func(f field) bool { return f.name == "kind" })
	}
	return fields
}

// decode reads a field of the mapping into v.
func (s section) decode(f field, v reflect.Value) {
	at := s.get(f.name)
	at.secret = at.secret || f.is("secret") || f.typ == secretType
	if f.typ == settingType { // null is a value
		if raw, ok := s.fields[f.name]; ok {
			v.Set(reflect.ValueOf(raw))
		}
		return
	}
	file := s.get(f.tag.Get("file")).fileName()
	switch {
	case f.is("file") && file.given() && at.given():
		file.problem("both "+f.name+" and "+f.tag.Get("file"), "Remove one of them")
	case f.is("file") && file.given():
		if text, ok := file.content(); ok {
			file.set(v, text, f.tag)
		}
	case at.given():
		at.decode(v, f.tag)
	case f.is("need"):
		remedy := f.tag.Get("need")
		if f.is("file") {
			remedy += ", or name a file that holds it in " + f.tag.Get("file")
		}
		s.missing(f.name, remedy)
	}
	if !at.given() && isSection(f.typ) {
		at.decodeStruct(v)
	}
}

// isSection tells whether a type is that of a mapping, and not of a single value.
func isSection(t reflect.Type) bool {
	_, single := types[t]
	return t.Kind() == reflect.Struct && !single
}

// decode reads a value into v as the tag says.
func (p setting) decode(v reflect.Value, tag reflect.StructTag) {
	switch t := v.Type(); {
	case t == settingType:
		v.Set(reflect.ValueOf(p))
	case t == contentType:
		if text, ok := p.fileName().content(); ok {
			v.SetString(text)
		}
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		p.decodeStruct(v.Elem())
	case isSection(t):
		p.decodeStruct(v)
	case t.Kind() == reflect.Slice:
		p.decodeSlice(v, tag)
	default:
		if text, ok := p.text(); ok {
			p.set(v, text, tag)
		}
	}
}

// set parses a text into v.
func (p setting) set(v reflect.Value, text string, tag reflect.StructTag) {
	value, wrong := parse(text, v.Type(), tag)
	if wrong != nil {
		p.problem(wrong.Message, cmp.Or(wrong.Remedy, tag.Get("need")))
		return
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
}

// decodeSlice reads a list, or a mapping into structs that have a key.
func (p setting) decodeSlice(v reflect.Value, tag reflect.StructTag) {
	before, size := len(p.problems), 0
	add := func(at setting, name *entry) {
		e := reflect.New(v.Type().Elem()).Elem()
		at.decode(e, tag)
		size++
		if name == nil || name.fits(e) {
			v.Set(reflect.Append(v, e))
		}
	}
	_, one := tag.Lookup("one")
	switch _, keyed := keyIn(v.Type().Elem()); {
	case keyed:
		entries, _ := p.entries()
		for _, e := range entries {
			add(e.value, &e)
		}
	case one && p.isText():
		add(p, nil)
	default:
		items, _ := p.list()
		for _, item := range items {
			add(item, nil)
		}
	}
	if tag.Get("min") == "1" && size == 0 && len(p.problems) == before {
		p.problem("empty", cmp.Or(tag.Get("need"), tag.Get("why"), "Name at least one, or leave it out"))
	}
}

// fits gives a struct its name in the file, if that has the right form.
func (e entry) fits(v reflect.Value) bool {
	f, _ := keyIn(v.Type())
	v.FieldByIndex(f.Index).SetString(e.name)
	form, ok := forms[f.Tag.Get("key")]
	if !ok {
		return true
	}
	wrong := form(e.name)
	if wrong == nil {
		return true
	}
	if e.key.secret { // the name may be a piece of a secret
		e.key.path = e.parent
	}
	e.key.problem(wrong.Message, wrong.Remedy)
	return false
}
