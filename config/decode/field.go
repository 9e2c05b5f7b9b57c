package decode

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

var (
	settingType  = reflect.TypeFor[Setting]()
	contentType  = reflect.TypeFor[Content]()
	secretType   = reflect.TypeFor[report.Secret]()
	durationType = reflect.TypeFor[time.Duration]()
)

// Field is a field of a struct that the file can set.
type Field struct {
	Name  string // in the file; empty means that only a short form sets it
	Index []int  // as of reflect.StructField
	Type  reflect.Type
	Tag   reflect.StructTag
}

// Fields returns the fields of a struct and of its embedded structs, in order.
func Fields(t reflect.Type) []Field {
	var all []Field
	for i := range t.NumField() {
		s := t.Field(i)
		if s.Anonymous {
			for _, f := range Fields(s.Type) {
				f.Index = append([]int{i}, f.Index...)
				all = append(all, f)
			}
		}
		f := Field{Name: s.Tag.Get("yaml"), Index: []int{i}, Type: s.Type, Tag: s.Tag}
		if f.Name != "" || f.Is("short") {
			all = append(all, f)
		}
	}
	return all
}

// KindsOf returns the table that a tag of a struct's field names, of or choice, and the index of that
// field; false if the struct has no fields of a kind.
func KindsOf(t reflect.Type, tag string) (table string, index []int, ok bool) {
	for _, f := range reflect.VisibleFields(t) {
		if table, ok := f.Tag.Lookup(tag); ok {
			return table, f.Index, true
		}
	}
	return "", nil, false
}

// Choices returns the fields with the names of kinds of which a struct takes one. They have no Index.
func (l Language) Choices(t reflect.Type) []Field {
	var all []Field
	table, _, _ := KindsOf(t, "choice")
	for _, k := range l.Kinds[table] {
		tag := reflect.StructTag("doc:" + strconv.Quote(k.Doc))
		all = append(all, Field{Name: k.Name, Type: reflect.TypeOf(k.Fields()), Tag: tag})
	}
	return all
}

// Is reports whether the field has a tag.
func (f Field) Is(tag string) bool {
	_, ok := f.Tag.Lookup(tag)
	return ok
}

// Key returns the field that takes the name of an entry, or false if t is not an entry.
func Key(t reflect.Type) (f reflect.StructField, ok bool) {
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

// IsMapping reports whether values of a type are mappings.
func (l Language) IsMapping(t reflect.Type) bool {
	_, single := l.Types[t]
	return t.Kind() == reflect.Struct && !single && t != settingType
}

// Word is an allowed value of a field, as written in the file and as stored in the field.
type Word struct{ File, Value string }

// WordsOf returns the allowed words of a field; nil means that its values are not words.
func (l Language) WordsOf(t reflect.Type, tag reflect.StructTag) []Word {
	names := l.Words[t]
	for _, k := range l.Kinds[tag.Get("kinds")] {
		names = append(names, k.Name)
	}
	if enum := tag.Get("enum"); enum != "" {
		names = strings.Split(enum, ",")
	} else if t.Kind() == reflect.Bool {
		names = []string{"true", "false"}
	}
	var words []Word
	for i, name := range names {
		file, value, ok := strings.Cut(name, "=")
		switch {
		case ok:
		case t.Kind() == reflect.Bool && tag.Get("enum") != "":
			value = strconv.FormatBool(i == 1)
		default:
			value = file
		}
		words = append(words, Word{file, value})
	}
	return words
}

// setDefault sets the value of an omitted field.
func (l Language) setDefault(f Field, v reflect.Value) {
	text, ok := f.Tag.Lookup("default")
	if kinds := l.Kinds[f.Tag.Get("kinds")]; len(kinds) > 0 && f.Tag.Get("unset") != "required" {
		text, ok = kinds[0].Name, true
	}
	if !ok {
		return
	}
	value, wrong := l.parse(text, f.Type, f.Tag)
	if wrong != nil {
		panic(fmt.Sprintf("decode: default of %s: %v", f.Name, wrong)) // a mistake in the program
	}
	v.Set(reflect.ValueOf(value).Convert(f.Type))
}
