package value

import (
	"math"
	"math/big"
	"time"
)

// How a text is read as a date or time, as by the server (sql-common/my_time.c): any sign stands between the parts, or
// none; years have two or four digits; and what follows a complete date is ignored where a text is converted.

// reading tells what a text is.
type reading int

const (
	noTemporal reading = iota // no date or time
	noSuchDay                 // a date with a day that its month does not have
	readPart                  // a date or time, with something behind it
	readWhole                 // a date or time
)

// ParseTemporal parses the whole text of a date, datetime or time, as in a cell or a literal.
func ParseTemporal(text []byte, kind Kind) (Value, bool) {
	if kind != Time {
		if n, ok := usualDatetime(text); ok && kind == Date {
			return Value{Kind: Date, Int: n &^ (1<<dayAt - 1)}, true
		} else if ok {
			return Value{Kind: kind, Int: n}, true
		}
	}
	v, how := readTemporal(text, kind)
	return v, how == readWhole
}

// dayAt is where the day begins in the Int of a datetime, above its time.
const dayAt = 37

// usualDatetime parses YYYY-MM-DD and YYYY-MM-DD hh:mm:ss, the forms of most cells, as the Int of a datetime. False
// means unknown.
func usualDatetime(text []byte) (n int64, ok bool) {
	if len(text) != len(time.DateOnly) && len(text) != len(time.DateTime) || text[4] != '-' || text[7] != '-' {
		return 0, false
	}
	bad := false
	two := func(at int) int64 {
		tens, ones := text[at]-'0', text[at+1]-'0'
		bad = bad || tens > 9 || ones > 9
		return int64(tens)*10 + int64(ones)
	}
	year, month, day := two(0)*100+two(2), two(5), two(8)
	if n = (year<<4|month)<<5 | day; bad || month > 12 || day > 28 {
		return 0, false
	}
	if len(text) == len(time.DateOnly) {
		return n << dayAt, true
	}
	hour, minute, second := two(11), two(14), two(17)
	n = ((n<<5|hour)<<6|minute)<<6 | second
	return n << 20, !bad && text[10] == ' ' && text[13] == ':' && text[16] == ':' &&
		hour <= 23 && minute <= 59 && second <= 59
}

// readTemporal reads a date, datetime or time at the start of a text.
func readTemporal(text []byte, kind Kind) (Value, reading) {
	r := clockReader{text: text}
	c, how := r.temporal(kind)
	return OfClock(kind, c), how
}

// Decimals returns the decimals of the seconds that a text has as a datetime or time; 6 if it is none.
func Decimals(text []byte, kind Kind) int {
	r := clockReader{text: text}
	if _, how := r.temporal(kind); how < readPart {
		return 6
	}
	return min(r.decimals, 6)
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLetter(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z'
}
func isPunctuation(c byte) bool { return c > ' ' && c < 0x7f && !isDigit(c) && !isLetter(c) }

// clockReader reads the parts of a date or time.
type clockReader struct {
	text     []byte
	at       int
	read     int // parts that were read
	decimals int // of the seconds
}

// temporal reads a date, datetime or time.
func (r *clockReader) temporal(kind Kind) (Clock, reading) {
	if kind == Time {
		return r.time()
	}
	return r.datetime(true)
}

func (r *clockReader) done() bool { return r.at >= len(r.text) }

func (r *clockReader) spaces() {
	for !r.done() && isSpace(r.text[r.at]) {
		r.at++
	}
}

// digits returns the number of digits that follow.
func (r *clockReader) digits() int {
	n := 0
	for r.at+n < len(r.text) && isDigit(r.text[r.at+n]) {
		n++
	}
	return n
}

// number reads a part of at most width digits. The end of the text is a part that was not written.
func (r *clockReader) number(part *int, width int) bool {
	if r.done() {
		return true
	}
	n := min(r.digits(), width)
	if n == 0 {
		return false
	}
	*part = parse(r.text[r.at : r.at+n])
	r.at += n
	r.read++
	return true
}

// parse returns the number of digits, at most one that no part can have.
func parse(digits []byte) int {
	n := 0
	for _, c := range digits {
		n = min(n*10+int(c-'0'), 1<<33)
	}
	return n
}

// punctuation passes one sign between two parts.
func (r *clockReader) punctuation() bool {
	if r.done() {
		return true
	}
	if !isPunctuation(r.text[r.at]) {
		return false
	}
	r.at++
	return true
}

// separator passes what stands between a date and its time: T, spaces or, if any is true, another sign.
func (r *clockReader) separator(any bool) bool {
	switch {
	case r.done():
		return true
	case r.text[r.at] == 'T':
		r.at++
		return true
	case isSpace(r.text[r.at]):
		r.spaces()
		return true
	case !isPunctuation(r.text[r.at]):
		return false
	}
	if !any {
		r.read = 0 // it is a time
		return false
	}
	r.at++
	return true
}

// fraction reads the fraction of a second, of which it cuts what is below a microsecond.
func (r *clockReader) fraction() (micro int) {
	scale := 6
	for r.at++; !r.done() && isDigit(r.text[r.at]); r.at++ {
		if r.decimals++; scale > 0 {
			micro = micro*10 + int(r.text[r.at]-'0')
			scale--
		}
	}
	return micro * int(powers[scale])
}

// rest returns whether only spaces are left.
func (r *clockReader) rest() reading {
	if r.spaces(); r.done() {
		return readWhole
	}
	return readPart
}

// datetime reads a date or datetime. any: any sign separates date and time.
func (r *clockReader) datetime(any bool) (c Clock, how reading) {
	r.spaces()
	if r.digits() == 0 {
		return c, noTemporal
	}
	all, yearDigits := false, 0
	if compact, n := r.compact(); compact {
		if yearDigits = 2; n == 4 || n == 8 || n >= 14 {
			yearDigits = 4
		}
		all = r.number(&c.Year, yearDigits) && r.number(&c.Month, 2) && r.number(&c.Day, 2) && r.maybeT() &&
			r.number(&c.Hour, 2) && r.number(&c.Minute, 2) && r.number(&c.Second, 2)
	} else {
		yearDigits = r.digits()
		all = r.number(&c.Year, yearDigits) && r.punctuation() && r.number(&c.Month, len(r.text)) && r.punctuation() &&
			r.number(&c.Day, len(r.text)) && r.separator(any) && r.number(&c.Hour, len(r.text)) && r.punctuation() &&
			r.number(&c.Minute, len(r.text)) && r.punctuation() && r.number(&c.Second, len(r.text))
	}
	if r.read < 3 {
		return Clock{}, noTemporal
	}
	if all && !r.done() && r.text[r.at] == '.' {
		c.Micro = r.fraction()
	}
	if yearDigits == 2 && c != (Clock{}) {
		c.Year = century(c.Year)
	}
	switch {
	case c.Year > 9999 || c.Month > 12 || c.Day > 31 || c.Hour > 23 || c.Minute > 59 || c.Second > 59:
		return Clock{}, noTemporal
	case !c.HasDay():
		return c, noSuchDay
	case !all:
		return c, readPart
	}
	return c, r.rest()
}

// compact tells whether the text is [YY]YYMMDD[T][hh[mm[ss[.uuuuuu]]]], and the number of its digits before the point.
func (r clockReader) compact() (compact bool, digits int) {
	digits = r.digits()
	if r.at += digits; !r.done() && isLetter(r.text[r.at]) {
		r.at++
		digits += r.digits()
		r.at += r.digits()
	}
	if !r.done() && r.text[r.at] == '.' && digits >= 12 {
		return true, digits
	}
	return r.done(), digits
}

func (r *clockReader) maybeT() bool {
	if !r.done() && r.text[r.at] == 'T' {
		r.at++
	}
	return true
}

// century completes a year of two digits.
func century(year int) int {
	if year < 70 {
		return 2000 + year
	}
	return 1900 + year
}

// maxHours is more than a time can have.
const maxHours = 10_000

// HasDay tells whether the month of a date has its day; a zero month has all.
func (c Clock) HasDay() bool {
	return c.Day <= 28 || c.Month == 0 || c.Day <= daysOf(c.Year, c.Month)
}

// daysOf returns the number of days of a month.
func daysOf(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// time reads [-][days ]hh:mm[:ss[.ffffff]] and hhmmss, or the time of a datetime.
func (r *clockReader) time() (c Clock, how reading) {
	if r.spaces(); !r.done() && (r.text[r.at] == '-' || r.text[r.at] == '+') {
		c.Negative = r.text[r.at] == '-'
		r.at++
		r.spaces()
	}
	if r.text = r.text[r.at:]; len(r.text) >= 12 {
		full := clockReader{text: r.text}
		d, how := full.datetime(false)
		switch {
		case how == noTemporal && full.read >= 3, how >= noSuchDay && full.read > 3 && c.Negative:
			return Clock{}, noTemporal
		case how >= noSuchDay && full.read > 3:
			r.decimals = full.decimals
			d.Year, d.Month, d.Day = 0, 0, 0
			return d, max(how, readPart)
		}
	}
	if r.at = 0; r.digits() == 0 || !r.clock(&c) {
		return Clock{}, noTemporal
	}
	if !r.done() && r.text[r.at] == '.' {
		c.Micro = r.fraction()
	}
	if c.Minute > 59 || c.Second > 59 || isExponent(r.text[r.at:]) {
		return Clock{}, noTemporal
	}
	return c, r.rest()
}

// clock reads the days, hours, minutes and seconds of a time; false if a number is too large.
func (r *clockReader) clock(c *Clock) bool {
	var first, days int
	_ = r.number(&first, len(r.text))
	if first > math.MaxUint32 {
		return false
	}
	end := r.at
	if r.spaces(); r.at > end && len(r.text)-r.at > 1 && isDigit(r.text[r.at]) {
		days = first
		_ = r.number(&first, len(r.text))
	} else if !r.colon() {
		r.at = end
		c.Hour, c.Minute, c.Second = first/10000, first/100%100, first%100
		return true
	}
	c.Hour = min(days, maxHours)*24 + min(first, maxHours)
	if r.colon() {
		r.at++
		if _ = r.number(&c.Minute, len(r.text)); r.colon() {
			r.at++
			_ = r.number(&c.Second, len(r.text))
		}
	}
	return true
}

// colon tells whether a colon and a digit follow.
func (r *clockReader) colon() bool {
	return len(r.text)-r.at > 1 && r.text[r.at] == ':' && isDigit(r.text[r.at+1])
}

// isExponent tells whether a text begins with the exponent of a number, which makes it no time.
func isExponent(rest []byte) bool {
	if len(rest) < 2 || rest[0]|0x20 != 'e' {
		return false
	}
	return isDigit(rest[1]) || len(rest) > 2 && (rest[1] == '-' || rest[1] == '+') && isDigit(rest[2])
}

// IsDate tells whether a text or number is a date without a time of day.
func IsDate(v Value) bool {
	if v.Kind.IsText() {
		r := clockReader{text: v.Bytes}
		_, _ = r.datetime(true)
		return r.read <= 3
	}
	return v.ToInt().Int < 100_000_000
}

// ofNumber reads a number as a date, datetime or time: [YY]YYMMDD[hhmmss] or [-]hhmmss.
func ofNumber(d Dec, kind Kind) (Value, reading) {
	whole := d.Truncate(0)
	n := whole.int()
	micro := int(d.Add(whole.Neg()).Truncate(6).Mul(DecOf(micros)).Truncate(0).small)
	if kind == Time {
		return timeOfNumber(n, micro)
	}
	if !n.IsInt64() || d.Sign() < 0 {
		return OfClock(kind, Clock{}), noTemporal
	}
	date := n.Int64()
	if date > 0 && date <= 99991231 {
		micro = 0 // it has no time
	}
	switch {
	case date != 0 && date < 101, date > 691231 && date < 700101, date > 991231 && date < 101_0101,
		date > 99991231 && date < 101_000000, date > 691231_235959 && date < 700101_000000,
		date > 991231_235959 && date < 10000101_000000, date > 99999999_999999:
		return OfClock(kind, Clock{}), noTemporal
	case date > 0 && date <= 691231:
		date = (date + 2000_0000) * 1_000_000
	case date > 0 && date <= 991231:
		date = (date + 1900_0000) * 1_000_000
	case date > 0 && date <= 99991231:
		date *= 1_000_000
	case date > 0 && date <= 691231_235959:
		date += 2000_0000_000000
	case date > 0 && date <= 991231_235959:
		date += 1900_0000_000000
	}
	part := func(unit int64) int { return int(date / unit % 100) }
	c := Clock{Year: int(date / 1e10), Month: part(1e8), Day: part(1e6), Hour: part(1e4), Minute: part(100),
		Second: part(1), Micro: micro}
	switch {
	case c.Month > 12 || c.Day > 31 || c.Hour > 23 || c.Minute > 59 || c.Second > 59:
		return OfClock(kind, Clock{}), noTemporal
	case !c.HasDay():
		return OfClock(kind, c), noSuchDay
	}
	return OfClock(kind, c), readWhole
}

// timeOfNumber reads hhmmss; a datetime is the time of its day.
func timeOfNumber(n *big.Int, micro int) (Value, reading) {
	if n.Cmp(big.NewInt(9_999_999)) > 0 && n.Cmp(big.NewInt(99991231_235959)) < 0 {
		v, how := ofNumber(normal(n, 0), Datetime)
		c := v.Clock()
		c.Year, c.Month, c.Day, c.Micro = 0, 0, 0, micro
		if how == noSuchDay {
			how = readPart
		}
		return OfClock(Time, c), how
	}
	c := Clock{Negative: n.Sign() < 0 || micro < 0, Micro: max(micro, -micro), Hour: maxHours}
	if n.IsInt64() {
		s := abs(n.Int64())
		c.Hour, c.Minute, c.Second = int(min(s/10000, maxHours)), int(s/100%100), int(s%100)
	}
	if c.Minute > 59 || c.Second > 59 {
		return OfClock(Time, Clock{}), noTemporal
	}
	return OfClock(Time, c), readWhole
}
