package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Zones are the zone of a column's datetimes, and that in which a file has them.
type Zones struct{ from, to *time.Location }

// NewZones returns the zones of a name each; from is empty for UTC, and to for the same zone.
func NewZones(from, to string) (z Zones, err error) {
	if z.from, err = time.LoadLocation(from); err != nil {
		return z, fmt.Errorf("time zone of a column: %w", err)
	}
	z.to = z.from
	if to != "" && to != z.from.String() {
		if z.to, err = time.LoadLocation(to); err != nil {
			return z, fmt.Errorf("time_zone: %w", err)
		}
	}
	return z, nil
}

// Moment parses a date or datetime of a source, and returns it in the zone of the file; the fraction includes the
// point. ok is false for a value that is not in the calendar, such as 0000-00-00. A datetime that would leave the years
// 0 to 9999 keeps its zone.
func (z Zones) Moment(text []byte, kind report.Kind) (moment time.Time, fraction []byte, ok bool) {
	if moment, fraction, ok = parseMoment(text, kind); !ok || kind == report.KindDate {
		return moment, fraction, ok
	}
	if z.from == time.UTC && z.to == time.UTC {
		return moment, fraction, true
	}
	if z.from != time.UTC {
		moment = report.OnDay(moment, z.from)
	}
	if local := moment.In(z.to); local.Year() >= 0 && local.Year() <= 9999 {
		moment = local
	}
	return moment, fraction, true
}

// dateStyle says how dates and datetimes are written.
type dateStyle struct {
	Zones
	date, datetime layout // nil: unchanged
}

// newDateStyle returns the style of CSV for datetimes of a zone, empty being UTC, that are written in
// another; empty: the same.
func newDateStyle(o *CSVOptions, from, to string) (s dateStyle, err error) {
	if s.Zones, err = NewZones(from, to); err != nil {
		return s, err
	}
	if o.Date != "" {
		if s.date, err = parseLayout(string(o.Date), dateTokens); err != nil {
			return s, fmt.Errorf("date: %w", err)
		}
	}
	if o.Datetime != "" {
		if s.datetime, err = parseLayout(string(o.Datetime), datetimeTokens); err != nil {
			return s, fmt.Errorf("datetime: %w", err)
		}
	}
	return s, nil
}

// changes tells whether values of a kind are rewritten.
func (s *dateStyle) changes(kind report.Kind) bool {
	return kind == report.KindDate && s.date != nil || kind == report.KindDatetime &&
		(s.datetime != nil || s.from != s.to)
}

// sourceLayout is the layout of datetimes of sources, without the fraction.
var sourceLayout, _ = parseLayout("YYYY-MM-DD HH:mm:ss", datetimeTokens)

// rewrite rewrites the date or datetime that begins at start. A value that is not in the calendar is unchanged.
func (s *dateStyle) rewrite(dst []byte, start int, kind report.Kind) []byte {
	moment, fraction, ok := s.Moment(dst[start:], kind)
	if !ok {
		return dst
	}
	if kind == report.KindDate {
		return s.date.append(dst[:start], moment)
	}
	if s.datetime != nil {
		return s.datetime.append(dst[:start], moment)
	}
	var digits [16]byte // a copy: the layout overwrites the fraction in dst
	n := copy(digits[:], fraction)
	return append(sourceLayout.append(dst[:start], moment), digits[:n]...)
}

// parseMoment parses a date or datetime of a source as if its zone were UTC. The fraction includes
// the point. It takes half of the time of time.Time.UnmarshalText.
func parseMoment(text []byte, kind report.Kind) (moment time.Time, fraction []byte, ok bool) {
	const date, seconds, longest = len("2006-01-02"), len("2006-01-02 15:04:05"), len("2006-01-02 15:04:05.999999999")
	hour, minute, second, nanos := 0, 0, 0, 0
	switch {
	case kind == report.KindDate && len(text) == date:
	case kind != report.KindDate && len(text) >= seconds && len(text) <= longest:
		if text[10] != ' ' || text[13] != ':' || text[16] != ':' {
			return moment, nil, false
		}
		hour, minute, second = pair(text[11:]), pair(text[14:]), pair(text[17:])
		if fraction = text[seconds:]; len(fraction) > 0 {
			if nanos, ok = nanosOf(fraction); !ok {
				return moment, nil, false
			}
		}
	default:
		return moment, nil, false
	}
	century, year, month, day := pair(text), pair(text[2:]), pair(text[5:]), pair(text[8:])
	if text[4] != '-' || text[7] != '-' || century > 99 || year > 99 || month < 1 || month > 12 || day < 1 ||
		day > daysIn(century*100+year, month) || hour > 23 || minute > 59 || second > 59 {
		return moment, nil, false
	}
	day = unixDay(century*100+year, month, day)
	return time.Unix(int64(day*86_400+hour*3600+minute*60+second), int64(nanos)).UTC(), fraction, true
}

// pair returns the number that two digits are; 100: they are none.
func pair(text []byte) int {
	a, b := text[0]-'0', text[1]-'0'
	if a > 9 || b > 9 {
		return 100
	}
	return int(a)*10 + int(b)
}

// nanosOf returns a fraction of a second in nanoseconds. A comma may be its point.
func nanosOf(fraction []byte) (nanos int, ok bool) {
	if len(fraction) < 2 || fraction[0] != '.' && fraction[0] != ',' {
		return 0, false
	}
	unit := 1_000_000_000
	for _, c := range fraction[1:] {
		if c < '0' || c > '9' {
			return 0, false
		}
		unit /= 10
		nanos += int(c-'0') * unit
	}
	return nanos, true
}

// daysIn returns the days of a month.
func daysIn(year, month int) int {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	}
	return 30 + (month+month/8)%2
}

// unixDay returns the days from 1970-01-01 to a date. A year begins in March here, so that a leap day ends it.
func unixDay(year, month, day int) int {
	const era, first = 146_097, 719_468 // days of 400 years, and from 0000-03-01 to 1970-01-01
	if month -= 3; month < 0 {
		month, year = month+12, year-1
	}
	year += 400 // so that it is not negative
	return year*365 + year/4 - year/100 + year/400 + (153*month+2)/5 + day - 1 - era - first
}

// layout is the layout of a date or datetime: tokens, and texts between them.
type layout []string

var (
	dateTokens     = []string{"YYYY", "YY", "MM", "DD"}
	datetimeTokens = append(slices.Clone(dateTokens), "HH", "hh", "mm", "ss", "ffffff", "fff", "AM", "ZZ")
)

var errLayout = errors.New("invalid format")

// layoutParts is the part of a date or datetime that every token writes.
var layoutParts = map[string]string{
	"YYYY": "the year", "YY": "the year", "MM": "the month", "DD": "the day", "HH": "the hour", "hh": "the hour",
	"mm": "the minute",
	"ss": "the second", "ffffff": "the fraction", "fff": "the fraction", "AM": "AM or PM", "ZZ": "the zone",
}

// check refuses a part that occurs twice, such as MM for both month and minute, and an hour of 12
// without AM or PM.
func (l layout) check() error {
	tokens := map[string]string{} // by part
	for _, piece := range l {
		part, ok := layoutParts[piece]
		if !ok {
			continue
		}
		if before, twice := tokens[part]; twice {
			found := before
			if before != piece {
				found += " and " + piece
			}
			remedy := "Write it once"
			if piece == "MM" {
				remedy += ": MM is the month, and mm the minute"
			}
			return &report.Mistake{Message: fmt.Sprintf("%s occurs twice (%s)", part, found), Remedy: remedy}
		}
		tokens[part] = piece
	}
	switch half := tokens["AM or PM"] != ""; {
	case tokens["the hour"] == "hh" && !half:
		return &report.Mistake{Message: "hh (12 hours) without AM writes 02:00 and 14:00 alike",
			Remedy: "Write HH for 24 hours, or add AM"}
	case half && tokens["the hour"] != "hh":
		return &report.Mistake{Message: "AM requires hh (12 hours)", Remedy: "Write hh for the hour, or remove AM"}
	}
	return nil
}

// parseLayout parses a layout with these tokens; every part may occur once. The only letter that is
// allowed outside tokens is T, as in ISO 8601.
func parseLayout(text string, tokens []string) (layout, error) {
	var l layout
	some := false
	for text != "" {
		i := slices.IndexFunc(tokens, func(token string) bool { return strings.HasPrefix(text, token) })
		piece := text[:1]
		if i >= 0 {
			piece, some = tokens[i], true
		} else if c := text[0] | 0x20; c >= 'a' && c <= 'z' && text[0] != 'T' || text[0] < ' ' || text[0] == 0x7f {
			return nil, fmt.Errorf("%w: %q is not one of %s", errLayout, piece, strings.Join(tokens, " "))
		}
		l, text = append(l, piece), text[len(piece):]
	}
	if !some {
		return nil, fmt.Errorf("%w: it contains none of %s", errLayout, strings.Join(tokens, " "))
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	return l, nil
}

// Pieces returns the tokens of a valid layout, and the texts between them.
func (l DateLayout) Pieces() []string { return pieces(string(l), dateTokens) }

// Pieces returns the tokens of a valid layout, and the texts between them.
func (l DatetimeLayout) Pieces() []string { return pieces(string(l), datetimeTokens) }

func pieces(text string, tokens []string) []string {
	l, _ := parseLayout(text, tokens)
	return l
}

// checkLayout returns what is wrong with the layout of a date or datetime; nil: it is valid.
func checkLayout(text string, kind report.Kind) *report.Mistake {
	tokens := dateTokens
	if kind == report.KindDatetime {
		tokens = datetimeTokens
	}
	_, err := parseLayout(text, tokens)
	if err == nil {
		return nil
	}
	wrong := &report.Mistake{Message: "not a " + string(kind) + " format",
		Remedy: "Use " + strings.Join(tokens, ", ") + " and punctuation, such as DD.MM.YYYY"}
	errors.As(err, &wrong)
	return wrong
}

func (l layout) append(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	for _, piece := range l {
		switch piece {
		case "YYYY":
			dst = appendZeroPadded(dst, year, 4)
		case "YY":
			dst = appendZeroPadded(dst, year%100, 2)
		case "MM":
			dst = appendZeroPadded(dst, int(month), 2)
		case "DD":
			dst = appendZeroPadded(dst, day, 2)
		case "HH":
			dst = appendZeroPadded(dst, hour, 2)
		case "hh":
			dst = appendZeroPadded(dst, (hour+11)%12+1, 2)
		case "mm":
			dst = appendZeroPadded(dst, minute, 2)
		case "ss":
			dst = appendZeroPadded(dst, second, 2)
		case "fff":
			dst = appendZeroPadded(dst, t.Nanosecond()/1e6, 3)
		case "ffffff":
			dst = appendZeroPadded(dst, t.Nanosecond()/1e3, 6)
		case "AM":
			dst = t.AppendFormat(dst, "PM")
		case "ZZ":
			dst = t.AppendFormat(dst, "-07:00")
		default:
			dst = append(dst, piece...)
		}
	}
	return dst
}

// appendZeroPadded appends the last digits of a number, with leading zeros; digits is at most 6.
func appendZeroPadded(dst []byte, n, digits int) []byte {
	for unit := [...]int{1, 10, 100, 1e3, 1e4, 1e5}[digits-1]; unit > 0; unit /= 10 {
		dst = append(dst, byte('0'+n/unit%10))
	}
	return dst
}
