package fold

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/transform"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/report"
)

// comparison says how the values at one position of a join's key compare. All listeners of the
// join share it: otherwise A = B and B = C would not imply A = C.
type comparison struct {
	by      comparedBy
	folding report.CaseFolding
}

// comparedBy is a set of forms that compare by value. All else compares byte for byte.
type comparedBy uint8

const (
	byNumber comparedBy = 1 << iota // numbers
	byDate                          // dates and datetimes, by instant
	byClock                         // times, by duration
)

// compare returns the comparison for the kinds of all columns at one position. Binary values are
// never case-folded: in base64, a and A are different bytes.
func compare(kinds []report.Kind, folding report.CaseFolding) comparison {
	c := comparison{folding: folding}
	if slices.Contains(kinds, report.KindBinary) {
		c.folding = report.FoldNone
	}
	for _, k := range kinds {
		switch k {
		case report.KindInteger, report.KindDecimal, report.KindFloat:
			c.by = byNumber
			return c
		case report.KindDate, report.KindDatetime:
			c.by |= byDate
		case report.KindTime:
			c.by |= byClock
		}
	}
	return c
}

// keyer turns the key of a row into a canonical key: equal keys have the same one, others do not.
// It is used by one goroutine.
type keyer struct {
	comparisons []comparison
	fold        cases.Caser
	plain       []byte // an unescaped value
	bytes       []byte // the last key that is not an integer; never nil
}

func newKeyer(comparisons []comparison) *keyer {
	return &keyer{comparisons: comparisons, fold: cases.Fold(), bytes: []byte{}}
}

// keyColumn is a column of a dataset that is part of the join's key.
type keyColumn struct {
	number int
	// single: its values are FLOATs that compare as doubles: 0.1 is 0.10000000149011612.
	single bool
}

// find returns the key in these columns of a row, valid until the next call. False means that a
// part of it is null; a null equals nothing.
func (k *keyer) find(row op.Row, columns []keyColumn) (op.Key, bool) {
	number := len(columns) == 1 && k.comparisons[0].by == byNumber
	if number && !columns[0].single {
		if n, ok := plainInteger(row[columns[0].number]); ok {
			return op.IntKey(n), true
		}
	}
	var ok bool
	if k.bytes, ok = k.append(k.bytes[:0], row, columns); !ok {
		return op.Key{}, false
	}
	if number {
		if n, ok := wholeNumber(k.bytes); ok {
			return op.IntKey(n), true
		}
	}
	return op.TextKey(k.bytes), true
}

// append appends the key in these columns of a row. False means that a part of it is null; a null
// equals nothing.
func (k *keyer) append(dst []byte, row op.Row, columns []keyColumn) ([]byte, bool) {
	for i, column := range columns {
		cell := row[column.number]
		if dataset.IsNull(cell) {
			return dst, false
		}
		if len(columns) == 1 {
			return k.appendValue(dst, k.comparisons[i], column.single, cell), true
		}
		// The length distinguishes ("a", "bc") from ("ab", "c").
		at := len(dst)
		dst = k.appendValue(append(dst, 0, 0, 0, 0), k.comparisons[i], column.single, cell)
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, true
}

// appendValue appends one part of a key. The canonical form of a number, date or time is itself
// one, so it never equals another text.
func (k *keyer) appendValue(dst []byte, c comparison, single bool, cell []byte) []byte {
	k.plain = dataset.AppendText(k.plain[:0], cell)
	if single {
		k.plain = widened(k.plain)
	}
	if c.by&byNumber != 0 {
		if dst, ok := appendNumber(dst, k.plain); ok {
			return dst
		}
	}
	if c.by&byDate != 0 {
		if dst, ok := appendInstant(dst, k.plain); ok {
			return dst
		}
	}
	if c.by&byClock != 0 {
		if dst, ok := appendClock(dst, k.plain); ok {
			return dst
		}
	}
	switch c.folding {
	case report.FoldSimple:
		return appendSimplyFolded(dst, k.plain)
	case report.FoldFull:
		return k.appendFolded(dst)
	}
	return append(dst, k.plain...)
}

// appendSimplyFolded appends a text with every character case-folded on its own, as
// strings.EqualFold compares.
func appendSimplyFolded(dst, text []byte) []byte {
	for len(text) > 0 {
		c, size := rune(text[0]), 1
		switch {
		case c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case c >= utf8.RuneSelf:
			c, size = utf8.DecodeRune(text)
			// SimpleFold walks the characters of one letter upwards in a ring. The smallest
			// one represents all of them.
			for next := unicode.SimpleFold(c); ; c, next = next, unicode.SimpleFold(next) {
				if next <= c {
					c = next
					break
				}
			}
		}
		dst, text = utf8.AppendRune(dst, c), text[size:]
	}
	return dst
}

// appendFolded appends k.plain with Unicode's full case folding.
func (k *keyer) appendFolded(dst []byte) []byte {
	start := len(dst)
	for _, c := range k.plain {
		if c >= 0x80 {
			folded, _, err := transform.Append(&k.fold, dst[:start], k.plain)
			if err != nil {
				return append(dst[:start], k.plain...) // unreachable: folding returns no errors
			}
			return folded
		}
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// appendInstant appends a date or datetime, such as 2006-01-02 or 2006-01-02 15:04:05.999,
// without midnight and without trailing zeros of the fraction. False means that the text is
// neither.
func appendInstant(dst, text []byte) ([]byte, bool) {
	const date, clock = "0000-00-00", "00:00:00"
	if !shaped(text, date) {
		return dst, false
	}
	dst = append(dst, text[:len(date)]...)
	if text = text[len(date):]; len(text) == 0 {
		return dst, true
	}
	if (text[0] != ' ' && text[0] != 'T') || !shaped(text[1:], clock) {
		return dst, false
	}
	text = text[1:]
	fraction, ok := trimFraction(text[len(clock):])
	if text = text[:len(clock)+len(fraction)]; !ok || string(text) == clock {
		return dst, ok
	}
	return append(append(dst, ' '), text...), true
}

// appendClock appends a time, such as -838:59:59.999, without zeros before the hours and at the
// end of the fraction; every zero is 0:00:00. False means that the text is not a time.
func appendClock(dst, text []byte) ([]byte, bool) {
	const zero, rest = "0:00:00", ":00:00"
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	hours := skipDigits(text, 0)
	if hours == 0 || !shaped(text[hours:], rest) {
		return dst, false
	}
	end := hours + len(rest)
	fraction, ok := trimFraction(text[end:])
	if !ok {
		return dst, false
	}
	text = text[:end+len(fraction)]
	for ; hours > 1 && text[0] == '0'; hours-- {
		text = text[1:]
	}
	if negative && string(text) != zero {
		dst = append(dst, '-')
	}
	return append(dst, text...), true
}

// trimFraction removes the zeros at the end of a fraction, such as .500, and its point if nothing
// follows it. False means that the text is neither a fraction nor empty.
func trimFraction(text []byte) ([]byte, bool) {
	if len(text) == 0 {
		return text, true
	}
	if len(text) == 1 || text[0] != '.' || skipDigits(text, 1) != len(text) {
		return text, false
	}
	return bytes.TrimRight(bytes.TrimRight(text, "0"), "."), true
}

// shaped tells whether a text begins with a form, in which 0 stands for any digit.
func shaped(text []byte, form string) bool {
	if len(text) < len(form) {
		return false
	}
	for i := range len(form) {
		if digit := text[i] >= '0' && text[i] <= '9'; digit != (form[i] == '0') || (!digit && text[i] != form[i]) {
			return false
		}
	}
	return true
}
