package expr

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/fanfold/fanfold/fold/value"
)

// textFunctions are the functions of texts. Positions and lengths are those of characters, but of bytes in LENGTH and
// of binary values.
var textFunctions = map[string]function{
	"CONCAT":           {1, -1, concat},
	"CONCAT_WS":        {2, -1, concatWith},
	"SUBSTRING":        {2, 3, substring},
	"SUBSTR":           {2, 3, substring},
	"MID":              {3, 3, substring},
	"LEFT":             {2, 2, func(c *call) *Expr { return cut(c, octets.left) }},
	"RIGHT":            {2, 2, func(c *call) *Expr { return cut(c, octets.right) }},
	"TRIM":             {1, 2, func(c *call) *Expr { return trim(c, true, true) }},
	"LTRIM":            {1, 2, func(c *call) *Expr { return trim(c, true, false) }},
	"RTRIM":            {1, 2, func(c *call) *Expr { return trim(c, false, true) }},
	"UPPER":            {1, 1, func(c *call) *Expr { return recased(c, bytes.ToUpper) }},
	"UCASE":            {1, 1, func(c *call) *Expr { return recased(c, bytes.ToUpper) }},
	"LOWER":            {1, 1, func(c *call) *Expr { return recased(c, bytes.ToLower) }},
	"LCASE":            {1, 1, func(c *call) *Expr { return recased(c, bytes.ToLower) }},
	"REVERSE":          {1, 1, reversed},
	"LENGTH":           {1, 1, func(c *call) *Expr { return textToInt(c, func(b []byte) int { return len(b) }) }},
	"OCTET_LENGTH":     {1, 1, func(c *call) *Expr { return textToInt(c, func(b []byte) int { return len(b) }) }},
	"CHAR_LENGTH":      {1, 1, func(c *call) *Expr { return textToInt(c, octetsOf(c.args[0]).count) }},
	"CHARACTER_LENGTH": {1, 1, func(c *call) *Expr { return textToInt(c, octetsOf(c.args[0]).count) }},
	"REPLACE":          {3, 3, replace},
	"REPEAT":           {2, 2, repeat},
	"LPAD":             {3, 3, func(c *call) *Expr { return pad(c, true) }},
	"RPAD":             {3, 3, func(c *call) *Expr { return pad(c, false) }},
	"INSTR":            {2, 2, func(c *call) *Expr { return locate(c.args[1], c.args[0]) }},
	"LOCATE":           {2, 3, func(c *call) *Expr { return locate(c.args...) }},
	"SUBSTRING_INDEX":  {3, 3, substringIndex},
	"JSON_VALUE":       {2, 2, jsonValue},
}

// maxText is the maximum size of a text that a function makes.
const maxText = 16 << 20

// texts is strict with the texts of all arguments.
func texts(t value.Type, args []*Expr, f func(texts [][]byte) (value.Value, error)) *Expr {
	all := make([][]byte, len(args))
	return strict(t, args, ofKind(t, func(values []value.Value) (value.Value, error) {
		for i, v := range values {
			all[i] = textOf(v, args[i])
		}
		return f(all)
	}))
}

// ofKind makes the texts of a function binary if its type is.
func ofKind(t value.Type, f func(args []value.Value) (value.Value, error)) func([]value.Value) (value.Value, error) {
	if t.Kind != value.Binary {
		return f
	}
	return func(args []value.Value) (value.Value, error) {
		v, err := f(args)
		if v.Kind == value.Text {
			v.Kind = value.Binary
		}
		return v, err
	}
}

// recased is UPPER or LOWER, which leave bytes as they are.
func recased(c *call, f func([]byte) []byte) *Expr {
	t := typeOfText(c.args...)
	if t.Kind == value.Binary {
		f = func(b []byte) []byte { return b }
	}
	return texts(t, c.args, func(all [][]byte) (value.Value, error) { return value.OfText(f(all[0])), nil })
}

func reversed(c *call) *Expr {
	by := octetsOf(c.args[0])
	return texts(typeOfText(c.args...), c.args,
		func(all [][]byte) (value.Value, error) { return value.OfText(by.reverse(all[0])), nil })
}

func textToInt(c *call, f func([]byte) int) *Expr {
	return texts(integer, c.args, func(all [][]byte) (value.Value, error) { return value.OfInt(int64(f(all[0]))), nil })
}

func concat(c *call) *Expr {
	return texts(typeOfText(c.args...), c.args, func(all [][]byte) (value.Value, error) {
		return joined(all, nil)
	})
}

var errLargeText = fmt.Errorf("a text of more than %d bytes: make it from less", maxText)

// joined returns texts with a separator between them.
func joined(parts [][]byte, separator []byte) (value.Value, error) {
	size := len(separator) * len(parts)
	for _, p := range parts {
		size += len(p)
	}
	if size > maxText {
		return value.Value{}, errLargeText
	}
	return value.OfText(bytes.Join(parts, separator)), nil
}

// concatWith skips NULLs after the separator.
func concatWith(c *call) *Expr {
	t := typeOfText(c.args...)
	return apply(t, c.args, ofKind(t, func(args []value.Value) (value.Value, error) {
		if args[0].IsNull() {
			return value.Value{}, nil
		}
		var parts [][]byte
		for i, v := range args[1:] {
			if !v.IsNull() {
				parts = append(parts, textOf(v, c.args[i+1]))
			}
		}
		return joined(parts, textOf(args[0], c.args[0]))
	}))
}

// octets says that a text is counted by bytes, not by characters.
type octets bool

// octetsOf returns how the texts that are made of several expressions are counted.
func octetsOf(all ...*Expr) octets { return typeOfText(all...).Kind == value.Binary }

// first returns the length of the first character in bytes.
func (by octets) first(b []byte) int {
	if by {
		return 1
	}
	return runeLength(b)
}

// rune returns the first character and its length in bytes.
func (by octets) rune(b []byte) (char rune, size int) {
	if by {
		return rune(b[0]), 1
	}
	return utf8.DecodeRune(b)
}

// count counts characters.
func (by octets) count(b []byte) int {
	if by {
		return len(b)
	}
	n := 0
	for _, c := range b {
		if c&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// offset returns the offset of a character, from 0, or the length of the text.
func (by octets) offset(b []byte, n int64) int {
	if n = max(0, n); n >= int64(len(b)) {
		return len(b)
	}
	if by {
		return int(n)
	}
	at := 0
	for ; n > 0 && at < len(b); n-- {
		at += runeLength(b[at:])
	}
	return at
}

// left returns the first characters.
func (by octets) left(b []byte, n int64) []byte { return b[:by.offset(b, n)] }

// right returns the last characters.
func (by octets) right(b []byte, n int64) []byte {
	return b[by.offset(b, int64(by.count(b))-max(0, n)):]
}

// cut computes LEFT and RIGHT.
func cut(c *call, f func(by octets, b []byte, n int64) []byte) *Expr {
	t, by := typeOfText(c.args[0]), octetsOf(c.args[0])
	return strict(t, c.args, ofKind(t, func(args []value.Value) (value.Value, error) {
		return value.OfText(f(by, textOf(args[0], c.args[0]), count(args[1]))), nil
	}))
}

// count returns a number of characters; an unsigned number beyond the int64s is the maximum.
func count(v value.Value) int64 {
	n := v.ToInt()
	if n.Unsigned {
		return 1<<63 - 1
	}
	return n.Int
}

// substring has positions from 1; a negative one counts from the end.
func substring(c *call) *Expr {
	t, by := typeOfText(c.args[0]), octetsOf(c.args[0])
	return strict(t, c.args, ofKind(t, func(args []value.Value) (value.Value, error) {
		b, from := textOf(args[0], c.args[0]), count(args[1])
		length := int64(1<<62 - 1)
		if len(args) == 3 {
			length = count(args[2])
		}
		n := int64(by.count(b))
		if from < 0 {
			from += n + 1
		}
		if from <= 0 || from > n || length <= 0 {
			return value.OfText(nil), nil
		}
		b = b[by.offset(b, from-1):]
		return value.OfText(by.left(b, length)), nil
	}))
}

// trim removes spaces, or another text, from the ends.
func trim(c *call, start, end bool) *Expr {
	return texts(typeOfText(c.args...), c.args, func(all [][]byte) (value.Value, error) {
		b, what := all[0], []byte(" ")
		if len(all) == 2 {
			what = all[1]
		}
		for start && len(what) > 0 && bytes.HasPrefix(b, what) {
			b = b[len(what):]
		}
		for end && len(what) > 0 && bytes.HasSuffix(b, what) {
			b = b[:len(b)-len(what)]
		}
		return value.OfText(b), nil
	})
}

func (by octets) reverse(b []byte) []byte {
	out := make([]byte, len(b))
	for at := 0; at < len(b); {
		n := by.first(b[at:])
		copy(out[len(b)-at-n:], b[at:at+n])
		at += n
	}
	return out
}

func replace(c *call) *Expr {
	return texts(typeOfText(c.args...), c.args, func(all [][]byte) (value.Value, error) {
		if len(all[1]) == 0 {
			return value.OfText(all[0]), nil
		}
		if n := bytes.Count(all[0], all[1]); len(all[0])+n*(len(all[2])-len(all[1])) > maxText {
			return value.Value{}, errLargeText
		}
		return value.OfText(bytes.ReplaceAll(all[0], all[1], all[2])), nil
	})
}

// repeat and pad are NULL if the text is too large. pad is NULL, too, if there is nothing to add.
func repeat(c *call) *Expr {
	t := typeOfText(c.args[0])
	return strict(t, c.args, ofKind(t, func(args []value.Value) (value.Value, error) {
		b, n := textOf(args[0], c.args[0]), count(args[1])
		if n <= 0 || len(b) == 0 {
			return value.OfText(nil), nil
		}
		if n > maxText/int64(len(b)) {
			return value.Value{}, nil
		}
		return value.OfText(bytes.Repeat(b, int(n))), nil
	}))
}

func pad(c *call, atLeft bool) *Expr {
	t, by := typeOfText(c.args[0], c.args[2]), octetsOf(c.args[0], c.args[2])
	return strict(t, c.args, ofKind(t, func(args []value.Value) (value.Value, error) {
		b, n, with := textOf(args[0], c.args[0]), count(args[1]), textOf(args[2], c.args[2])
		missing := n - int64(by.count(b))
		switch {
		case n < 0 || n > maxText:
			return value.Value{}, nil
		case missing <= 0:
			return value.OfText(by.left(b, n)), nil
		case len(with) == 0:
			return value.Value{}, nil
		}
		fill := by.left(bytes.Repeat(with, int(missing)/max(1, by.count(with))+1), missing)
		if atLeft {
			return value.OfText(append(fill, b...)), nil
		}
		return value.OfText(append(b[:len(b):len(b)], fill...)), nil
	}))
}

// locate returns the position of a text in another, from 1; 0: it is not there. A third argument is the position from
// which it is searched.
func locate(args ...*Expr) *Expr {
	c, by := collationOf(args[:2]...), octetsOf(args[:2]...)
	return strict(integer, args, func(values []value.Value) (value.Value, error) {
		what, text, n := textOf(values[0], args[0]), textOf(values[1], args[1]), int64(1)
		if len(args) == 3 {
			if n = count(values[2]); n < 1 || n > int64(by.count(text)) {
				return value.OfInt(0), nil
			}
		}
		for at := by.offset(text, n-1); at+len(what) <= len(text); n++ {
			if c.Equal(text[at:at+len(what)], what) { // as many bytes, as in MariaDB
				return value.OfInt(n), nil
			}
			if at += by.first(text[at:]); at == len(text) {
				break
			}
		}
		return value.OfInt(0), nil
	})
}

// substringIndex returns the text before the n-th separator, or, if n is negative, what follows the n-th from the end.
func substringIndex(c *call) *Expr {
	t := typeOfText(c.args[:2]...)
	return strict(t, c.args, ofKind(t, func(args []value.Value) (value.Value, error) {
		b, separator, n := textOf(args[0], c.args[0]), textOf(args[1], c.args[1]), count(args[2])
		if len(separator) == 0 || n == 0 {
			return value.OfText(nil), nil
		}
		total := int64(bytes.Count(b, separator))
		nth := n
		if n < 0 {
			nth = total + n + 1
		}
		if nth < 1 || nth > total {
			return value.OfText(b), nil
		}
		at := bytes.Index(b, separator)
		for ; nth > 1; nth-- {
			at += len(separator) + bytes.Index(b[at+len(separator):], separator)
		}
		if n < 0 {
			return value.OfText(b[at+len(separator):]), nil
		}
		return value.OfText(b[:at]), nil
	}))
}
