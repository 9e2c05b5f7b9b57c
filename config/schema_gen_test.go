package config

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// schema makes a JSON schema of the tags.
type schema struct {
	t     *testing.T
	texts map[string]string
	defs  map[string]any
}

type object = map[string]any

var link = regexp.MustCompile(`\[([^][]+)\]\([^()]+\)`)

// unlinked is a meaning without its links, which an editor would show as they are written.
func unlinked(meaning string) string { return link.ReplaceAllString(meaning, "$1") }

// expandable is a text in which a variable stands.
var expandable = object{"type": "string", "pattern": `\$\{`}

func (s *schema) of(t reflect.Type, tag reflect.StructTag) any {
	pattern := func(text string) any { return object{"type": "string", "pattern": text + `|\$\{`} }
	_, raw := tag.Lookup("raw")
	const durations = `^\+?([0-9.]+(ns|us|µs|μs|ms|s|m|h))+$`
	switch {
	case t == reflect.TypeFor[decode.Setting](), raw:
		return true
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem(), tag)
	case TestKinds.language().IsMapping(t):
		return s.ref(t)
	case t.Kind() == reflect.Slice:
		return s.list(t, tag)
	case t.Kind() == reflect.Map:
		return named(s.of(t.Elem(), ""), tag)
	case t == reflect.TypeFor[time.Duration]():
		return pattern(durations)
	case t == reflect.TypeFor[report.Every]():
		return pattern(durations + `|^[1-9][0-9]{0,3}(d|w|mo)$`)
	case t == reflect.TypeFor[report.Cron]():
		return pattern(`^\s*(\S+\s+){4}\S+\s*$`)
	case t == reflect.TypeFor[report.Rate]():
		return pattern(report.RateForm)
	case t == reflect.TypeFor[report.SinkURL]():
		var schemes []string
		for _, kind := range TestKinds.Sinks {
			schemes = append(schemes, kind.Scheme)
		}
		return pattern(`^(` + strings.Join(schemes, "|") + `)://`)
	case t == reflect.TypeFor[report.JSONPath]():
		return pattern(`^\$`)
	}
	if words := TestKinds.language().WordsOf(t, tag); words != nil {
		enum := []any{}
		for _, w := range words {
			enum = append(enum, w.File)
			if w.File == "true" || w.File == "false" {
				enum = append(enum, w.File == "true")
			}
		}
		return object{"anyOf": []any{object{"enum": enum}, expandable}}
	}
	if t.Kind() == reflect.Int || t.Kind() == reflect.Int64 {
		form := `^[+-]?[0-9]+$`
		if tag.Get("unit") == "bytes" {
			form = `^[0-9]{1,13} ?([KkMmGg][Bb])?$`
		}
		return object{"anyOf": []any{
			object{"type": "integer", "minimum": decode.Number(tag.Get("min")), "maximum": decode.Number(tag.Get("max"))}, pattern(form),
		}}
	}
	return object{"type": []any{"string", "number", "boolean"}}
}

// list is the schema of a list, or of a mapping with free names.
func (s *schema) list(t reflect.Type, tag reflect.StructTag) any {
	items := s.of(t.Elem(), "")
	list := object{"type": "array", "items": items}
	if _, keyed := decode.Key(t.Elem()); keyed {
		return named(items, tag)
	}
	if tag.Get("min") != "" {
		list["minItems"] = 1
	}
	if _, one := tag.Lookup("one"); one {
		return object{"anyOf": []any{items, list}}
	}
	return list
}

// named is the schema of a mapping with free names.
func named(items any, tag reflect.StructTag) any {
	mapping := object{"type": "object", "additionalProperties": items}
	if tag.Get("min") != "" {
		mapping["minProperties"] = 1
	}
	return mapping
}

// ref makes a definition of a struct.
func (s *schema) ref(t reflect.Type) any {
	name := t.String()
	ref := object{"$ref": "#/$defs/" + name}
	if _, ok := s.defs[name]; ok {
		return ref
	}
	s.defs[name] = nil
	if table, _, ok := decode.KindsOf(t); ok {
		s.defs[name] = s.chooses(name, t, table)
		return ref
	}
	s.defs[name] = s.mapping(t, nil)
	return ref
}

// chooses is the schema of a struct with the own fields of the kind that it chooses.
func (s *schema) chooses(name string, t reflect.Type, table string) any {
	var all any
	field := ""
	for _, f := range decode.Fields(t) {
		if f.Tag.Get("kinds") == table {
			field = f.Name
		}
	}
	for _, kind := range TestKinds.language().Kinds[table] {
		var own reflect.Type
		if kind.Fields != nil {
			own = reflect.TypeOf(kind.Fields()).Elem()
		}
		s.defs[name+"_"+kind.Name] = s.mapping(t, own)
		this := object{"$ref": "#/$defs/" + name + "_" + kind.Name}
		if all == nil {
			all = this // the default
			continue
		}
		is := object{"properties": object{field: object{"const": kind.Name}}, "required": []any{field}}
		all = object{"if": is, "then": this, "else": all}
	}
	return all
}

// mapping is the schema of a struct with the fields of own; nil: none.
func (s *schema) mapping(t reflect.Type, own reflect.Type) any {
	properties, required, either := object{}, []any{}, []any{}
	var short any
	fields, described := decode.Fields(t), describe(s.t, t, s.texts)
	if own != nil {
		fields, described = append(fields, decode.Fields(own)...), append(described, describe(s.t, own, s.texts)...)
	}
	for _, f := range fields {
		if f.Is("short") {
			short = s.of(f.Type, f.Tag)
		}
		file := f.Tag.Get("file")
		switch {
		case f.Is("need") && file != "":
			either = append(either, object{"anyOf": []any{object{"required": []any{f.Name}}, object{"required": []any{file}}}})
		case f.Is("need"), f.Tag.Get("unset") == "required":
			required = append(required, f.Name)
		}
	}
	for _, d := range described {
		property := object{"description": unlinked(d.meaning)}
		if of, ok := s.of(d.Type, d.Tag).(object); ok {
			for key, value := range of {
				property[key] = value
			}
		}
		text := d.Tag.Get("default")
		if text == "" && d.value.Kind() == reflect.String {
			text = d.value.String()
		}
		if text != "" {
			property["default"] = text
		}
		properties[d.Name] = property
		if file := d.Tag.Get("file"); file != "" {
			properties[file] = object{"type": "string", "description": "File that holds the value, instead of `" + d.Name + "`"}
		}
	}
	if len(properties) == 0 {
		return short
	}
	all := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		all["required"] = required
	}
	if len(either) > 0 {
		all["allOf"] = either
	}
	if short != nil {
		return object{"anyOf": []any{short, all}}
	}
	return all
}

// makeSchema returns the JSON schema of the whole file.
func makeSchema(t *testing.T) []byte {
	s := &schema{t, comments(t), map[string]any{}}
	root := s.mapping(reflect.TypeFor[file](), nil).(object)
	root["$schema"], root["$defs"] = "https://json-schema.org/draft/2020-12/schema", s.defs
	root["title"], root["description"] = "fanfold.yaml", "Configuration of Fanfold"
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}
