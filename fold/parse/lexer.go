package parse

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

type tokenKind int

const (
	end tokenKind = iota
	word
	name // in backquotes
	number
	text
	bytes // x'4142'
	bits  // 0x4142
	parameter
	punct
)

// token is a piece of the text.
type token struct {
	Position
	kind   tokenKind
	text   string // without quotes and escapes
	from   int    // offsets in the text
	to     int
	spaced bool // white space precedes it
}

// lexer splits the text into tokens.
type lexer struct {
	src  string
	at   int
	line int // of at
	head int // offset of the beginning of the line
}

func (l *lexer) position() Position {
	return Position{l.line, utf8.RuneCountInString(l.src[l.head:l.at]) + 1}
}

// fail ends the parsing with a mistake; Parse recovers.
func fail(at Position, message, remedy string) { Refuse(at, message, remedy) }

// skip passes white space and comments, and tells whether there were any.
func (l *lexer) skip() bool {
	from := l.at
	for l.at < len(l.src) {
		rest := l.src[l.at:]
		switch c := rest[0]; {
		case c == ' ' || c >= '\t' && c <= '\r':
			l.pass(1)
		case c == '#', strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' '):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.pass(n)
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				fail(l.position(), "the comment is not closed", "Close it with */")
			}
			l.pass(n + 4)
		default:
			return l.at > from
		}
	}
	return l.at > from
}

// pass moves on by n bytes.
func (l *lexer) pass(n int) {
	for range n {
		if l.src[l.at] == '\n' {
			l.line, l.head = l.line+1, l.at+1
		}
		l.at++
	}
}

// Quoted returns a name as a query has it: in backquotes, unless it is a word that is not reserved.
func Quoted(name string) string {
	if name != "" && span(name, isWord) == len(name) && !isDigit(name[0]) && !isReserved(name) {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool {
	return isDigit(c) || c == '_' || c == '$' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

func span(s string, in func(byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}

// next returns the next token.
func (l *lexer) next() token {
	t := token{spaced: l.skip()}
	t.Position, t.from = l.position(), l.at
	t.kind, t.text = l.scan(l.src[l.at:])
	t.to = l.at
	return t
}

// scan reads a token at the start of a text, and passes it.
func (l *lexer) scan(s string) (kind tokenKind, content string) {
	if s == "" {
		return end, ""
	}
	n := 1
	switch c := s[0]; {
	case (c|0x20 == 'x') && len(s) > 1 && s[1] == '\'':
		return bytes, l.hex(s)
	case c == '0' && len(s) > 2 && s[1] == 'x' && isHex(s[2]):
		n = 2 + span(s[2:], isWord)
		decoded, err := hex.DecodeString(strings.Repeat("0", n%2) + s[2:n])
		if err != nil {
			fail(l.position(), "not a hexadecimal number", "Write it as 0x4142")
		}
		kind, content = bits, string(decoded)
	case isDigit(c), c == '.' && len(s) > 1 && isDigit(s[1]):
		kind, n = number, l.number(s)
		content = s[:n]
	case c == '\'' || c == '"':
		return text, l.quoted(s, true)
	case c == '`':
		return name, l.quoted(s, false)
	case c == ':' && len(s) > 1 && isWord(s[1]) && !isDigit(s[1]):
		kind, n = parameter, 1+span(s[1:], isWord)
		content = s[1:n]
	case isWord(c):
		kind, n = word, span(s, isWord)
		content = s[:n]
	default:
		for _, op := range []string{"<=>", "<=", ">=", "<>", "!=", "||", "&&", "<<", ">>", ":="} {
			if strings.HasPrefix(s, op) {
				n = len(op)
				break
			}
		}
		kind, content = punct, s[:n]
	}
	l.pass(n)
	return kind, content
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// number returns the length of a number.
func (l *lexer) number(s string) int {
	n := span(s, isDigit)
	if n < len(s) && s[n] == '.' {
		n += 1 + span(s[n+1:], isDigit)
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		sign := n + 1
		if sign < len(s) && (s[sign] == '+' || s[sign] == '-') {
			sign++
		}
		if digits := span(s[min(sign, len(s)):], isDigit); digits > 0 {
			n = sign + digits
		}
	}
	if n < len(s) && isWord(s[n]) {
		fail(l.position(), "a number with letters", "Put a name that begins with a digit in backquotes")
	}
	return n
}

// hex reads x'4142'.
func (l *lexer) hex(s string) string {
	n := strings.IndexByte(s[2:], '\'')
	if n < 0 {
		fail(l.position(), "the quote is not closed", "Close it with '")
	}
	decoded, err := hex.DecodeString(s[2 : 2+n])
	if err != nil {
		fail(l.position(), "not a hexadecimal text", "Write pairs of the digits 0 to 9 and A to F, such as x'4142'")
	}
	l.pass(n + 3)
	return string(decoded)
}

// escapes are the characters that a backslash makes of others. \% and \_ keep the backslash.
var escapes = map[byte]string{
	'0': "\x00", 'b': "\b", 'n': "\n", 'r': "\r", 't': "\t", 'Z': "\x1a", '%': `\%`, '_': `\_`,
}

// quoted reads a string, in which a backslash may escape, or a name.
func (l *lexer) quoted(s string, backslashes bool) string {
	var out strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && backslashes && i+1 < len(s):
			i++
			if escaped, ok := escapes[s[i]]; ok {
				out.WriteString(escaped)
			} else {
				out.WriteByte(s[i])
			}
		case c == s[0] && i+1 < len(s) && s[i+1] == s[0]:
			out.WriteByte(c)
			i++
		case c == s[0]:
			l.pass(i + 1)
			return out.String()
		default:
			out.WriteByte(c)
		}
	}
	fail(l.position(), "the quote is not closed", "Close it with "+s[:1])
	return ""
}
