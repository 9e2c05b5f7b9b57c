package xlsx

import (
	"bytes"
	"fmt"
	"math"
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
		dst = appendText(dst, []byte(c.label), headerBegin)
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
	if bytes.IndexByte(inside, '\\') < 0 {
		return c.appendString(dst, inside)
	}
	start := len(dst) // the text precedes its cell, which is then moved
	dst = dataset.AppendText(dst, cell)
	end := len(dst)
	dst, characters = c.appendString(dst, dst[start:])
	return append(dst[:start], dst[end:]...), characters
}

// appendString appends a text as what its column says.
func (c *column) appendString(dst, text []byte) (_ []byte, characters int) {
	switch c.Kind {
	case report.KindDecimal:
		if digits, decimals, ok := digitsOf(text); ok && digits <= maxDigits && decimals <= maxDecimals {
			return appendStyled(dst, styleNumber+style(decimals), text), 0
		}
	case report.KindDate, report.KindDatetime:
		if moment, fraction, ok := c.zones.Moment(text, c.Kind); ok {
			if days, micros, ok := serial(moment); ok {
				s := styleDate
				switch {
				case len(fraction) > 0:
					s = styleMoment
				case c.Kind == report.KindDatetime:
					s = styleDatetime
				}
				return endNumber(appendSerial(beginNumber(dst, s), days, micros)), 0
			}
			if c.Kind == report.KindDatetime { // in the zone of the file, as the others
				text = append(moment.AppendFormat(nil, time.DateTime), fraction...)
			}
		}
	case report.KindTime:
		if days, micros, fraction, ok := duration(text); ok {
			s := styleTime
			if fraction {
				s = styleDuration
			}
			return endNumber(appendSerial(beginNumber(dst, s), days, micros)), 0
		}
	}
	if len(text) > maxText {
		characters = length(text)
	}
	return appendText(dst, text, textBegin), characters
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
	return appendText(dst, number, textBegin)
}

// digitsOf returns the digits of a number from the first one that is not zero, without zeros at the end of its
// decimals, and its decimals; ok is false for anything but digits with a sign and a point, and for leading zeros.
func digitsOf(number []byte) (digits, decimals int, ok bool) {
	i := 0
	if i < len(number) && number[i] == '-' {
		i++
	}
	first, point, zeros := i, -1, 0
	for ; i < len(number); i++ {
		switch c := number[i]; {
		case c == '.' && point < 0 && i > first:
			point, zeros = i, 0
		case c < '0' || c > '9':
			return 0, 0, false
		case c == '0' && point >= 0:
			zeros++
			if digits > 0 {
				digits++
			}
		case c != '0' || digits > 0:
			zeros = 0
			digits++
		}
	}
	whole := len(number) - first
	if point >= 0 {
		whole, decimals = point-first, len(number)-point-1
	}
	if whole == 0 || whole > 1 && number[first] == '0' || point >= 0 && decimals == 0 {
		return 0, 0, false
	}
	return max(0, digits-zeros), decimals, true
}

// starts are the beginnings of numbers, by style.
var starts = func() (all [styleFilled + 256]string) {
	for s := range all {
		all[s] = fmt.Sprintf(`<c s="%d"><v>`, s)
	}
	all[styleGeneral] = "<c><v>"
	return all
}()

func beginNumber(dst []byte, s style) []byte { return append(dst, starts[s]...) }

func endNumber(dst []byte) []byte { return append(dst, "</v></c>"...) }

func appendStyled(dst []byte, s style, number []byte) []byte {
	return endNumber(append(beginNumber(dst, s), number...))
}
