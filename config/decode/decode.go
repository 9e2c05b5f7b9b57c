package decode

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// decoder fills structs with what a Reader reads.
type decoder struct{ *Reader }

// decodeStruct reads a mapping or its short form, or sets the defaults if p is not given.
func (r decoder) decodeStruct(p Setting, v reflect.Value) {
	fields := targets(Fields(v.Type()), v)
	for _, f := range r.Choices(v.Type()) {
		fields = append(fields, target{f, reflect.New(f.Type).Elem()})
	}
	own, others := r.ownFields(p, v)
	if own.IsValid() {
		fields = append(fields, targets(Fields(own.Type()), own)...)
	}
	for _, f := range fields {
		r.setDefault(f.Field, f.value)
	}
	if others != nil && own.IsValid() {
		fields = fields[:len(fields)-len(Fields(own.Type()))]
	}
	if d, ok := v.Addr().Interface().(interface{ SetDefaults() }); ok {
		d.SetDefaults()
	}
	s := Section{Setting: p, wrong: map[string]bool{}}
	short := slices.IndexFunc(fields, func(f target) bool { return f.Is("short") })
	long := slices.ContainsFunc(fields, func(f target) bool { return f.Name != "" })
	switch {
	case !p.Given():
	case short >= 0 && (p.isScalar() || !long):
		f := fields[short]
		s.fields = map[string]Setting{f.Name: p}
		s.note(f.Name, func() { r.decode(p, f.value, f.Tag) })
		fields = nil
	case p.IsText() && len(fields) == 1 && fields[0].Is("need"):
		remedy := fields[0].Tag.Get("need")
		if r.means(p, fields[0].Field) {
			remedy = fmt.Sprintf("Write %s: {%s: %s}", p.path[strings.LastIndexByte(p.path, '.')+1:],
				fields[0].Name, p.Node.Value)
		}
		p.Problem("not a mapping", remedy)
		fields = nil
	default:
		s.read(fields, others)
	}
	for _, f := range fields {
		s.note(f.Name, func() { r.decodeField(s, f.Field, f.value) })
	}
	if _, index, ok := KindsOf(v.Type(), "choice"); ok {
		for _, f := range slices.Backward(fields) {
			if f.Index == nil && !f.value.IsNil() {
				v.FieldByIndex(index).Set(f.value)
			}
		}
	}
	r.sections[v.Addr().Interface()] = s
	if own.IsValid() {
		r.sections[own.Addr().Interface()] = s
	}
}

// means reports whether the text of p can be the value of a field.
func (r decoder) means(p Setting, f Field) bool {
	if p.secret || f.Is("secret") || f.Type == secretType {
		return false
	}
	_, wrong := r.parse(p.Node.Value, f.Type, f.Tag)
	return wrong == nil
}

// target is a field with its value in the struct that is read.
type target struct {
	Field
	value reflect.Value
}

// targets returns the values of fields of v.
func targets(fields []Field, v reflect.Value) []target {
	all := make([]target, len(fields))
	for i, f := range fields {
		all[i] = target{f, v.FieldByIndex(f.Index)}
	}
	return all
}

// ownFields makes the struct for the own fields of the kind that a mapping chooses, or of the
// first kind. The result is not valid if the kind has none. If the mapping chooses a kind that does not exist, others
// are the own fields of all kinds: any of them may be meant.
func (r decoder) ownFields(p Setting, v reflect.Value) (own reflect.Value, others []Field) {
	table, index, ok := KindsOf(v.Type(), "of")
	if !ok || len(r.Kinds[table]) == 0 {
		return own, nil
	}
	kind := r.Kinds[table][0]
	for _, f := range Fields(v.Type()) {
		if f.Tag.Get("kinds") != table {
			continue
		}
		text, given := r.quietly(p, f)
		for _, k := range r.Kinds[table] {
			if text == k.Name || strings.HasPrefix(text, k.Name+"://") {
				kind, given = k, false
			}
			if k.Fields != nil {
				others = append(others, Fields(reflect.TypeOf(k.Fields()).Elem())...)
			}
		}
		if !given {
			others = nil
		}
	}
	if kind.Fields == nil {
		return own, others
	}
	pointer := reflect.ValueOf(kind.Fields())
	v.FieldByIndex(index).Set(pointer)
	return pointer.Elem(), others
}

// quietly returns the text of a field of a mapping, or of its short form, and whether it is given, without recording a
// mistake: that is recorded with the other fields.
func (r decoder) quietly(p Setting, f Field) (text string, given bool) {
	if !p.Given() {
		return "", false
	}
	quiet := quietly(p)
	at := find(quiet, f.Name)
	if p.Node.Kind != yaml.MappingNode && f.Is("short") {
		at = quiet
	}
	if !at.Given() || at.IsNull() {
		return "", false
	}
	text, _ = at.Text()
	return text, true
}

// decodeField reads a field of a mapping into v.
func (r decoder) decodeField(s Section, f Field, v reflect.Value) {
	if f.Is("raw") {
		return
	}
	at, inFile := s.Get(f.Name), f.Tag.Get("file")
	at.secret = at.secret || f.Is("secret") || f.Type == secretType
	file := fileName{s.Get(inFile)}
	if at.secret {
		file = file.hidden()
	}
	switch null := s.Raw(f.Name); {
	case isOptional(f.Type) && null.IsNull() && null.Node.Value != "":
		null.Problem("YAML reads this as null, not as a text", fmt.Sprintf("Write %s: %q", f.Name, null.Node.Value))
	case inFile != "" && file.Given() && at.Given():
		file.Problem("both "+f.Name+" and "+inFile+" are set", "Remove one of them")
	case inFile != "" && file.Given() && !at.secret:
		if inside, ok := file.text(); ok {
			s.fields[f.Name] = inside // the place of problems with the value
			r.set(inside, v, inside.Node.Value, f.Tag)
		}
	case inFile != "" && file.Given():
		if text, ok := file.content(); ok {
			r.set(file.Setting, v, text, f.Tag)
		}
	case at.Given() && f.Type.Kind() == reflect.Map:
		r.decodeMap(s, at, f, v)
	case at.Given():
		r.decode(at, v, f.Tag)
	case f.Is("need") && r.partial && f.Is("included"): // it may be in a file that could not be read
	case f.Is("need"):
		remedy := r.remedy(f.Tag)
		if inFile != "" {
			remedy += ", or name a file that contains it in " + inFile
		}
		s.Missing(f.Name, remedy)
	}
	if !at.Given() && r.IsMapping(f.Type) {
		r.decodeStruct(at, v)
	}
}

// decode reads a value into v, as its type and tag define.
func (r decoder) decode(p Setting, v reflect.Value, tag reflect.StructTag) {
	switch t := v.Type(); {
	case t == settingType:
		v.Set(reflect.ValueOf(p))
	case t == contentType:
		if text, ok := (fileName{p}).hidden().content(); ok {
			v.SetString(text)
		}
	case isOptional(t):
		if text, ok := p.Text(); ok {
			v.Set(reflect.New(t.Elem()))
			r.set(p, v.Elem(), text, tag)
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

// remedy returns the remedy of a missing field.
func (l Language) remedy(tag reflect.StructTag) string {
	return cmp.Or(l.Remedies[tag.Get("form")], tag.Get("need"))
}

// isOptional reports whether a type is a pointer to a text.
func isOptional(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.String
}

// set parses a text into v.
func (r decoder) set(p Setting, v reflect.Value, text string, tag reflect.StructTag) {
	value, wrong := r.parse(text, v.Type(), tag)
	if wrong != nil {
		p.Problem(wrong.Message, cmp.Or(wrong.Remedy, r.remedy(tag)))
		return
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
}

// decodeSlice reads a list, or a mapping into structs that have a key.
func (r decoder) decodeSlice(p Setting, v reflect.Value, tag reflect.StructTag) {
	before := len(r.problems)
	var items []Setting
	var entries []Entry
	_, one := tag.Lookup("one")
	switch _, keyed := Key(v.Type().Elem()); {
	case keyed:
		entries, _ = p.Entries()
		for _, e := range entries {
			items = append(items, e.Value)
		}
	case one && p.IsText():
		items = []Setting{p}
	default:
		items, _ = p.List()
	}
	v.Grow(len(items)) // items must not move: see Of
	for i, item := range items {
		n := v.Len()
		v.SetLen(n + 1)
		r.decode(item, v.Index(n), tag)
		if entries != nil && !r.fits(entries[i], v.Index(n)) {
			v.Index(n).SetZero()
			v.SetLen(n)
		}
	}
	r.checkSize(p, len(items), before, tag)
}

// decodeMap reads a mapping of single values with free names.
func (r decoder) decodeMap(s Section, p Setting, f Field, v reflect.Value) {
	before := len(r.problems)
	entries, _ := p.Entries()
	for _, e := range entries {
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		value := reflect.New(v.Type().Elem()).Elem()
		name := f.Name + "." + e.Name
		s.fields[name] = e.Value
		s.note(name, func() { r.decode(e.Value, value, f.Tag) })
		v.SetMapIndex(reflect.ValueOf(e.Name), value)
	}
	r.checkSize(p, len(entries), before, f.Tag)
}

// checkSize rejects an empty list or mapping that must not be empty.
func (r decoder) checkSize(p Setting, size, before int, tag reflect.StructTag) {
	if tag.Get("min") == "1" && size == 0 && len(r.problems) == before {
		p.Problem("empty", cmp.Or(tag.Get("need"), tag.Get("why"), "Add at least one, or remove the field"))
	}
}

// fits sets the name of a struct, and reports whether the name has the right form.
func (r decoder) fits(e Entry, v reflect.Value) bool {
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
	if e.Key.secret { // the name may be part of a secret
		e.Key.path = e.parent
	}
	e.Key.Problem(wrong.Message, wrong.Remedy)
	return false
}
