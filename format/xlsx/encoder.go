package xlsx

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// encoder encodes rows as those of a sheet.
type encoder struct {
	*Options
	columns []column
	codes   map[style]string // number formats of dates and times
	filled  []int            // widths of numbers with leading zeros, by their style
}

// column says how the cells of a column are written.
type column struct {
	dataset.Column
	label    string
	zones    format.Zones
	zerofill style // 0: none
}

var _ format.Container = (*encoder)(nil)

const (
	rowBegin = "<row>"
	rowEnd   = "</row>\n" // the only line break, by which the book counts rows
)

// AppendHeader appends the labels of the columns.
func (e *encoder) AppendHeader(dst []byte) []byte {
	dst = append(dst, rowBegin...)
	for _, c := range e.columns {
		dst = appendText(dst, []byte(c.label), &headerBegin)
	}
	return append(dst, rowEnd...)
}

// AppendRow appends a row. It returns ErrTooLong for a text that no cell can hold.
func (e *encoder) AppendRow(dst []byte, cells [][]byte) ([]byte, error) {
	dst = append(dst, rowBegin...)
	for i, cell := range cells {
		characters := 0
		if dst, characters = e.columns[i].append(dst, cell); characters > maxText {
			return nil, e.tooLong(i, characters, cells)
		}
	}
	return append(dst, rowEnd...), nil
}

// AppendFooter appends nothing: the book ends its sheets.
func (e *encoder) AppendFooter(dst []byte, _ *format.Made) []byte { return dst }

// append appends a cell. It returns the characters of a text if they may be too many.
func (c *column) append(dst, cell []byte) (_ []byte, characters int) {
	switch {
	case dataset.IsNull(cell):
		return append(dst, "<c/>"...), 0
	case cell[0] == 't':
		return append(dst, `<c t="b"><v>1</v></c>`...), 0
	case cell[0] == 'f':
		return append(dst, `<c t="b"><v>0</v></c>`...), 0
	case cell[0] != '"':
		return c.appendNumber(dst, cell), 0
	}
	inside := cell[1 : len(cell)-1]
	switch { // most cells need no search for a backslash
	case c.Kind != report.KindText:
		if dst, ok := c.appendTyped(dst, inside); ok {
			return dst, 0
		}
	case len(inside) <= maxText && isHarmless(inside):
		return textEnd.append(append(textBegin.append(dst), inside...)), 0
	}
	if bytes.IndexByte(inside, '\\') < 0 {
		return c.appendString(dst, inside)
	}
	start := len(dst) // the text precedes its cell, which is then moved
	dst = dataset.AppendText(dst, cell)
	end := len(dst)
	dst, characters = c.appendString(dst, dst[start:])
	return append(dst[:start], dst[end:]...), characters
}

// appendTyped appends a text as a number, a date or a time if its column has these; ok is false if Excel has no such
// value.
func (c *column) appendTyped(dst, text []byte) (_ []byte, ok bool) {
	switch c.Kind {
	case report.KindDecimal:
		if digits, decimals, ok := digitsOf(text); ok && digits <= maxDigits && decimals <= maxDecimals {
			return appendStyled(dst, styleNumber+style(decimals), text), true
		}
	case report.KindDate, report.KindDatetime:
		moment, fraction, ok := c.zones.Moment(text, c.Kind)
		if !ok {
			return dst, false
		}
		if days, micros, ok := serial(moment); ok {
			s := styleDate
			switch {
			case len(fraction) > 0:
				s = styleMoment
			case c.Kind == report.KindDatetime:
				s = styleDatetime
			}
			return numberEnd.append(appendSerial(starts[s].append(dst), days, micros)), true
		}
	case report.KindTime:
		if days, micros, fraction, ok := duration(text); ok {
			s := styleTime
			if fraction {
				s = styleDuration
			}
			return numberEnd.append(appendSerial(starts[s].append(dst), days, micros)), true
		}
	}
	return dst, false
}

// appendString appends a text as what its column says.
func (c *column) appendString(dst, text []byte) (_ []byte, characters int) {
	if dst, ok := c.appendTyped(dst, text); ok {
		return dst, 0
	}
	if c.Kind == report.KindDatetime {
		if moment, fraction, ok := c.zones.Moment(text, c.Kind); ok { // in the zone of the file, as the others
			text = append(moment.AppendFormat(nil, time.DateTime), fraction...)
		}
	}
	if len(text) > maxText {
		characters = length(text)
	}
	return appendText(dst, text, &textBegin), characters
}

// appendNumber appends a number of JSON, as a text if Excel would lose a digit of it.
func (c *column) appendNumber(dst, number []byte) []byte {
	digits, decimals, plain := digitsOf(number)
	switch {
	case c.Kind == report.KindFloat && !c.Fixed || !plain: // a double
		if f, err := strconv.ParseFloat(string(number), 64); err == nil && !math.IsInf(f, 0) {
			return appendStyled(dst, styleGeneral, number)
		}
	case digits > maxDigits || decimals > maxDecimals:
	case c.zerofill > 0 && decimals == 0:
		return appendStyled(dst, c.zerofill, number)
	default:
		return appendStyled(dst, styleNumber+style(decimals), number)
	}
	if missing := c.Zerofill - len(number); missing > 0 {
		number = fmt.Appendf(nil, "%s%s", bytes.Repeat([]byte("0"), missing), number)
	}
	return appendText(dst, number, &textBegin)
}

// digitsOf returns the digits of a number from the first one that is not zero, without zeros at the end of its
// decimals, and its decimals; ok is false for anything but digits with a sign and a point, and for leading zeros.
// Up to maxDigits it may count zeros.
func digitsOf(number []byte) (digits, decimals int, ok bool) {
	if len(number) > 0 && number[0] == '-' {
		number = number[1:]
	}
	whole := digitsIn(number)
	if whole == 0 || whole > 1 && number[0] == '0' {
		return 0, 0, false
	}
	if rest := number[whole:]; len(rest) > 0 {
		if decimals = digitsIn(rest[1:]); rest[0] != '.' || decimals == 0 || decimals < len(rest)-1 {
			return 0, 0, false
		}
	}
	if digits = whole + decimals; digits > maxDigits && decimals > 0 {
		significant := bytes.TrimRight(number, "0")
		if digits = len(significant) - len("."); number[0] == '0' {
			digits = len(bytes.TrimLeft(significant[len("0."):], "0"))
		}
	}
	return digits, decimals, true
}

// digitsIn returns the number of digits at the beginning of a text.
func digitsIn(text []byte) (n int) {
	for n < len(text) && text[n]-'0' <= 9 {
		n++
	}
	return n
}

// starts are the beginnings of numbers, by style.
var starts = func() (all [styleFilled + 256]frame) {
	for s := range all {
		all[s] = newFrame(fmt.Sprintf(`<c s="%d"><v>`, s))
	}
	all[styleGeneral] = newFrame("<c><v>")
	return all
}()

var numberEnd = newFrame("</v></c>")

func appendStyled(dst []byte, s style, number []byte) []byte {
	return numberEnd.append(append(starts[s].append(dst), number...))
}

// frame is the XML around the contents of cells. It is copied as a whole, because a copy of a fixed
// size needs no call.
type frame struct {
	text [32]byte
	n    int
}

func newFrame(text string) (f frame) {
	f.n = copy(f.text[:], text)
	return f
}

func (f *frame) append(dst []byte) []byte {
	n := len(dst)
	if cap(dst)-n < len(f.text) {
		dst = slices.Grow(dst, len(f.text))
	}
	dst = dst[:n+len(f.text)]
	*(*[len(f.text)]byte)(dst[n:]) = f.text
	return dst[:n+f.n]
}
