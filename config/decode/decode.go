package decode

import (
	"cmp"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v4"
)

// decodeStruct reads a mapping, or the short form of one. In a gap it sets the defaults.
func (r *Reader) decodeStruct(p Setting, v reflect.Value) {
	fields := Fields(v.Type())
	for _, f := range fields {
		r.setDefault(f, v.FieldByIndex(f.Index))
	}
	if d, ok := v.Addr().Interface().(interface{ SetDefaults() }); ok {
		d.SetDefaults()
	}
	s := Section{Setting: p, wrong: map[string]bool{}}
	note := func(f Field, decode func(reflect.Value)) {
		before := len(r.problems)
		decode(v.FieldByIndex(f.Index))
		s.wrong[f.Name] = len(r.problems) > before
	}
	short := slices.IndexFunc(fields, func(f Field) bool { return f.Is("short") })
	long := slices.ContainsFunc(fields, func(f Field) bool { return f.Name != "" })
	switch {
	case !p.Given():
	case short >= 0 && (p.isScalar() || !long):
		f := fields[short]
		s.fields = map[string]Setting{f.Name: p}
		note(f, func(to reflect.Value) { r.decode(p, to, f.Tag) })
		fields = nil
	default:
		fields = r.ofKind(p, v, fields)
		s.read(fields)
	}
	for _, f := range fields {
		note(f, func(to reflect.Value) { r.decodeField(s, f, to) })
	}
	if to, ok := v.Addr().Interface().(interface{ self() *Section }); ok {
		*to.self() = s
	}
}

// ofKind returns the fields that a mapping of its kind has.
func (r *Reader) ofKind(p Setting, v reflect.Value, fields []Field) []Field {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == "kind" })
	if i < 0 {
		return fields
	}
	kind := v.FieldByIndex(fields[i].Index).String() // the default
	for n := 0; p.Node.Kind == yaml.MappingNode && n+1 < len(p.Node.Content); n += 2 {
		if value := p.Node.Content[n+1]; p.Node.Content[n].Value == "kind" {
			quiet := NewReader("", r.env, r.Language) // a mistake is noted with the other fields
			if text, ok := quiet.at(value, "").Text(); ok && slices.ContainsFunc(fields, func(f Field) bool { return f.Kind == text }) {
				kind = text
			}
		}
	}
	return slices.DeleteFunc(fields, func(f Field) bool { return f.Kind != "" && f.Kind != kind })
}

// decodeField reads a field of a mapping into v.
func (r *Reader) decodeField(s Section, f Field, v reflect.Value) {
	if f.Type == settingType { // null is a value
		if raw, ok := s.fields[f.Name]; ok {
			v.Set(reflect.ValueOf(raw))
		}
		return
	}
	at, inFile := s.Get(f.Name), f.Tag.Get("file")
	at.secret = at.secret || f.Is("secret") || f.Type == secretType
	file := s.Get(inFile).fileName()
	switch {
	case inFile != "" && file.Given() && at.Given():
		file.Problem("both "+f.Name+" and "+inFile, "Remove one of them")
	case inFile != "" && file.Given():
		if text, ok := file.content(); ok {
			r.set(file, v, text, f.Tag)
		}
	case at.Given():
		r.decode(at, v, f.Tag)
	case f.Is("need"):
		remedy := f.Tag.Get("need")
		if inFile != "" {
			remedy += ", or name a file that holds it in " + inFile
		}
		s.Missing(f.Name, remedy)
	}
	if !at.Given() && r.IsMapping(f.Type) {
		r.decodeStruct(at, v)
	}
}

// decode reads a value into v as the tag says.
func (r *Reader) decode(p Setting, v reflect.Value, tag reflect.StructTag) {
	switch t := v.Type(); {
	case t == settingType:
		v.Set(reflect.ValueOf(p))
	case t == contentType:
		if text, ok := p.fileName().content(); ok {
			v.SetString(text)
		}
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		r.decodeStruct(p, v.Elem())
	case r.IsMapping(t):
		r.decodeStruct(p, v)
	case t.Kind() == reflect.Slice:
		r.decodeSlice(p, v, tag)
	default:
		if text, ok := p.Text(); ok {
			r.set(p, v, text, tag)
		}
	}
}

// set parses a text into v.
func (r *Reader) set(p Setting, v reflect.Value, text string, tag reflect.StructTag) {
	value, wrong := r.parse(text, v.Type(), tag)
	if wrong != nil {
		p.Problem(wrong.Message, cmp.Or(wrong.Remedy, tag.Get("need")))
		return
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
}

// decodeSlice reads a list, or a mapping into structs that have a key.
func (r *Reader) decodeSlice(p Setting, v reflect.Value, tag reflect.StructTag) {
	before, size := len(r.problems), 0
	add := func(at Setting, as *Entry) {
		e := reflect.New(v.Type().Elem()).Elem()
		r.decode(at, e, tag)
		size++
		if as == nil || r.fits(*as, e) {
			v.Set(reflect.Append(v, e))
		}
	}
	_, one := tag.Lookup("one")
	switch _, keyed := Key(v.Type().Elem()); {
	case keyed:
		entries, _ := p.Entries()
		for _, e := range entries {
			add(e.Value, &e)
		}
	case one && p.IsText():
		add(p, nil)
	default:
		items, _ := p.List()
		for _, item := range items {
			add(item, nil)
		}
	}
	if tag.Get("min") == "1" && size == 0 && len(r.problems) == before {
		p.Problem("empty", cmp.Or(tag.Get("need"), tag.Get("why"), "Name at least one, or leave it out"))
	}
}

// fits gives a struct its name in the file, if that has the right form.
func (r *Reader) fits(e Entry, v reflect.Value) bool {
	f, _ := Key(v.Type())
	v.FieldByIndex(f.Index).SetString(e.Name)
	form, ok := r.Forms[f.Tag.Get("key")]
	if !ok {
		return true
	}
	wrong := form(e.Name)
	if wrong == nil {
		return true
	}
	if e.Key.secret { // the name may be a piece of a secret
		e.Key.path = e.parent
	}
	e.Key.Problem(wrong.Message, wrong.Remedy)
	return false
}
