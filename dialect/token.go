package dialect

import (
	"fmt"
	"strings"

	"github.com/fanfold/fanfold/report"
)

type tokenKind int

const (
	tokenSpace tokenKind = iota // white space or one comment
	tokenWord                   // keyword or name without quotes
	tokenNumber
	tokenName // quoted name
	tokenString
	tokenParameter // :name or :listener.column
	tokenPunct     // any other byte
)

// token is a piece of a query. The texts of all tokens together are the query.
type token struct {
	kind tokenKind
	text string
	at   int // offset in the query
}

// is reports whether the token is this keyword or punctuation.
func (t token) is(text string) bool {
	return (t.kind == tokenWord || t.kind == tokenPunct) && strings.EqualFold(t.text, text)
}

// mistake is what is wrong with a query, and the byte where it is.
type mistake struct {
	report.Mistake
	at int
}

// mistakes are all mistakes of a query. It is an error.
type mistakes []mistake

// Error returns the mistakes.
func (ms mistakes) Error() string {
	texts := make([]string, len(ms))
	for i, m := range ms {
		texts[i] = m.Mistake.Error()
	}
	return strings.Join(texts, "; ")
}

var (
	openQuote = &report.Mistake{Message: "a quote is not closed",
		Remedy: "Add the quote that closes it, or write a quote inside of a text twice"}
	openComment = &report.Mistake{Message: "a comment is not closed", Remedy: "Add */"}
	runComment  = &report.Mistake{Message: "the server would execute this comment",
		Remedy: "Write the text of /*! … */ without the comment marks"}
)

// tokenize splits a query into tokens, up to a mistake.
func (d *Dialect) tokenize(text string) ([]token, *mistake) {
	var tokens []token
	for at := 0; at < len(text); {
		kind, n, wrong := d.next(text[at:])
		if wrong != nil {
			message := fmt.Sprintf("%s (at %q)", wrong.Message, report.ShortenTo(text[at:], 20))
			return tokens, &mistake{report.Mistake{Message: message, Remedy: wrong.Remedy}, at}
		}
		tokens = append(tokens, token{kind, text[at : at+n], at})
		at += n
	}
	return tokens, nil
}

// next returns the kind and length of the first token of a text.
func (d *Dialect) next(s string) (tokenKind, int, *report.Mistake) {
	c := s[0]
	switch {
	case isSpace(c):
		return tokenSpace, span(s, isSpace), nil
	case d.HashComments && c == '#', strings.HasPrefix(s, "--") && (!d.SpacedDashes || len(s) == 2 || s[2] <= ' '):
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return tokenSpace, n + 1, nil
		}
		return tokenSpace, len(s), nil
	case d.RunComments && (strings.HasPrefix(s, "/*!") || strings.HasPrefix(s, "/*M!")):
		return 0, 0, runComment
	case strings.HasPrefix(s, "/*"):
		return d.comment(s)
	case strings.IndexByte(d.Strings, c) >= 0:
		return quoted(s, tokenString, d.Backslashes)
	case d.EscapeStrings && c|0x20 == 'e' && len(s) > 1 && s[1] == '\'':
		kind, n, wrong := quoted(s[1:], tokenString, true)
		return kind, n + 1, wrong
	case strings.IndexByte(d.Names, c) >= 0:
		return quoted(s, tokenName, false)
	case d.Dollars && c == '$':
		return dollars(s)
	case c == ':':
		// Neither :: nor := begins a parameter.
		if n := span(s, func(c byte) bool { return c == ':' }); n > 1 {
			if n < len(s) {
				n += span(s[n:], isWord)
			}
			return tokenPunct, n, nil
		}
		if n := parameterLength(s[1:]); n > 0 {
			return tokenParameter, 1 + n, nil
		}
		return tokenPunct, 1, nil
	case isDigit(c):
		return tokenNumber, span(s, isWord), nil
	case isWord(c):
		return tokenWord, span(s, isWord), nil
	}
	return tokenPunct, 1, nil
}

// comment returns the length of a comment /* … */.
func (d *Dialect) comment(s string) (tokenKind, int, *report.Mistake) {
	depth := 1
	for i := 2; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			if d.NestedComments {
				depth++
				i++
			}
		case "*/":
			if depth--; depth == 0 {
				return tokenSpace, i + 2, nil
			}
			i++
		}
	}
	return 0, 0, openComment
}

// dollars returns the length of a string $tag$ … $tag$, or of a placeholder $1.
func dollars(s string) (tokenKind, int, *report.Mistake) {
	n := 1 + span(s[1:], isNameByte)
	if n == len(s) || s[n] != '$' || n > 1 && isDigit(s[1]) {
		return tokenPunct, n, nil
	}
	end := strings.Index(s[n+1:], s[:n+1])
	if end < 0 {
		return 0, 0, openQuote
	}
	return tokenString, n + 1 + end + n + 1, nil
}

// quoted returns the length of a string or a quoted name, in which backslashes may escape.
func quoted(s string, kind tokenKind, backslashes bool) (tokenKind, int, *report.Mistake) {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && backslashes:
			i++
		case s[i] == s[0] && i+1 < len(s) && s[i+1] == s[0]:
			i++
		case s[i] == s[0]:
			return kind, i + 1, nil
		}
	}
	return 0, 0, openQuote
}

// parameterLength returns the length of name.name.name. A dot without a name after it
// is not part of it.
func parameterLength(s string) int {
	total := 0
	for {
		if total == len(s) || isDigit(s[total]) {
			break
		}
		n := span(s[total:], isNameByte)
		if n == 0 {
			break
		}
		total += n
		if total == len(s) || s[total] != '.' {
			return total
		}
		total++
	}
	return max(0, total-1)
}

func span(s string, in func(byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}

func isSpace(c byte) bool    { return c == ' ' || (c >= '\t' && c <= '\r') }
func isDigit(c byte) bool    { return c >= '0' && c <= '9' }
func isNameByte(c byte) bool { return isDigit(c) || c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z') }
func isWord(c byte) bool     { return isNameByte(c) || c == '$' || c >= 0x80 }

// unquote returns the text of a quoted name or string.
func (d *Dialect) unquote(text string) string {
	quote, inside := text[0], text[1:len(text)-1]
	var out strings.Builder
	for i := 0; i < len(inside); i++ {
		if (inside[i] == quote || (inside[i] == '\\' && d.Backslashes && strings.IndexByte(d.Strings, quote) >= 0)) &&
			i+1 < len(inside) {
			i++
		}
		out.WriteByte(inside[i])
	}
	return out.String()
}
