package expr

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/fold/value"
)

// strToDate computes STR_TO_DATE. As in MariaDB, a constant format decides the type: a date, a time or a datetime.
func strToDate(c *call) *Expr {
	t := value.Type{Kind: value.Datetime, Scale: 6}
	if format, ok := constantOf(c.args[1]); ok && !format.IsNull() {
		t = typeOfFormat(c, textOf(format, c.args[1]))
	}
	return strict(t, c.args, func(args []value.Value) (value.Value, error) {
		k, ok := parsed(textOf(args[0], c.args[0]), textOf(args[1], c.args[1]))
		if !ok {
			return value.Value{}, nil
		}
		if t.Kind == value.Time {
			k.Hour += k.Day * 24
		}
		return value.OfClock(t.Kind, k), nil
	})
}

// The letters of a format whose parts make a date, a time or none.
const (
	datePart = "MVUXYWabcjmvuxyw"
	timePart = "HISThiklrsf"
	noPart   = "dDep.@#"
)

// typeOfFormat returns the type of a constant format.
func typeOfFormat(c *call, format []byte) value.Type {
	date, clock, scale := false, false, 0
	for i := 0; i+1 < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		i++
		switch letter := string(format[i : i+1]); {
		case strings.Contains(datePart, letter):
			date = true
		case strings.Contains(timePart, letter):
			clock = true
			if letter == "f" {
				scale = 6
			}
		case !strings.Contains(noPart, letter):
			refuse(c.Args[1].Pos(), fmt.Sprintf("STR_TO_DATE has no part %%%s", letter),
				"It reads what DATE_FORMAT writes but for %%, and skips %. (punctuation), %@ (letters) and %# (digits)")
		}
	}
	switch {
	case !clock:
		return value.Type{Kind: value.Date}
	case !date:
		return value.Type{Kind: value.Time, Scale: scale}
	}
	return value.Type{Kind: value.Datetime, Scale: scale}
}

// dateParser reads a text in a format, as MariaDB does (extract_date_time in sql/item_timefunc.cc).
type dateParser struct {
	value.Clock
	rest              []byte // of the text
	twelve, afternoon bool   // its hour is one of 12
	weekday           int    // from 1 for Monday; 0: none
	yearDay           int
	week              int  // -1: none
	fromSunday        bool // how the week is counted
	ofWeeks           bool // the week is one of the years of %X and %x
	weekYear          int  // -1: none
	yearFromSunday    bool // it is that of %X
}

// parsed reads a text in a format. What follows the end of one of them does not matter, and a month can have 31 days.
func parsed(text, format []byte) (value.Clock, bool) {
	p := &dateParser{rest: text, week: -1, weekYear: -1}
	ok := p.all(format) && p.day()
	return p.Clock, ok && p.Month <= 12 && p.Day <= 31 && p.Hour <= 23 && p.Minute <= 59 && p.Second <= 59
}

// all reads the parts of a format.
func (p *dateParser) all(format []byte) bool {
	p.twelve, p.afternoon = false, false
	for i := 0; i < len(format) && len(p.rest) > 0; i++ {
		if p.rest = bytes.TrimLeft(p.rest, " \t\n\v\f\r"); len(p.rest) == 0 {
			break
		}
		switch c := format[i]; {
		case c == '%' && i+1 < len(format):
			i++
			if !p.part(format[i]) {
				return false
			}
		case c == ' ' || c >= '\t' && c <= '\r':
		case p.rest[0] != c:
			return false
		default:
			p.rest = p.rest[1:]
		}
	}
	if p.twelve {
		if p.Hour < 1 || p.Hour > 12 {
			return false
		}
		if p.Hour %= 12; p.afternoon {
			p.Hour += 12
		}
	}
	return true
}

// part reads one part.
func (p *dateParser) part(letter byte) bool {
	switch letter {
	case 'Y':
		before := len(p.rest)
		ok := p.number(&p.Year, 4)
		if before-len(p.rest) <= 2 {
			p.Year = century(p.Year)
		}
		return ok
	case 'y':
		ok := p.number(&p.Year, 2)
		p.Year = century(p.Year)
		return ok
	case 'm', 'c':
		return p.number(&p.Month, 2)
	case 'M', 'b':
		return p.name(&p.Month, 12, letter == 'b', func(i int) string { return time.Month(i).String() })
	case 'd', 'e':
		return p.number(&p.Day, 2)
	case 'D':
		ok := p.number(&p.Day, 2)
		p.rest = p.rest[min(len(p.rest), 2):]
		return ok
	case 'h', 'I', 'l', 'k', 'H':
		p.twelve = p.twelve || letter != 'k' && letter != 'H'
		return p.number(&p.Hour, 2)
	case 'i':
		return p.number(&p.Minute, 2)
	case 's', 'S':
		return p.number(&p.Second, 2)
	case 'f':
		before := len(p.rest)
		ok := p.number(&p.Micro, 6)
		for read := before - len(p.rest); read < 6; read++ {
			p.Micro *= 10
		}
		return ok
	case 'p':
		return p.half()
	case 'r':
		return p.clock("%I:%i:%S %p")
	case 'T':
		return p.clock("%H:%i:%S")
	case '.', '@', '#':
		p.skip(letter)
		return true
	}
	return p.weekPart(letter)
}

// weekPart reads a part that counts days or weeks.
func (p *dateParser) weekPart(letter byte) bool {
	switch letter {
	case 'W', 'a':
		return p.name(&p.weekday, 7, letter == 'a', func(i int) string { return time.Weekday(i % 7).String() })
	case 'w':
		ok := p.number(&p.weekday, 1) && p.weekday < 7
		if p.weekday == 0 {
			p.weekday = 7
		}
		return ok
	case 'j':
		return p.number(&p.yearDay, 3)
	case 'V', 'U', 'v', 'u':
		p.fromSunday, p.ofWeeks = letter == 'U' || letter == 'V', letter == 'V' || letter == 'v'
		return p.number(&p.week, 2) && p.week <= 53 && (p.week > 0 || !p.ofWeeks)
	case 'X', 'x':
		p.yearFromSunday = letter == 'X'
		return p.number(&p.weekYear, 4)
	}
	return false
}

func century(year int) int {
	if year < 70 {
		return year + 2000
	}
	return year + 1900
}

// number reads a number of at most width characters, of which the first can be a +.
func (p *dateParser) number(into *int, width int) bool {
	text := p.rest[:min(len(p.rest), width)]
	at := 0
	if len(text) > 0 && text[0] == '+' {
		at = 1
	}
	from := at
	*into = 0
	for ; at < len(text) && text[at] >= '0' && text[at] <= '9'; at++ {
		*into = *into*10 + int(text[at]-'0')
	}
	p.rest = p.rest[at:]
	return at > from
}

// name reads a name, or its first three letters, in any case; its number begins with 1. The beginning of one is enough
// if no other one has it.
func (p *dateParser) name(into *int, names int, short bool, of func(int) string) bool {
	n := 0
	for n < len(p.rest) && (p.rest[n]|0x20 >= 'a' && p.rest[n]|0x20 <= 'z' || p.rest[n] >= 0xC0) {
		n++
	}
	word, found := string(p.rest[:n]), 0
	p.rest = p.rest[n:]
	for i := 1; i <= names; i++ {
		name := of(i)
		if short {
			name = name[:3]
		}
		switch {
		case strings.EqualFold(name, word):
			*into = i
			return true
		case n < len(name) && strings.EqualFold(name[:n], word):
			found++
			*into = i
		}
	}
	return found == 1
}

// half reads AM or PM.
func (p *dateParser) half() bool {
	if len(p.rest) < 2 || !p.twelve {
		return false
	}
	word := strings.ToUpper(string(p.rest[:2]))
	p.afternoon = p.afternoon || word == "PM"
	p.rest = p.rest[2:]
	return word == "PM" || word == "AM"
}

// clock reads a time, whose halves of the day are its own.
func (p *dateParser) clock(format string) bool {
	twelve, afternoon := p.twelve, p.afternoon
	ok := p.all([]byte(format))
	p.twelve, p.afternoon = twelve, afternoon
	return ok
}

// skip passes punctuation, letters or digits.
func (p *dateParser) skip(class byte) {
	p.rest = bytes.TrimLeftFunc(p.rest, func(r rune) bool {
		digit := r >= '0' && r <= '9'
		letter := r|0x20 >= 'a' && r|0x20 <= 'z'
		switch class {
		case '#':
			return digit
		case '@':
			return letter
		}
		return r > ' ' && r < 0x7f && !digit && !letter
	})
}

// day finds the day that a number of days or weeks means.
func (p *dateParser) day() bool {
	if p.yearDay > 0 && !p.setDay(dayNumber(p.Year, 1, 1)+p.yearDay-1) {
		return false
	}
	if p.week < 0 || p.weekday == 0 {
		return true
	}
	year := p.Year
	switch {
	case p.ofWeeks && (p.weekYear < 0 || p.yearFromSunday != p.fromSunday), !p.ofWeeks && p.weekYear >= 0:
		return false
	case p.ofWeeks:
		year = p.weekYear
	}
	days := dayNumber(year, 1, 1)
	first := weekday(days, !p.fromSunday) // that of January 1
	if days += (p.week-1)*7 - first; p.fromSunday {
		days += p.weekday % 7
	} else {
		days += p.weekday - 1
	}
	if p.fromSunday && first != 0 || !p.fromSunday && first > 3 {
		days += 7
	}
	return p.setDay(days)
}

// setDay sets the date of a day since the year 0; false: it is none of the years 1 to 9999.
func (p *dateParser) setDay(day int) bool {
	t := time.Date(1, 1, 1+day-366, 0, 0, 0, 0, time.UTC)
	p.Year, p.Month, p.Day = t.Year(), int(t.Month()), t.Day()
	return day >= 366 && t.Year() <= 9999
}
