package decode

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/fanfold/fanfold/report"
)

// Mask stands for every secret in what Encode returns.
const Mask = "***"

// encoder writes what a decoder read.
type encoder struct{ *Reader }

// Encode returns a struct that Decode filled, as one file without includes, anchors and variables. It has the defaults
// and what the caller derived from other fields, and Mask for every secret. A variable that a secret uses, too, stays
// ${NAME} elsewhere. The argument is a pointer to the struct.
func (r *Reader) Encode(fields any) *yaml.Node {
	return encoder{r}.mapping(reflect.ValueOf(fields).Elem())
}

// entry is a field of a mapping that is written.
type entry struct {
	name  string
	value *yaml.Node
	with  string // of a value that is not in the file: the tag
}

// mapping returns a struct as a mapping, or as its short form if it has no other.
func (e encoder) mapping(v reflect.Value) *yaml.Node {
	s := e.Of(v.Addr().Interface())
	fields := e.targets(v)
	if i := slices.IndexFunc(fields, func(f target) bool { return f.Name == "" }); i >= 0 && s.isScalar() {
		_, node := e.field(s, fields[i])
		return node
	}
	var all []entry
	for _, f := range fields {
		if f.Name == "" || f.Is("include") {
			continue
		}
		if name, node := e.field(s, f); node != nil {
			one := entry{name: name, value: node}
			if !s.Get(name).Given() {
				one.with = f.Tag.Get("with")
			}
			all = append(all, one)
		}
	}
	return join(slices.DeleteFunc(slices.Clone(all), func(one entry) bool { return !fits(one.with, all) }))
}

// fits reports whether a default has an effect beside other fields: its tag with names one of them.
func fits(with string, all []entry) bool {
	for one := range strings.SplitSeq(with, ",") {
		name, text, has := strings.Cut(one, "=")
		if one == "" || slices.ContainsFunc(all, func(other entry) bool {
			return other.name == name && (!has || other.value.Value == text)
		}) {
			return true
		}
	}
	return false
}

// join returns a mapping of these entries.
func join(all []entry) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for _, one := range all {
		m.Content = append(m.Content, literal(one.name), one.value)
	}
	return m
}

// targets returns the fields of a struct with those of its kind.
func (e encoder) targets(v reflect.Value) []target {
	all := targets(Fields(v.Type()), v)
	for _, tag := range []string{"of", "choice"} {
		table, index, ok := KindsOf(v.Type(), tag)
		if !ok || v.FieldByIndex(index).IsNil() {
			continue
		}
		own := v.FieldByIndex(index).Elem() // a pointer to the fields of the kind
		if tag == "of" {
			all = append(all, targets(Fields(own.Type().Elem()), own.Elem())...)
			continue
		}
		for _, f := range e.Choices(v.Type()) {
			if e.Of(v.Addr().Interface()).Get(f.Name).Given() && f.Type == own.Type() && len(e.Kinds[table]) > 0 {
				all = append(all, target{f, own})
			}
		}
	}
	return all
}

// field returns a field of a mapping, with its name in the file; nil if it has no value.
func (e encoder) field(s Section, f target) (string, *yaml.Node) {
	at := s.Get(f.Name)
	if f.Is("raw") {
		at = s.Raw(f.Name)
	}
	secret := f.Is("secret") || isSecret(f.Type)
	if inFile := f.Tag.Get("file"); inFile != "" && s.Get(inFile).Given() {
		if secret {
			return inFile, e.path(s.Get(inFile))
		}
		return f.Name, literal(escape(f.value.String())) // a text without variables
	}
	switch t := f.Type; {
	case !at.Given():
		return f.Name, e.absent(f)
	case t == contentType:
		return f.Name, e.path(at)
	case t == settingType, f.Is("raw"):
		return f.Name, e.raw(at, f.Is("credentials"))
	case t.Kind() == reflect.Pointer && !isOptional(t) && !f.value.IsNil():
		return f.Name, e.mapping(f.value.Elem())
	case e.IsMapping(t):
		return f.Name, e.mapping(f.value)
	case t.Kind() == reflect.Slice && e.IsMapping(t.Elem()):
		return f.Name, e.structs(at, f)
	case secret:
		return f.Name, masked(at)
	case f.Is("kinds"): // it may be a URL
		n := e.raw(at, false)
		n.Value = userInfo.ReplaceAllString(n.Value, "${1}"+Mask+"@")
		return f.Name, n
	}
	n := e.raw(at, f.Is("credentials"))
	if k := f.Type.Kind(); k == reflect.Int || k == reflect.Int64 || k == reflect.Float64 || k == reflect.Bool {
		n.Style, n.Tag = 0, plainTag(n.Value) // a number without the quotes of its variable
	}
	return f.Name, n
}

// userInfo matches the user and the password of a URL.
var userInfo = regexp.MustCompile(`^([a-z0-9+.-]+://)[^/?#]*@`)

// isSecret reports whether values of a type, or of its items, are secret.
func isSecret(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer:
		return isSecret(t.Elem())
	default:
		return t == secretType
	}
}

// structs returns a list of structs, or a mapping of those with a name.
func (e encoder) structs(at Setting, f target) *yaml.Node {
	key, keyed := Key(f.Type.Elem())
	list := &yaml.Node{Kind: yaml.SequenceNode}
	var all []entry
	for i := range f.value.Len() {
		v := f.value.Index(i)
		if _, read := e.sections[v.Addr().Interface()]; !read { // the caller replaced the list
			return e.raw(at, false)
		}
		one := e.mapping(v)
		if !keyed {
			list.Content = append(list.Content, one)
			continue
		}
		name := v.FieldByIndex(key.Index).String()
		if f.Is("credentials") && looksSecret(name) {
			one = literal(Mask)
		}
		all = append(all, entry{name: name, value: one})
	}
	if keyed {
		return join(all)
	}
	return list
}

// masked returns a value with Mask for every text in it.
func masked(p Setting) *yaml.Node {
	switch p.Node.Kind {
	case yaml.MappingNode:
		var all []entry
		entries, _ := p.Entries()
		for _, one := range entries {
			all = append(all, entry{name: one.Name, value: masked(one.Value)})
		}
		return join(all)
	case yaml.SequenceNode:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		items, _ := p.List()
		for _, item := range items {
			list.Content = append(list.Content, masked(item))
		}
		return list
	}
	return literal(Mask)
}

// raw returns a value as the file has it, without anchors and variables. With credentials, it masks the values whose
// names look like those of secrets.
func (e encoder) raw(p Setting, credentials bool) *yaml.Node {
	switch p.Node.Kind {
	case yaml.MappingNode:
		var all []entry
		entries, _ := p.Entries()
		for _, one := range entries {
			value := masked(one.Value)
			if !credentials || !looksSecret(one.Name) {
				value = e.raw(one.Value, credentials)
			}
			all = append(all, entry{name: one.Name, value: value})
		}
		return join(all)
	case yaml.SequenceNode:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		items, _ := p.List()
		for _, item := range items {
			list.Content = append(list.Content, e.raw(item, credentials))
		}
		return list
	}
	return e.text(p)
}

// text returns a single value of the file without variables.
func (e encoder) text(p Setting) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: p.Node.Tag, Value: p.Node.Value, Style: p.Node.Style}
	if !strings.Contains(n.Value, "${") {
		return laidOut(n)
	}
	shared := false
	n.Value = variableUse.ReplaceAllStringFunc(p.Node.Value, func(use string) string {
		if form := variableForm.FindStringSubmatch(strings.TrimSuffix(use[2:], "}")); form != nil {
			if secrets, _ := e.Uses(form[1]); secrets {
				shared = true
				return use
			}
		}
		text, _ := expand(use, e.env.Lookup)
		return escape(text)
	})
	if !shared {
		whole, _ := expand(p.Node.Value, e.env.Lookup)
		n.Value = escape(whole)
	}
	if n.Style == 0 { // a number stays one, as in a text without variables
		n.Tag = plainTag(n.Value)
	}
	return laidOut(n)
}

// path returns the name of a file with a secret, relative to the first file, unless it may be the secret itself.
func (e encoder) path(p Setting) *yaml.Node {
	if (fileName{p}).hidden().secret {
		return literal(Mask)
	}
	text, _ := p.Text()
	return literal(escape(p.from.path(text)))
}

// absent returns the value of a field that the file does not have; nil if it has none.
func (e encoder) absent(f target) *yaml.Node {
	switch t := f.Type; {
	case t == settingType, t == contentType, isSecret(t), f.Is("raw"), f.Is("need"):
		return nil
	case e.IsMapping(t):
		needs := slices.ContainsFunc(Fields(t), func(f Field) bool { return f.Is("need") })
		if m := e.mapping(f.value); len(m.Content) > 0 && !needs {
			return m
		}
		return nil
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Map, t.Kind() == reflect.Pointer:
		return nil
	case f.value.IsZero() && (f.Is("unset") || t.Kind() == reflect.Struct):
		return nil
	}
	text := e.words(f)
	if text == "" {
		return nil
	}
	n := literal(escape(text))
	if k := f.Type.Kind(); k != reflect.String && k != reflect.Struct {
		n.Tag = plainTag(text)
	}
	return n
}

// plainTag returns the tag of a text without quotes: that of a number, a date, true or false; otherwise that of a text,
// also for null.
func plainTag(text string) string {
	var document yaml.Node
	if err := yaml.Load([]byte(text), &document); err != nil || len(document.Content) != 1 {
		return "!!str"
	}
	only := document.Content[0]
	if only.Kind != yaml.ScalarNode || only.Style != 0 || only.Value != text || only.Tag == "!!null" {
		return "!!str"
	}
	return only.Tag
}

// words returns the value of a field as a file has it.
func (e encoder) words(f target) string {
	v := f.value
	if text, ok := f.Tag.Lookup("default"); ok {
		if value, wrong := e.parse(text, f.Type, f.Tag); wrong == nil &&
			reflect.DeepEqual(reflect.ValueOf(value).Convert(f.Type).Interface(), v.Interface()) {
			return text
		}
	}
	for _, w := range e.WordsOf(f.Type, f.Tag) {
		if w.Value == fmt.Sprint(v.Interface()) {
			return w.File
		}
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Int, reflect.Int64:
		if f.Type == durationType {
			return report.ShortDuration(time.Duration(v.Int()))
		}
		return strconv.FormatInt(v.Int(), 10)
	default:
		return fmt.Sprint(v.Interface())
	}
}

// escape writes ${ so that it is no variable.
func escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// literal returns a text.
func literal(text string) *yaml.Node {
	return laidOut(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text})
}

// laidOut writes a text of several lines as such.
func laidOut(n *yaml.Node) *yaml.Node {
	if strings.Contains(n.Value, "\n") {
		n.Tag, n.Style = "!!str", yaml.LiteralStyle
	}
	return n
}
