package value

import (
	"time"
)

// A date or datetime is an Int of bit fields, whose order is that of time: the year, 4 bits of the month, 5 of the
// day, 5 of the hour, 6 of the minute, 6 of the second and 20 of the microsecond. Zero dates such as 2024-00-00 have
// their place in it. A time is a number of microseconds, from -838:59:59.999999 on.

// Clock are the parts of a date, datetime or time.
type Clock struct {
	Year, Month, Day, Hour, Minute, Second, Micro int
	Negative                                      bool // of a time
}

const micros = 1_000_000

// maxTime is 838:59:59.999999.
const maxTime = (838*3600+59*60+59)*micros + micros - 1

// pack returns the Int of a datetime.
func (c Clock) pack() int64 {
	n := int64(c.Year)
	for _, f := range [...]struct{ v, bits int }{{c.Month, 4}, {c.Day, 5}, {c.Hour, 5}, {c.Minute, 6}, {c.Second, 6},
		{c.Micro, 20}} {
		n = n<<f.bits | int64(f.v)
	}
	return n
}

// Clock returns the parts of a date, datetime or time.
func (v Value) Clock() Clock {
	if v.Kind == Time {
		n := v.Int
		c := Clock{Negative: n < 0}
		n = abs(n)
		c.Micro, n = int(n%micros), n/micros
		c.Second, n = int(n%60), n/60
		c.Minute, c.Hour = int(n%60), int(n/60)
		return c
	}
	part := func(shift, bits int) int { return int(v.Int >> shift & (1<<bits - 1)) }
	return Clock{
		Year: int(v.Int >> 46), Month: part(42, 4), Day: part(37, 5), Hour: part(32, 5), Minute: part(26, 6),
		Second: part(20, 6), Micro: part(0, 20),
	}
}

// OfClock returns a date, datetime or time of these parts. A time beyond 838:59:59.999999 becomes that.
func OfClock(kind Kind, c Clock) Value {
	switch kind {
	case Time:
		n := ((int64(c.Hour)*60+int64(c.Minute))*60+int64(c.Second))*micros + int64(c.Micro)
		if n = min(n, maxTime); c.Negative {
			n = -n
		}
		return Value{Kind: Time, Int: n}
	case Date:
		c.Hour, c.Minute, c.Second, c.Micro = 0, 0, 0, 0
	}
	return Value{Kind: kind, Int: c.pack()}
}

// OfTime returns the datetime of a Go time.
func OfTime(t time.Time) Value {
	return OfClock(Datetime, Clock{Year: t.Year(), Month: int(t.Month()), Day: t.Day(), Hour: t.Hour(),
		Minute: t.Minute(),
		Second: t.Second(), Micro: t.Nanosecond() / 1000})
}

// GoTime returns a date or datetime as a time in UTC; false if it has a zero month or day.
func (v Value) GoTime() (time.Time, bool) {
	c := v.Clock()
	return time.Date(c.Year, time.Month(c.Month), c.Day, c.Hour, c.Minute, c.Second, c.Micro*1000, time.UTC),
		c.Month > 0 && c.Day > 0
}

// appendTemporal appends a date or time with so many decimals of the seconds; own has those that the value needs.
func (v Value) appendTemporal(dst []byte, scale int, own bool) []byte {
	c := v.Clock()
	if v.Kind != Time {
		dst = digits(dst, c.Year, 4)
		dst = digits(append(dst, '-'), c.Month, 2)
		dst = digits(append(dst, '-'), c.Day, 2)
		if v.Kind == Date {
			return dst
		}
		dst = append(dst, ' ')
	} else if c.Negative {
		dst = append(dst, '-')
	}
	dst = digits(dst, c.Hour, 2)
	dst = digits(append(dst, ':'), c.Minute, 2)
	dst = digits(append(dst, ':'), c.Second, 2)
	if own && c.Micro != 0 {
		for scale = 6; c.Micro%10 == 0; scale-- {
			c.Micro /= 10
		}
		return digits(append(dst, '.'), c.Micro, scale)
	}
	if scale == 0 {
		return dst
	}
	return digits(append(dst, '.'), c.Micro/int(powers[6-scale]), scale)
}

// digits appends a number with at least so many digits.
func digits(dst []byte, n, width int) []byte {
	start := len(dst)
	for ; n > 0 || len(dst)-start < width; n /= 10 {
		dst = append(dst, byte('0'+n%10))
	}
	for i, j := start, len(dst)-1; i < j; i, j = i+1, j-1 {
		dst[i], dst[j] = dst[j], dst[i]
	}
	return dst
}

// ParseTemporal parses the text of a date, datetime or time in the form of a cell, and in the other forms that the
// server takes as one: any signs between the parts, or none, and years of two digits.
func ParseTemporal(text []byte, kind Kind) (Value, bool) {
	text = trimSpace(text)
	if kind == Time {
		if v, ok := parseTime(text); ok {
			return v, true
		}
		v, ok := parseDatetime(text)
		return ToTemporal(v, Time), ok
	}
	v, ok := parseDatetime(text)
	if ok && kind == Date {
		v = OfClock(Date, v.Clock())
	}
	return v, ok
}

func trimSpace(text []byte) []byte {
	for len(text) > 0 && isSpace(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && isSpace(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads digits at the start of a text, at most max.
func number(text []byte, max int) (n, length int) {
	for length < len(text) && length < max && isDigit(text[length]) {
		n = n*10 + int(text[length]-'0')
		length++
	}
	return n, length
}

// fraction reads the fraction of a second, of which it cuts what is below a microsecond.
func fraction(text []byte) (micro, length int) {
	scale := 6
	for length = 0; length < len(text) && isDigit(text[length]); length++ {
		if scale > 0 {
			micro = micro*10 + int(text[length]-'0')
			scale--
		}
	}
	return micro * int(powers[scale]), length
}

// parseDatetime parses a date or datetime.
func parseDatetime(text []byte) (Value, bool) {
	var c Clock
	parts := [...]*int{&c.Year, &c.Month, &c.Day, &c.Hour, &c.Minute, &c.Second}
	_, whole := number(text, len(text))
	if whole == len(text) || text[whole] == '.' && whole >= 12 {
		return parseCompact(text, whole)
	}
	read := 0
	for i, part := range parts {
		v, length := number(text, 4)
		if length == 0 {
			return Value{}, false
		}
		if i == 0 && length <= 2 {
			v = century(v)
		} else if i > 0 && length > 2 {
			return Value{}, false
		}
		*part, text = v, text[length:]
		read++
		if len(text) == 0 || i == len(parts)-1 {
			break
		}
		if i == 2 && (text[0] == 'T' || isSpace(text[0])) {
			text = trimSpace(text[1:])
			continue
		}
		if isDigit(text[0]) || text[0] >= 0x80 || text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z' || isSpace(text[0]) {
			return Value{}, false
		}
		text = text[1:]
	}
	if len(text) > 0 && text[0] == '.' && read == len(parts) {
		micro, length := fraction(text[1:])
		c.Micro, text = micro, text[1+length:]
	}
	if len(text) > 0 || read < 3 || !c.valid() {
		return Value{}, false
	}
	return OfClock(Datetime, c), true
}

// parseCompact parses YYYYMMDD, YYMMDD and the same with hhmmss.
func parseCompact(text []byte, whole int) (Value, bool) {
	var c Clock
	year := 4
	switch whole {
	case 6, 12:
		year = 2
	case 8, 14:
	default:
		return Value{}, false
	}
	rest := text
	for i, part := range [...]*int{&c.Year, &c.Month, &c.Day, &c.Hour, &c.Minute, &c.Second} {
		width := 2
		if i == 0 {
			width = year
		}
		if len(rest) == 0 || rest[0] == '.' {
			break
		}
		*part, _ = number(rest, width)
		rest = rest[width:]
	}
	if year == 2 {
		c.Year = century(c.Year)
	}
	if len(rest) > 1 {
		c.Micro, _ = fraction(rest[1:])
	}
	return OfClock(Datetime, c), c.valid()
}

// century completes a year of two digits.
func century(year int) int {
	if year < 70 {
		return 2000 + year
	}
	return 1900 + year
}

// valid tells whether the server accepts a date: zeros are allowed, and a day that the month has.
func (c Clock) valid() bool {
	if c.Month > 12 || c.Hour > 23 || c.Minute > 59 || c.Second > 59 {
		return false
	}
	return c.Day <= 28 || c.Month > 0 && c.Day <= daysOf(c.Year, c.Month) || c.Month == 0 && c.Day <= 31
}

// daysOf returns the number of days of a month.
func daysOf(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// parseTime parses [-][days ]hh:mm[:ss[.ffffff]] and hhmmss.
func parseTime(text []byte) (Value, bool) {
	var c Clock
	if len(text) > 0 && text[0] == '-' {
		c.Negative, text = true, text[1:]
	}
	first, length := number(text, 9)
	if length == 0 {
		return Value{}, false
	}
	text = text[length:]
	days := 0
	if len(text) > 1 && text[0] == ' ' && isDigit(text[1]) {
		days, text = first, text[1:]
		if first, length = number(text, 2); length == 0 {
			return Value{}, false
		}
		text = text[length:]
	} else if len(text) == 0 || text[0] == '.' { // hhmmss
		c.Hour, c.Minute, c.Second = first/10000, first/100%100, first%100
		return c.finish(text)
	}
	if c.Hour = days*24 + first; len(text) == 0 || text[0] != ':' {
		return c.finish(text)
	}
	if c.Minute, length = number(text[1:], 2); length == 0 {
		return Value{}, false
	}
	if text = text[1+length:]; len(text) > 0 && text[0] == ':' {
		if c.Second, length = number(text[1:], 2); length == 0 {
			return Value{}, false
		}
		text = text[1+length:]
	}
	return c.finish(text)
}

// finish reads the fraction of a time.
func (c Clock) finish(text []byte) (Value, bool) {
	if len(text) > 0 && text[0] == '.' {
		micro, length := fraction(text[1:])
		c.Micro, text = micro, text[1+length:]
	}
	if len(text) > 0 || c.Minute > 59 || c.Second > 59 {
		return Value{}, false
	}
	return OfClock(Time, c), true
}
