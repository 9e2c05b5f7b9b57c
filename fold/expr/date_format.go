package expr

import (
	"fmt"
	"time"

	"github.com/fanfold/fanfold/fold/value"
)

// dateFormat computes DATE_FORMAT with English names.
func dateFormat(c *call) *Expr { return formatting(c, value.Datetime) }

// timeFormat computes TIME_FORMAT, whose format has no parts of a date.
func timeFormat(c *call) *Expr { return formatting(c, value.Time) }

func formatting(c *call, kind value.Kind) *Expr {
	return strict(text, c.args, func(args []value.Value) (value.Value, error) {
		v, format := value.ToTemporal(args[0], kind), textOf(args[1], c.args[1])
		if v.IsNull() || len(format) == 0 {
			return value.Value{}, nil
		}
		out, ok := formatted(v, format)
		if !ok {
			return value.Value{}, nil
		}
		return value.OfText(out), nil
	})
}

// formatted writes a datetime or time in a format; false if it lacks a part, such as the month for its name.
func formatted(v value.Value, format []byte) ([]byte, bool) {
	k := v.Clock()
	var out []byte
	if k.Negative {
		out = append(out, '-')
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out = append(out, format[i])
			continue
		}
		i++
		if of, ok := clockParts[format[i]]; ok {
			out = of(out, k)
			continue
		}
		of, ok := dateParts[format[i]]
		if !ok { // %% too
			out = append(out, format[i])
			continue
		}
		if v.Kind == value.Time {
			return nil, false
		}
		if out, ok = of(out, k); !ok {
			return nil, false
		}
	}
	return out, true
}

// clockParts write the parts of a time.
var clockParts = map[byte]func(dst []byte, k value.Clock) []byte{
	'H': func(dst []byte, k value.Clock) []byte { return padded(dst, k.Hour, 2) },
	'h': func(dst []byte, k value.Clock) []byte { return padded(dst, hour12(k), 2) },
	'I': func(dst []byte, k value.Clock) []byte { return padded(dst, hour12(k), 2) },
	'k': func(dst []byte, k value.Clock) []byte { return padded(dst, k.Hour, 1) },
	'l': func(dst []byte, k value.Clock) []byte { return padded(dst, hour12(k), 1) },
	'i': func(dst []byte, k value.Clock) []byte { return padded(dst, k.Minute, 2) },
	'S': func(dst []byte, k value.Clock) []byte { return padded(dst, k.Second, 2) },
	's': func(dst []byte, k value.Clock) []byte { return padded(dst, k.Second, 2) },
	'f': func(dst []byte, k value.Clock) []byte { return padded(dst, k.Micro, 6) },
	'p': func(dst []byte, k value.Clock) []byte { return append(dst, half(k)...) },
	'T': func(dst []byte, k value.Clock) []byte {
		return fmt.Appendf(dst, "%02d:%02d:%02d", k.Hour, k.Minute, k.Second)
	},
	'r': func(dst []byte, k value.Clock) []byte {
		return fmt.Appendf(dst, "%02d:%02d:%02d %s", hour12(k), k.Minute, k.Second, half(k))
	},
}

// dateParts write the parts of a date; false: it lacks the part.
var dateParts = map[byte]func(dst []byte, k value.Clock) ([]byte, bool){
	'Y': func(dst []byte, k value.Clock) ([]byte, bool) { return padded(dst, k.Year, 4), true },
	'y': func(dst []byte, k value.Clock) ([]byte, bool) { return padded(dst, k.Year%100, 2), true },
	'm': func(dst []byte, k value.Clock) ([]byte, bool) { return padded(dst, k.Month, 2), true },
	'c': func(dst []byte, k value.Clock) ([]byte, bool) { return padded(dst, k.Month, 1), true },
	'd': func(dst []byte, k value.Clock) ([]byte, bool) { return padded(dst, k.Day, 2), true },
	'e': func(dst []byte, k value.Clock) ([]byte, bool) { return padded(dst, k.Day, 1), true },
	'D': func(dst []byte, k value.Clock) ([]byte, bool) {
		return append(padded(dst, k.Day, 1), ordinal(k.Day)...), true
	},
	'M': func(dst []byte, k value.Clock) ([]byte, bool) { return nameOf(dst, monthOf(k), 0) },
	'b': func(dst []byte, k value.Clock) ([]byte, bool) { return nameOf(dst, monthOf(k), 3) },
	'W': func(dst []byte, k value.Clock) ([]byte, bool) { return nameOf(dst, weekdayOf(k), 0) },
	'a': func(dst []byte, k value.Clock) ([]byte, bool) { return nameOf(dst, weekdayOf(k), 3) },
	'w': func(dst []byte, k value.Clock) ([]byte, bool) {
		return padded(dst, weekday(dayNumber(k.Year, k.Month, k.Day), false), 1), weekdayOf(k) != ""
	},
	'j': func(dst []byte, k value.Clock) ([]byte, bool) {
		first := dayNumber(k.Year, 1, 1)
		return padded(dst, dayNumber(k.Year, k.Month, k.Day)-first+1, 3), k.Year > 0 && k.Month > 0
	},
	'U': func(dst []byte, k value.Clock) ([]byte, bool) { return weekPart(dst, k, sundays) },
	'u': func(dst []byte, k value.Clock) ([]byte, bool) { return weekPart(dst, k, mondays) },
	'V': func(dst []byte, k value.Clock) ([]byte, bool) { return weekPart(dst, k, sundays|ofYear) },
	'v': func(dst []byte, k value.Clock) ([]byte, bool) { return weekPart(dst, k, mondays|ofYear) },
	'X': func(dst []byte, k value.Clock) ([]byte, bool) { return yearPart(dst, k, sundays|ofYear) },
	'x': func(dst []byte, k value.Clock) ([]byte, bool) { return yearPart(dst, k, mondays|ofYear) },
}

// padded appends a number with at least so many digits.
func padded(dst []byte, n, width int) []byte { return fmt.Appendf(dst, "%0*d", width, n) }

func hour12(k value.Clock) int { return (k.Hour%24+11)%12 + 1 }

func half(k value.Clock) string {
	if k.Hour%24 >= 12 {
		return "PM"
	}
	return "AM"
}

// monthOf returns the name of the month, or none.
func monthOf(k value.Clock) string {
	if k.Month == 0 {
		return ""
	}
	return time.Month(k.Month).String()
}

// weekdayOf returns the name of the weekday. As in MariaDB, a date with a zero day or month has one.
func weekdayOf(k value.Clock) string {
	if k.Year == 0 && k.Month == 0 {
		return ""
	}
	return time.Weekday(weekday(dayNumber(k.Year, k.Month, k.Day), false)).String()
}

// nameOf appends the first letters of a name; 0: all.
func nameOf(dst []byte, name string, letters int) ([]byte, bool) {
	if name != "" && letters > 0 {
		name = name[:letters]
	}
	return append(dst, name...), name != ""
}

func ordinal(day int) string {
	switch {
	case day >= 10 && day <= 19:
		return "th"
	case day%10 == 1:
		return "st"
	case day%10 == 2:
		return "nd"
	case day%10 == 3:
		return "rd"
	}
	return "th"
}

func weekPart(dst []byte, k value.Clock, mode weekMode) ([]byte, bool) {
	week, _ := weekOf(k, mode)
	return padded(dst, int(week), 2), true
}

func yearPart(dst []byte, k value.Clock, mode weekMode) ([]byte, bool) {
	_, year := weekOf(k, mode)
	return padded(dst, int(year), 4), true
}

// dayNumber counts days since the year 0, also of dates with zeros: as in MariaDB (calc_daynr in sql-common/my_time.c).
func dayNumber(year, month, day int) int {
	if year == 0 && month == 0 {
		return 0
	}
	n := 365*year + 31*(month-1) + day
	if month <= 2 {
		year--
	} else {
		n -= (month*4 + 23) / 10
	}
	return n + year/4 - (year/100+1)*3/4
}

// weekday returns the weekday of a day, from 0 for Sunday, or for Monday.
func weekday(day int, fromMonday bool) int {
	if fromMonday {
		return (day + 5) % 7
	}
	return (day + 6) % 7
}

func daysInYear(year uint32) uint32 {
	if year%4 == 0 && (year%100 != 0 || year%400 == 0 && year != 0) {
		return 366
	}
	return 365
}

// weekMode tells how weeks are counted.
type weekMode int

const (
	mondays   weekMode = 1 << iota // a week begins on Monday; else on Sunday
	ofYear                         // the days before week 1 are in the last week of the year before; else in week 0
	wholeWeek                      // week 1 is the first with all its days in the year; else with 4 of them
	sundays   = wholeWeek
)

// modeOf returns the mode that a number is in WEEK.
func modeOf(n int64) weekMode {
	m := weekMode(n & 7)
	if m&mondays == 0 {
		m ^= wholeWeek
	}
	return m
}

// weekOf returns the week of a day, and its year: as in MariaDB (calc_week in sql/sql_time.cc), whose unsigned numbers
// overflow where a date has zeros.
func weekOf(k value.Clock, mode weekMode) (week, year uint32) {
	whole := mode&wholeWeek != 0
	day, first := uint32(dayNumber(k.Year, k.Month, k.Day)), uint32(dayNumber(k.Year, 1, 1))
	from := uint32(weekday(int(first), mode&mondays != 0))
	later := func() bool { return whole && from != 0 || !whole && from >= 4 } // week 1 begins after January 1
	year = uint32(k.Year)
	if k.Month == 1 && uint32(k.Day) <= 7-from {
		if mode&ofYear == 0 && later() {
			return 0, year
		}
		mode |= ofYear
		year--
		n := daysInYear(year)
		first -= n
		from = (from + 53*7 - n) % 7
	}
	days := day - (first - from)
	if later() {
		days = day - (first + 7 - from)
	}
	if mode&ofYear != 0 && days >= 52*7 {
		if from = (from + daysInYear(year)) % 7; !later() {
			return 1, year + 1
		}
	}
	return days/7 + 1, year
}

// week computes WEEK.
func week(c *call) *Expr {
	return inWeek(c, 0, func(week, _ uint32) int64 { return int64(week) })
}

// weekOfYear computes WEEKOFYEAR, the week of ISO 8601.
func weekOfYear(c *call) *Expr {
	three := constant(value.OfInt(3), integer)
	return week(&call{c.Call, append(c.args, three)})
}

// yearWeek computes YEARWEEK.
func yearWeek(c *call) *Expr {
	return inWeek(c, ofYear, func(week, year uint32) int64 { return int64(year*100 + week) })
}

// inWeek computes a function of the week of a day, with a mode that is 0 if it is not given.
func inWeek(c *call, always weekMode, f func(week, year uint32) int64) *Expr {
	return apply(integer, c.args, func(args []value.Value) (value.Value, error) {
		v := value.ToTemporal(args[0], value.Datetime)
		if _, exists := v.GoTime(); v.IsNull() || !exists {
			return value.Value{}, nil
		}
		mode := modeOf(0)
		if len(args) == 2 {
			mode = modeOf(args[1].ToInt().Int)
		}
		return value.OfInt(f(weekOf(v.Clock(), mode|always))), nil
	})
}

// dateName computes DAYNAME and MONTHNAME.
func dateName(c *call, name func(value.Clock) string, zeroDays bool) *Expr {
	return strict(text, c.args, func(args []value.Value) (value.Value, error) {
		v := value.ToTemporal(args[0], value.Datetime)
		_, exists := v.GoTime()
		if v.IsNull() || !exists && !zeroDays || name(v.Clock()) == "" {
			return value.Value{}, nil
		}
		return value.OfText([]byte(name(v.Clock()))), nil
	})
}
