package config

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// comments returns the comments of all fields of the package, by Type.Field.
func comments(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range []string{"config.go", "file.go", "file_listener.go"} {
		source, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						for _, name := range f.Names {
							found[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
						}
					}
				}
			}
			return true
		})
	}
	return found
}

// described is a field with all that the documentation says of it.
type described struct {
	decode.Field
	value   reflect.Value // that it has if the file leaves it out
	meaning string
}

// describe returns the fields of a struct. Every one of them must have a comment.
func describe(t *testing.T, of reflect.Type, texts map[string]string) []described {
	t.Helper()
	v := reflect.New(of).Elem()
	decode.Defaults(language, v.Addr().Interface())
	var all []described
	for _, f := range decode.Fields(of) {
		if f.Name == "" {
			continue
		}
		owner := of
		for _, i := range f.Index[:len(f.Index)-1] {
			owner = owner.Field(i).Type
		}
		name := owner.Name() + "." + owner.Field(f.Index[len(f.Index)-1]).Name
		if texts[name] == "" {
			t.Errorf("%s has no comment", name)
		}
		all = append(all, described{f, v.FieldByIndex(f.Index), texts[name]})
	}
	return all
}

// values says which values a field can have; empty: its meaning says it.
func (d described) values() string {
	if words := language.WordsOf(d.Type, d.Tag); words != nil {
		var names []string
		for _, w := range words {
			names = append(names, "`"+w.File+"`")
		}
		return strings.Join(names, ", ")
	}
	lower, upper := d.Tag.Get("min"), d.Tag.Get("max")
	switch {
	case d.Type.Kind() == reflect.Slice || lower == "":
		return ""
	case upper == "":
		return "at least " + lower
	}
	return lower + " to " + upper
}

// absent says what it means to leave the field out.
func (d described) absent() string {
	text := d.Tag.Get("default")
	switch v := d.value.Interface().(type) {
	case time.Duration:
		if v != 0 {
			text = report.ShortDuration(v)
		}
	case string:
		text = v
	}
	if words := language.WordsOf(d.Type, d.Tag); words != nil && d.Tag.Get("default") == "" {
		for _, w := range words {
			if w.Value == fmt.Sprint(d.value) {
				text = w.File
			}
		}
	}
	if d.Name == "retries" {
		text = fmt.Sprint(d.value)
	}
	switch unset, ok := d.Tag.Lookup("unset"); {
	case ok:
		return unset
	case text != "":
		return "`" + text + "`"
	case d.Is("need"):
		return "needed"
	}
	return ""
}

// table is the Markdown table of a struct.
func table(fields []described) string {
	var b strings.Builder
	values := slices.ContainsFunc(fields, func(d described) bool { return d.values() != "" })
	row := func(field, meaning, value, absent string) {
		cells := []string{field, meaning, value, absent}
		if !values {
			cells = slices.Delete(cells, 2, 3)
		}
		for _, cell := range cells {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	row("field", "meaning", "values", "default")
	row("---", "---", "---", "---")
	for _, f := range fields {
		row("`"+f.Name+"`", f.meaning, f.values(), f.absent())
		if file := f.Tag.Get("file"); file != "" {
			row("`"+file+"`", "file that holds the value of `"+f.Name+"`, in place of it", "", "")
		}
	}
	return b.String()
}

// schema makes a JSON schema of the tags.
type schema struct {
	t     *testing.T
	texts map[string]string
	defs  map[string]any
}

type object = map[string]any

// expandable is a text in which a variable stands.
var expandable = object{"type": "string", "pattern": `\$\{`}

func (s *schema) of(t reflect.Type, tag reflect.StructTag) any {
	pattern := func(text string) any { return object{"type": "string", "pattern": text + `|\$\{`} }
	const durations = `^\+?([0-9.]+(ns|us|µs|μs|ms|s|m|h))+$`
	switch {
	case t == reflect.TypeFor[decode.Setting]():
		return true
	case t.Kind() == reflect.Pointer:
		return s.of(t.Elem(), tag)
	case language.IsMapping(t):
		return s.ref(t)
	case t.Kind() == reflect.Slice:
		return s.list(t, tag)
	case t == reflect.TypeFor[time.Duration]():
		return pattern(durations)
	case t == reflect.TypeFor[report.Every]():
		return pattern(durations + `|^[1-9][0-9]{0,3}[dw]$`)
	case t == reflect.TypeFor[Rate]():
		return pattern(rateForm.String())
	case t == reflect.TypeFor[report.SinkURL]():
		return pattern(`^(gs|file)://`)
	case t == reflect.TypeFor[report.JSONPath]():
		return pattern(`^\$`)
	}
	if words := language.WordsOf(t, tag); words != nil {
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
		list = object{"type": "object", "additionalProperties": items}
		if tag.Get("min") != "" {
			list["minProperties"] = 1
		}
		return list
	}
	if tag.Get("min") != "" {
		list["minItems"] = 1
	}
	if _, one := tag.Lookup("one"); one {
		return object{"anyOf": []any{items, list}}
	}
	return list
}

// ref makes a definition of a struct.
func (s *schema) ref(t reflect.Type) any {
	name := strings.TrimSuffix(t.Name(), "Fields")
	ref := object{"$ref": "#/$defs/" + name}
	if _, ok := s.defs[name]; ok {
		return ref
	}
	s.defs[name] = nil
	s.defs[name] = s.mapping(t, "")
	if t != reflect.TypeFor[listenerFields]() {
		return ref
	}
	of := func(kind report.ListenerKind) any {
		name := "listener_" + string(kind)
		s.defs[name] = s.mapping(t, string(kind))
		return object{"$ref": "#/$defs/" + name}
	}
	is := func(kind report.ListenerKind) any {
		return object{"properties": object{"kind": object{"const": string(kind)}}, "required": []any{"kind"}}
	}
	s.defs[name] = object{
		"if": is(report.FromHTTP), "then": of(report.FromHTTP),
		"else": object{"if": is(report.External), "then": of(report.External), "else": of(report.FromMySQL)},
	}
	return ref
}

// mapping is the schema of a struct, for a listener of its kind.
func (s *schema) mapping(t reflect.Type, kind string) any {
	properties, required, either := object{}, []any{}, []any{}
	var short any
	for _, f := range decode.Fields(t) {
		if f.Is("short") {
			short = s.of(f.Type, f.Tag)
		}
		if f.Kind != "" && f.Kind != kind && kind != "" || f.Kind != "" && kind == "" {
			continue
		}
		file := f.Tag.Get("file")
		switch {
		case f.Is("need") && file != "":
			either = append(either, object{"anyOf": []any{object{"required": []any{f.Name}}, object{"required": []any{file}}}})
		case f.Is("need"), f.Tag.Get("unset") == "needed":
			required = append(required, f.Name)
		}
	}
	for _, d := range describe(s.t, t, s.texts) {
		if d.Kind != "" && d.Kind != kind {
			continue
		}
		property := object{"description": d.meaning}
		if of, ok := s.of(d.Type, d.Tag).(object); ok {
			for key, value := range of {
				property[key] = value
			}
		}
		if text := d.Tag.Get("default"); text != "" {
			property["default"] = text
		}
		properties[d.Name] = property
		if file := d.Tag.Get("file"); file != "" {
			properties[file] = object{"type": "string", "description": "file that holds the value of `" + d.Name + "`"}
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
	root := s.mapping(reflect.TypeFor[file](), "").(object)
	root["$schema"], root["$defs"] = "https://json-schema.org/draft/2020-12/schema", s.defs
	root["title"], root["description"] = "fanfold.yaml", "Configuration of Fanfold"
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}
