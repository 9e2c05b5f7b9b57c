package decode

import (
	"reflect"
	"regexp"
)

// secretName matches names of fields whose texts are mostly secret.
var secretName = regexp.MustCompile(
	`(?i)pass(word|wd|phrase)|token|secret|credential|authorization|signature|cookie|dsn|header|key`)

// looksSecret reports whether a name is one of those that secrets mostly have.
func looksSecret(name string) bool { return secretName.MatchString(name) }

// Undecided returns the fields of a struct, and of those that it contains, that have a text and the name of a secret,
// such as token, but neither of the tags secret and open. The path of each leads to it.
func Undecided(l Language, of reflect.Type) []string {
	return undecided(l, of, of.String(), map[reflect.Type]bool{})
}

// undecided returns them with their paths; seen are the structs on the way, which end a recursion.
func undecided(l Language, t reflect.Type, path string, seen map[reflect.Type]bool) (all []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if !l.IsMapping(t) || seen[t] {
		return nil
	}
	seen[t] = true
	defer delete(seen, t)
	for _, f := range Fields(t) {
		path := path + "." + f.Name
		if f.Name == "" || f.Is("secret") || isSecret(f.Type) || f.Type == contentType {
			all = append(all, undecided(l, f.Type, path, seen)...)
			continue
		}
		if looksSecret(f.Name) && !f.Is("open") && l.holdsText(f.Type, f.Tag) {
			all = append(all, path)
		}
		all = append(all, undecided(l, f.Type, path, seen)...)
	}
	return all
}

// holdsText reports whether any text can stand in a value of a type.
func (l Language) holdsText(t reflect.Type, tag reflect.StructTag) bool {
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer:
		return l.holdsText(t.Elem(), tag)
	case reflect.String:
		return l.WordsOf(t, tag) == nil
	case reflect.Struct:
		return !l.IsMapping(t)
	case reflect.Interface:
		return true
	default:
		return false
	}
}
