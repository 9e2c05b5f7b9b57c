package decode

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// Environment provides the variables and files that a file uses.
type Environment struct {
	// Lookup returns the value of an environment variable, like os.LookupEnv.
	// Nil means that no variable is set.
	Lookup func(name string) (string, bool)
	// ReadFile returns the content of a file that a field names. A relative name is
	// relative to the folder of the configuration file. Nil means that no file exists.
	ReadFile func(name string) ([]byte, error)
	// Glob returns the names of the files that match a pattern, sorted, for ReadFile. Its error means
	// that the pattern is wrong. Nil means that no file exists.
	Glob func(pattern string) ([]string, error)
}

// Language defines the types and forms of the values of a file, besides those that every
// file has. A mistake must not show the text.
type Language struct {
	Begin string // remedy for a file that is not a mapping
	// Types are the types that are written as a text, with their parsers.
	Types map[reflect.Type]func(text string) (any, *report.Mistake)
	// Words are the allowed values of string types.
	Words map[reflect.Type][]string
	// Forms check a text, by the name in the tag form. A mistake without a remedy gets
	// the remedy of a missing field.
	Forms map[string]func(text string) *report.Mistake
	// Remedies are those of a missing text, by the name in the tag form. Other texts have theirs in the tag need.
	Remedies map[string]string
	// Kinds are the tables of kinds, by the name in the tags kinds and of.
	Kinds map[string][]Kind
}

// Text is a string type that defines its form itself.
type Text interface {
	// Parse sets it to a text, or returns what is wrong with the text, without showing it. A
	// mistake without a remedy gets the remedy of a missing field.
	Parse(text string) *report.Mistake
}

// Kind is a kind of something that a file can choose, such as a format.
type Kind struct {
	Name string
	Doc  string // describes the field with its name, for a table of the tag choice
	// Fields returns a pointer to a new struct for the fields that only this kind has; nil: none.
	Fields func() any
}

// Reader reads one file.
type Reader struct {
	Language
	main     *source
	files    []string
	partial  bool // a file that it includes could not be read
	env      Environment
	problems Problems
	warnings Problems
	used     variables
	sections map[any]Section // by the pointer to the struct
}

// NewReader returns a Reader. The name of the file is used only in messages.
func NewReader(file string, env Environment, l Language) *Reader {
	if env.Lookup == nil {
		env.Lookup = func(string) (string, bool) { return "", false }
	}
	if env.ReadFile == nil {
		env.ReadFile = func(string) ([]byte, error) { return nil, errors.New("decode: no files") }
	}
	if env.Glob == nil {
		env.Glob = func(string) ([]string, error) { return nil, nil }
	}
	return &Reader{Language: l, main: &source{name: file}, files: []string{file}, env: env, used: variables{},
		sections: map[any]Section{}}
}

// Defaults sets a struct to the values of an empty file.
func Defaults(l Language, into any) {
	r := NewReader("", Environment{}, l)
	decoder{r}.decodeStruct(Setting{r: r, from: r.main}, reflect.ValueOf(into).Elem())
}

// Decode reads a file, and those that it includes, into a struct. False means that the file is not a mapping, and that
// nothing was read.
func (r *Reader) Decode(data []byte, into any) bool {
	top, ok := r.readYAML(r.main, data, r.Begin)
	if ok && top.Node.Kind != yaml.MappingNode {
		top.Hidden().Problem("not a mapping", r.Begin)
		ok = false
	}
	if ok {
		v := reflect.ValueOf(into).Elem()
		before := len(r.problems)
		top.more = r.included(top, Fields(v.Type()))
		r.partial = len(r.problems) > before
		decoder{r}.decodeStruct(top, v)
	}
	return ok
}

// Files returns the names of the file and of those that belong to it, as messages show them. Files
// with secrets are not among them, as their names may be secret.
func (r *Reader) Files() []string { return r.files }

// Problems returns the problems, in the order of the file.
func (r *Reader) Problems() Problems { return r.used.mask(r.problems.sorted()) }

// Warnings returns settings that work, but probably not as intended.
func (r *Reader) Warnings() Problems { return r.used.mask(r.warnings.sorted()) }

// Uses reports whether secrets, and whether other values, use a variable.
func (r *Reader) Uses(variable string) (secrets, others bool) {
	if u, ok := r.used[variable]; ok {
		return u.secret, u.open
	}
	return false, false
}

// readYAML reads the YAML, which must be one document. begin is the remedy if it is empty.
func (r *Reader) readYAML(from *source, data []byte, begin string) (Setting, bool) {
	top := Setting{r: r, from: from, Line: 1, column: 1}
	from.data = data
	if !utf8.Valid(data) {
		top.Line += strings.Count(string(data[:invalidAt(data)]), "\n")
		top.Problem("not UTF-8 text", "Save the file as UTF-8")
		return top, false
	}
	var documents []yaml.Node
	if err := yaml.Load(data, &documents, yaml.WithAllDocuments()); err != nil {
		m := mistake{1, 1, "not YAML", yamlRemedy}
		if failed := new(yaml.LoadError); errors.As(err, &failed) {
			m = findMistake(data, failed)
		}
		top.Line, top.column = m.line, m.column
		top.Problem(m.message, m.remedy)
		return top, false
	}
	if len(documents) == 0 || len(documents[0].Content) == 0 {
		top.Problem("the file is empty", begin)
		return top, false
	}
	if len(documents) > 1 {
		second := beside(top, &documents[1], "")
		second.Problem(fmt.Sprintf("%d YAML documents in one file", len(documents)), "Remove the lines ---")
		return top, false
	}
	return beside(top, documents[0].Content[0], ""), true
}

// invalidAt finds the first byte that is not UTF-8.
func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		c, n := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}
