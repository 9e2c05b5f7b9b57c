package decode

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// source is a file in which settings stand.
type source struct {
	name   string // for messages
	folder string // of the names in it, relative to that of the first file
	text   string // if it is not YAML, but the value of a field
	data   []byte // if it is YAML
}

// path returns the name of a file that stands in s, for ReadFile.
func (s *source) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.folder, name)
}

// below returns the source of a file that a file names, and notes that it is read.
func (p fileName) below(name string) *source {
	path := p.from.path(name)
	s := &source{name: path, folder: filepath.Dir(path)}
	if !filepath.IsAbs(path) {
		s.name = filepath.Join(filepath.Dir(p.r.main.name), path)
	}
	p.r.files = append(p.r.files, s.name)
	return s
}

// text reads the file with the text of a field, and returns the place of the text. As in YAML, line
// breaks are \n, and a byte order mark is no part of it. Variables are not expanded.
func (p fileName) text() (Setting, bool) {
	name, ok := p.Text()
	if !ok {
		return p.Setting, false
	}
	const remedy = "Name a file that contains only the value"
	data, ok := p.read(name, remedy)
	if !ok {
		return p.Setting, false
	}
	text := strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\ufeff")
	text = strings.TrimRight(text, "\n")
	inside := p.Setting
	inside.from, inside.Line, inside.column = p.below(name), 1, 1
	inside.from.text = text
	inside.Node = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	switch {
	case text == "":
		p.Problem("the file is empty", "")
		return p.Setting, false
	case !utf8.ValidString(text):
		inside.Node.Value = ""
		inside.Inside(invalidAt([]byte(text))).Problem("not UTF-8 text", "Save the file as UTF-8")
		return p.Setting, false
	}
	return inside, true
}
