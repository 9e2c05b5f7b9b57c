package config

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// comments returns the comments of all fields of a configuration, by package.Type.Field.
func comments(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	names := []string{"file.go"}
	for _, folder := range append(kindFolders(), "../report") {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		names = append(names, files...)
	}
	for _, name := range names {
		source, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						for _, name := range f.Names {
							found[source.Name.Name+"."+spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
						}
					}
				}
			}
			return true
		})
	}
	return found
}

// kindFolders are the folders of the packages that define the fields of kinds.
func kindFolders() []string {
	var all []string
	for _, kinds := range TestKinds.language().Kinds {
		for _, k := range kinds {
			if k.Fields != nil {
				path := reflect.TypeOf(k.Fields()).Elem().PkgPath()
				all = append(all, "../"+strings.TrimPrefix(path, "github.com/fanfold/fanfold/"))
			}
		}
	}
	return all
}

// described is a field with all that the documentation says of it.
type described struct {
	decode.Field
	owner   reflect.Type  // the struct that has it
	value   reflect.Value // that it has if the file leaves it out
	meaning string
}

// describe returns the fields of a struct. Every one of them must have a comment or a tag doc.
func describe(t *testing.T, of reflect.Type, texts map[string]string) []described {
	t.Helper()
	v := reflect.New(of).Elem()
	decode.Defaults(TestKinds.language(), v.Addr().Interface())
	var all []described
	for _, f := range decode.Fields(of) {
		if f.Name == "" {
			continue
		}
		meaning := cmp.Or(f.Tag.Get("doc"), texts[commented(of, f)])
		if meaning == "" {
			t.Errorf("%s has neither a comment nor a tag doc", commented(of, f))
		}
		all = append(all, described{f, ownerOf(of, f), v.FieldByIndex(f.Index), meaning})
	}
	for _, f := range TestKinds.language().Choices(of) {
		all = append(all, described{f, of, reflect.ValueOf(""), f.Tag.Get("doc")})
	}
	return all
}

// ownerOf returns the struct that has a field of t or of what t embeds.
func ownerOf(t reflect.Type, f decode.Field) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return t
}

// commented returns the key of a field of t in the comments.
func commented(t reflect.Type, f decode.Field) string {
	owner := ownerOf(t, f)
	return owner.String() + "." + owner.Field(f.Index[len(f.Index)-1]).Name
}

// values says which values a field can have; empty: its meaning says it.
func (d described) values() string {
	if d.Type == reflect.TypeFor[report.SinkURL]() {
		var forms []string
		for _, kind := range TestKinds.Sinks {
			forms = append(forms, "`"+kind.Form+"`")
		}
		return strings.Join(forms, ", ")
	}
	if words := TestKinds.language().WordsOf(d.Type, d.Tag); words != nil {
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
	if words := TestKinds.language().WordsOf(d.Type, d.Tag); words != nil && d.Tag.Get("default") == "" {
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
		return "required"
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
			row("`"+file+"`", "File that holds the value, instead of `"+f.Name+"`", "", "")
		}
	}
	return b.String()
}
