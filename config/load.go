package config

import (
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Environment is what a configuration file may read from outside of it.
type Environment struct {
	// Lookup gives the value of an environment variable, as os.LookupEnv does.
	// Nil: no variable is set.
	Lookup func(name string) (string, bool)
	// ReadFile gives the content of a file that a field such as redis_file names, as it
	// is in the configuration; a relative name is relative to the folder of the
	// configuration file. Nil: there is no file.
	ReadFile func(name string) ([]byte, error)
}

// Load reads and proves a configuration file. name is used in messages only. The error
// is Problems, all that were found; none of them holds a secret. docs/configuration.md
// describes the fields.
func Load(name string, data []byte, env Environment) (*Config, error) {
	if env.Lookup == nil {
		env.Lookup = func(string) (string, bool) { return "", false }
	}
	if env.ReadFile == nil {
		env.ReadFile = func(string) ([]byte, error) { return nil, errors.New("config: no files") }
	}
	r := &reading{file: name, env: env, used: variables{}}
	return r.load(data)
}

// DefaultLimits are the limits of a configuration that sets none.
func DefaultLimits() Limits {
	var l Limits
	setting{reading: &reading{}}.decodeStruct(reflect.ValueOf(&l).Elem())
	return l
}

const beginning = "Begin with redis, databases, records, sink and reports"

func (r *reading) load(data []byte) (*Config, error) {
	var config *Config
	if root, ok := r.parse(data); ok {
		config = r.config(root)
	}
	if len(r.problems) > 0 {
		return nil, r.used.mask(r.problems.sorted())
	}
	config.Warnings = r.used.mask(r.warnings.sorted())
	return config, nil
}

func (r *reading) config(root setting) *Config {
	if root.node.Kind != yaml.MappingNode {
		root.hidden().problem("not a mapping", beginning)
		return nil
	}
	var f file
	root.decodeStruct(reflect.ValueOf(&f).Elem())
	return f.check()
}

// parse reads the YAML, which must be one document.
func (r *reading) parse(data []byte) (setting, bool) {
	top := setting{reading: r, line: 1, column: 1}
	if !utf8.Valid(data) {
		top.line += strings.Count(string(data[:invalidAt(data)]), "\n")
		top.problem("not UTF-8 text", "Save the file as UTF-8")
		return top, false
	}
	var documents []yaml.Node
	if err := yaml.Load(data, &documents, yaml.WithAllDocuments()); err != nil {
		m := mistakeInYAML{1, 1, "not YAML", yamlRemedy}
		if failed := new(yaml.LoadError); errors.As(err, &failed) {
			m = findMistake(data, failed)
		}
		top.line, top.column = m.line, m.column
		top.problem(m.message, m.remedy)
		return top, false
	}
	if len(documents) == 0 || len(documents[0].Content) == 0 {
		top.problem("an empty file", beginning)
		return top, false
	}
	if len(documents) > 1 {
		second := r.at(&documents[1], "")
		second.problem(fmt.Sprintf("%d YAML documents in one file", len(documents)), "Remove the lines ---")
		return top, false
	}
	return r.at(documents[0].Content[0], ""), true
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

// Schema is the JSON schema of the file, for editors. It knows the fields, and nothing
// of what they mean together.
//
//go:embed schema.json
var Schema []byte
