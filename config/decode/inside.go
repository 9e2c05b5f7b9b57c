package decode

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Inside returns the place of a byte of a text: in the file of the text, or in a scalar, which YAML can quote, indent,
// fold and escape. Its value is the line of the text that has the byte. It is the place of the whole text if the byte
// cannot be found.
func (p Setting) Inside(offset int) Setting {
	if p.from == nil || !p.isScalar() {
		return p
	}
	text, at := p.from.text, offset
	switch {
	case text == "":
		text = p.Node.Value
		offset = unexpanded(text, offset, p.r.env.Lookup)
		if at = p.from.find(p.Node, offset); at < 0 {
			return p
		}
		p.Line, p.column = placeOf(string(p.from.data), at)
	case offset > len(text):
		return p
	default:
		p.Line, p.column = placeOf(text, at)
	}
	line, _, _ := strings.Cut(text[strings.LastIndexByte(text[:offset], '\n')+1:], "\n")
	if utf8.ValidString(line) {
		node := *p.Node
		node.Value = strings.TrimSpace(line)
		p.Node = &node
	}
	return p
}

// placeOf returns the line and the column of a byte, both from 1.
func placeOf(text string, offset int) (line, column int) {
	before := text[:offset]
	start := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[start:])
}

// unexpanded returns the byte of a text that a byte of the expanded text comes from: of a variable, its beginning.
func unexpanded(text string, offset int, lookup func(string) (string, bool)) int {
	longer := 0 // how much the expanded text is longer so far
	for _, use := range variableUse.FindAllStringIndex(text, -1) {
		value, _ := expand(text[use[0]:use[1]], lookup)
		switch {
		case offset < use[0]+longer:
			return offset - longer
		case offset < use[0]+longer+len(value):
			return use[0]
		}
		longer += len(value) - (use[1] - use[0])
	}
	return offset - longer
}

// find returns the byte of the file that has a byte of the value of a scalar, or for white space the next one without;
// -1: there is none. White space is passed on both sides, because YAML folds and indents it.
func (s *source) find(scalar *yaml.Node, offset int) int {
	text := string(s.data)
	at := begin(text, scalar)
	for i, want := range scalar.Value {
		if unicode.IsSpace(want) {
			continue
		}
		c, n := unit(text[at:], scalar.Style)
		for n > 0 && unicode.IsSpace(c) {
			at += n
			c, n = unit(text[at:], scalar.Style)
		}
		switch {
		case n == 0 || c != want:
			return -1
		case i >= offset:
			return at
		}
		at += n
	}
	return at
}

// begin returns the first byte of the text of a scalar, after its anchor, its quote or its header.
func begin(text string, scalar *yaml.Node) int {
	at := 0
	for range scalar.Line - 1 {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	for range scalar.Column - 1 {
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	if scalar.Anchor != "" {
		at += strings.IndexFunc(text[at:]+" ", unicode.IsSpace)
		at = len(text) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
	}
	switch {
	case scalar.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return at + strings.IndexByte(text[at:], '\n') + 1
	case scalar.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return min(at+1, len(text))
	}
	return at
}

// escapes are the escapes of a text in double quotes that are no white space and do not stand for themselves.
var escapes = map[byte]rune{'0': 0, 'a': 7, 'b': 8, 'e': 0x1b}

// unit returns the first character of a scalar's source, and its length in bytes; 0: there is none.
func unit(text string, style yaml.Style) (rune, int) {
	c, n := utf8.DecodeRuneInString(text)
	switch {
	case style&yaml.SingleQuotedStyle != 0 && strings.HasPrefix(text, "''"):
		return c, 2
	case style&yaml.DoubleQuotedStyle == 0 || c != '\\' || len(text) < 2:
		return c, n
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[1]]
	escaped, isEscape := escapes[text[1]]
	switch {
	case digits > 0:
		n = min(2+digits, len(text))
		code, err := strconv.ParseUint(text[2:n], 16, 32)
		if err != nil {
			return 0, 0
		}
		return rune(code), n
	case isEscape:
		return escaped, 2
	case strings.IndexByte("tnvrNLP_", text[1]) >= 0:
		return ' ', 2
	case text[1] == '\n':
		return ' ', 1 // the line break is the next character
	}
	c, n = utf8.DecodeRuneInString(text[1:])
	return c, 1 + n
}
