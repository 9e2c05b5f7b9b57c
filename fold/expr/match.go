package expr

import (
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/fanfold/fanfold/fold/collation"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// like computes X [NOT] LIKE pattern.
func like(x, pattern, escape *Expr, not bool) *Expr {
	c, unit := collationOf(x, pattern), octetsOf(x, pattern)
	return strict(boolean, []*Expr{x, pattern, escape}, func(args []value.Value) (value.Value, error) {
		by := byte('\\') // of ESCAPE '', too, as in MariaDB
		if e := args[2].Bytes; len(e) > 0 {
			by = e[0]
		}
		return value.OfBool(likes(c, unit, textOf(args[0], x), textOf(args[1], pattern), by) != not), nil
	})
}

// escapeOf returns the character that makes % and _ of a pattern literal.
func (s *Scope) escapeOf(e *parse.Like) *Expr {
	if e.Escape == nil {
		return constant(value.OfText([]byte(`\`)), text)
	}
	escape := s.compile(e.Escape)
	if v, ok := constantOf(escape); !ok || !v.Kind.IsText() || len(v.Bytes) > 1 {
		refuse(e.Escape.Pos(), "not a single ASCII character", "Write ESCAPE '|'")
	}
	return escape
}

// likes tells whether a text matches a pattern, in which % stands for any characters and _ for one.
func likes(c *collation.Collation, by octets, text, pattern []byte, escape byte) bool {
	star, back := -1, 0 // of the last %, and where its text ends
	t, p := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '%' && escape != '%':
			star, back = p, t
			p++
			continue
		case p < len(pattern) && pattern[p] == '_' && escape != '_':
			t += by.first(text[t:])
			p++
			continue
		case p < len(pattern):
			at := p
			if pattern[p] == escape && p+1 < len(pattern) {
				at++
			}
			wanted, width := by.rune(pattern[at:])
			if char, size := by.rune(text[t:]); c.EqualRunes(char, wanted) {
				t, p = t+size, at+width
				continue
			}
		}
		if star < 0 {
			return false
		}
		back += by.first(text[back:])
		t, p = back, star+1
	}
	for p < len(pattern) && pattern[p] == '%' {
		p++
	}
	return p == len(pattern)
}

// runeLength returns the length of the first character of a text.
func runeLength(text []byte) int {
	n := 1
	for n < len(text) && text[n]&0xC0 == 0x80 {
		n++
	}
	return n
}

// matches computes X [NOT] REGEXP pattern.
func matches(x, pattern *Expr, not bool) *Expr {
	flags, shown := "", func(b []byte) []byte { return b }
	if octetsOf(x, pattern) {
		shown = asCharacters
	}
	if !collationOf(x, pattern).ComparesBytes() {
		flags = "(?i)"
	}
	var last string
	var compiled *regexp.Regexp
	prepare := func(p []byte) error {
		if compiled != nil && last == string(p) {
			return nil
		}
		re, err := regexp.Compile(flags + string(shown(p)))
		if err != nil {
			return fmt.Errorf("the regular expression %q: %w", p, err)
		}
		compiled, last = re, string(p)
		return nil
	}
	if v, ok := constantOf(pattern); ok && !v.IsNull() {
		if err := prepare(textOf(v, pattern)); err != nil {
			refuse(pattern.at, err.Error(), "Write it in the syntax of RE2, which has no lookarounds and backreferences")
		}
	}
	return strict(boolean, []*Expr{x, pattern}, func(args []value.Value) (value.Value, error) {
		if err := prepare(textOf(args[1], pattern)); err != nil {
			return value.Value{}, err
		}
		return value.OfBool(compiled.Match(shown(textOf(args[0], x))) != not), nil
	})
}

// asCharacters returns a character for every byte.
func asCharacters(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, c := range b {
		out = utf8.AppendRune(out, rune(c))
	}
	return out
}
