package config

import (
	_ "embed"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// standardSchema is the schema for the kinds of the command. A test writes it, with the comments of
// the fields as their descriptions.
//
//go:embed schema.json
var standardSchema []byte

type object = map[string]any

// Schema returns the JSON schema of a file that can choose these kinds, for editors. It describes every
// field, but not how fields depend on one another. The fields of kinds outside Fanfold are described
// by their tag doc.
func Schema(kinds Kinds) ([]byte, error) {
	var standard struct {
		definition
		Defs map[string]definition `json:"$defs"`
	}
	if err := json.Unmarshal(standardSchema, &standard); err != nil {
		return nil, err
	}
	standard.Defs[""] = standard.definition
	return makeSchema(kinds, func(name string, _ reflect.Type, f decode.Field) string {
		d := standard.Defs[name]
		if len(d.AnyOf) > 0 {
			d = d.AnyOf[len(d.AnyOf)-1]
		}
		return d.Properties[f.Name].Description
	})
}

// schema makes a JSON schema of the tags.
type schema struct {
	kinds Kinds
	decode.Language
	// describe returns the description of a field of t in a definition, empty if it has none.
	describe func(definition string, t reflect.Type, f decode.Field) string
	defs     object
}

// definition is what Schema reads of the schema of a mapping.
type definition struct {
	Properties map[string]struct{ Description string }
	AnyOf      []definition // a short form, and the mapping
}

// makeSchema makes the schema of the whole file.
func makeSchema(kinds Kinds, describe func(definition string, t reflect.Type, f decode.Field) string) ([]byte, error) {
	s := &schema{kinds: kinds, Language: kinds.language(), describe: describe, defs: object{}}
	root := s.mapping(part{"", reflect.TypeFor[file]()})
	root["$schema"], root["$defs"] = "https://json-schema.org/draft/2020-12/schema", s.defs
	root["title"], root["description"] = "fanfold.yaml", "Configuration of Fanfold"
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// expandable is a text in which a variable stands.
var expandable = object{"type": "string", "pattern": `\$\{`}

// matching is the schema of a text with a form, or with a variable.
func matching(form string) object { return object{"type": "string", "pattern": form + `|\$\{`} }

const durations = `^\+?([0-9.]+(ns|us|µs|μs|ms|s|m|h))+$|^[0-9]{1,4}d$`

// forms are the forms of types that are written as a text.
var forms = map[reflect.Type]string{
	reflect.TypeFor[time.Duration]():   durations,
	reflect.TypeFor[report.Every]():    durations + `|^[1-9][0-9]{0,3}(w|mo)$`,
	reflect.TypeFor[report.Cron]():     `^\s*(\S+\s+){4}\S+\s*$`,
	reflect.TypeFor[report.Rate]():     report.RateForm,
	reflect.TypeFor[report.JSONPath](): `^\$`,
}

// of returns the schema of a type; nil: anything.
func (s *schema) of(t reflect.Type, tag reflect.StructTag) object {
	_, raw := tag.Lookup("raw")
	words := s.WordsOf(t, tag)
	switch {
	case tag.Get("types") != "":
		var types []any
		for name := range strings.SplitSeq(tag.Get("types"), ",") {
			types = append(types, name)
		}
		return object{"type": types}
	case t == reflect.TypeFor[decode.Setting](), raw:
		return nil
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem(), tag)
	case s.IsMapping(t):
		return s.ref(t)
	case t.Kind() == reflect.Slice:
		return s.list(t, tag)
	case t.Kind() == reflect.Map:
		return named(s.of(t.Elem(), ""), tag)
	case t == reflect.TypeFor[report.SinkURL]():
		var schemes []string
		for _, kind := range s.kinds.Sinks {
			schemes = append(schemes, kind.Scheme)
		}
		return matching(`^(` + strings.Join(schemes, "|") + `)://`)
	case forms[t] != "":
		return matching(forms[t])
	case words != nil:
		enum := []any{}
		for _, w := range words {
			enum = append(enum, w.File)
			if w.File == "true" || w.File == "false" {
				enum = append(enum, w.File == "true")
			}
		}
		return object{"anyOf": []any{object{"enum": enum}, expandable}}
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		form := `^[+-]?[0-9]+$`
		if tag.Get("unit") == "bytes" {
			form = `^[0-9]{1,13} ?([KkMmGg][Bb])?$`
		}
		number := object{"type": "integer", "minimum": decode.Number(tag.Get("min")),
			"maximum": decode.Number(tag.Get("max"))}
		return object{"anyOf": []any{number, matching(form)}}
	}
	return object{"type": []any{"string", "number", "boolean"}}
}

// list returns the schema of a list, or of a mapping with free names.
func (s *schema) list(t reflect.Type, tag reflect.StructTag) object {
	items := s.of(t.Elem(), "")
	if _, keyed := decode.Key(t.Elem()); keyed {
		return named(items, tag)
	}
	list := object{"type": "array", "items": items}
	if tag.Get("min") != "" {
		list["minItems"] = 1
	}
	if _, one := tag.Lookup("one"); one {
		return object{"anyOf": []any{items, list}}
	}
	return list
}

// named returns the schema of a mapping with free names.
func named(items object, tag reflect.StructTag) object {
	mapping := object{"type": "object", "additionalProperties": any(items)}
	if items == nil {
		mapping["additionalProperties"] = true
	}
	if _, elsewhere := tag.Lookup("included"); tag.Get("min") != "" && !elsewhere {
		mapping["minProperties"] = 1
	}
	return mapping
}

// ref makes the definition of a struct, and returns a reference to it.
func (s *schema) ref(t reflect.Type) object {
	name := t.String()
	if !strings.HasPrefix(t.PkgPath(), "github.com/fanfold/fanfold/") {
		name = strings.ReplaceAll(t.PkgPath(), "/", ".") + "." + t.Name()
	}
	if _, made := s.defs[name]; made {
		return object{"$ref": "#/$defs/" + name}
	}
	s.defs[name] = nil
	if table, _, ok := decode.KindsOf(t, "of"); ok {
		s.defs[name] = s.chooses(name, t, table)
	} else {
		s.defs[name] = s.mapping(part{name, t})
	}
	return object{"$ref": "#/$defs/" + name}
}

// chooses returns the schema of a struct with the own fields of the kind that it chooses.
func (s *schema) chooses(name string, t reflect.Type, table string) (all object) {
	field, isURL := "", false
	for _, f := range decode.Fields(t) {
		if f.Tag.Get("kinds") == table {
			field, isURL = f.Name, f.Type == reflect.TypeFor[report.SinkURL]()
		}
	}
	kinds := s.Kinds[table]
	for _, kind := range kinds {
		parts := []part{{name + "_" + kinds[0].Name, t}} // the same in all
		if kind.Fields != nil {
			parts = append(parts, part{name + "_" + kind.Name, reflect.TypeOf(kind.Fields()).Elem()})
		}
		s.defs[name+"_"+kind.Name] = s.mapping(parts...)
		this := object{"$ref": "#/$defs/" + name + "_" + kind.Name}
		if all == nil {
			all = this // the default
			continue
		}
		chosen := object{"const": kind.Name}
		if isURL {
			chosen = object{"pattern": "^" + kind.Name + "://"}
		}
		is := object{"properties": object{field: chosen}, "required": []any{field}}
		all = object{"if": is, "then": this, "else": all}
	}
	return all
}

// part is a struct with fields of a mapping. The definition of this name has their descriptions.
type part struct {
	definition string
	of         reflect.Type
}

// mapping returns the schema of a mapping with the fields of some structs.
func (s *schema) mapping(parts ...part) object {
	properties, required, either := object{}, []any{}, []any{}
	var short object
	for _, p := range parts {
		v := reflect.New(p.of)
		decode.Defaults(s.Language, v.Interface())
		for _, f := range append(decode.Fields(p.of), s.Choices(p.of)...) {
			file := f.Tag.Get("file")
			switch {
			case f.Is("need") && file != "":
				either = append(either,
					object{"anyOf": []any{object{"required": []any{f.Name}}, object{"required": []any{file}}}})
			case f.Is("need") && f.Is("included"):
				either = append(either,
					object{"anyOf": []any{object{"required": []any{f.Name}}, object{"required": []any{"include"}}}})
			case f.Is("need"), f.Tag.Get("unset") == "required":
				required = append(required, f.Name)
			}
			if f.Is("short") {
				short = s.of(f.Type, f.Tag)
			}
			if f.Name == "" {
				continue
			}
			text := f.Tag.Get("default")
			if f.Index != nil && text == "" {
				if value := v.Elem().FieldByIndex(f.Index); value.Kind() == reflect.String {
					text = value.String()
				}
			}
			properties[f.Name] = s.property(p, f, text)
			if file != "" {
				properties[file] = object{
					"type":        "string",
					"description": "File that holds the value, instead of `" + f.Name + "`",
				}
			}
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

// property returns the schema of a field. absent is its value if the file leaves it out.
func (s *schema) property(p part, f decode.Field, absent string) object {
	property := object{}
	text := f.Tag.Get("doc")
	if text == "" {
		text = s.describe(p.definition, p.of, f)
	}
	if text != "" {
		property["description"] = text
	}
	maps.Copy(property, s.of(f.Type, f.Tag))
	if absent != "" {
		property["default"] = absent
	}
	return property
}
