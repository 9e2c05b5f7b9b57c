package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// moments says how dates and datetimes are shown.
type moments struct {
	from, to       *time.Location
	date, datetime form // nil: as the source gives them
}

// newMoments reads the options of a CSV, for datetimes of this zone; empty is UTC.
func newMoments(c *report.CSV, zone string) (m moments, err error) {
	if m.from, err = time.LoadLocation(zone); err != nil {
		return m, fmt.Errorf("format: zone of a column: %w", err)
	}
	m.to = m.from
	if c.TimeZone != "" && c.TimeZone != m.from.String() {
		if m.to, err = time.LoadLocation(c.TimeZone); err != nil {
			return m, fmt.Errorf("format: time_zone: %w", err)
		}
	}
	if c.Date != "" {
		if m.date, err = parseForm(c.Date, dateTokens); err != nil {
			return m, fmt.Errorf("format: date: %w", err)
		}
	}
	if c.Datetime != "" {
		if m.datetime, err = parseForm(c.Datetime, datetimeTokens); err != nil {
			return m, fmt.Errorf("format: datetime: %w", err)
		}
	}
	return m, nil
}

// shows tells whether values of a kind are shown otherwise than the source gives them.
func (m *moments) shows(kind report.Kind) bool {
	return kind == report.KindDate && m.date != nil || kind == report.KindDatetime && (m.datetime != nil || m.from != m.to)
}

// sourceForm is the form of a datetime without its fraction.
var sourceForm, _ = parseForm("YYYY-MM-DD HH:mm:ss", datetimeTokens)

// rewrite shows the date or datetime that begins at start. What is no day of the
// calendar, such as 0000-00-00, stays as it is; so does the zone of a moment that
// would leave the years 0 to 9999.
func (m *moments) rewrite(dst []byte, start int, kind report.Kind) []byte {
	moment, fraction, ok := parseMoment(dst[start:], kind)
	if !ok {
		return dst
	}
	if kind == report.KindDate {
		return m.date.append(dst[:start], moment)
	}
	if m.from != time.UTC {
		moment = report.OnDay(moment, m.from)
	}
	if there := moment.In(m.to); there.Year() >= 0 && there.Year() <= 9999 {
		moment = there
	}
	if m.datetime != nil {
		return m.datetime.append(dst[:start], moment)
	}
	var digits [16]byte // the fraction keeps its digits, and lies where the form is written
	n := copy(digits[:], fraction)
	return append(sourceForm.append(dst[:start], moment), digits[:n]...)
}

// parseMoment reads a date or datetime as sources give them, as if it were of UTC,
// and its fraction with the point.
func parseMoment(text []byte, kind report.Kind) (moment time.Time, fraction []byte, ok bool) {
	const date, seconds, longest = len("2006-01-02"), len("2006-01-02 15:04:05"), len("2006-01-02 15:04:05.999999999")
	var buffer [longest + len("Z")]byte
	rfc := buffer[:0]
	switch {
	case kind == report.KindDate && len(text) == date:
		rfc = append(append(rfc, text...), "T00:00:00Z"...)
	case kind != report.KindDate && len(text) >= seconds && len(text) <= longest && text[date] == ' ':
		rfc, fraction = append(append(rfc, text...), 'Z'), text[seconds:]
		rfc[date] = 'T'
	}
	err := moment.UnmarshalText(rfc) // allocates nothing, unlike time.Parse
	return moment, fraction, err == nil
}

// form is how a moment is written: tokens, and texts between them.
type form []string

var (
	dateTokens     = []string{"YYYY", "YY", "MM", "DD"}
	datetimeTokens = append(slices.Clone(dateTokens), "HH", "hh", "mm", "ss", "ffffff", "fff", "AM", "ZZ")
)

var errForm = errors.New("not a form")

// formParts says which part of a moment each token writes.
var formParts = map[string]string{
	"YYYY": "the year", "YY": "the year", "MM": "the month", "DD": "the day", "HH": "the hour", "hh": "the hour", "mm": "the minute",
	"ss": "the second", "ffffff": "the fraction", "fff": "the fraction", "AM": "AM or PM", "ZZ": "the zone",
}

// check finds a part that comes twice, such as a month where the minute was meant, and
// an hour that does not say which half of the day it is in.
func (f form) check() error {
	tokens := map[string]string{} // part → its token
	for _, piece := range f {
		part, ok := formParts[piece]
		if !ok {
			continue
		}
		if before, twice := tokens[part]; twice {
			by := before
			if before != piece {
				by += " and " + piece
			}
			remedy := "Write it once"
			if piece == "MM" {
				remedy += ": MM is the month, and mm the minute"
			}
			return &report.Mistake{Message: fmt.Sprintf("%s comes twice (%s)", part, by), Remedy: remedy}
		}
		tokens[part] = piece
	}
	switch half := tokens["AM or PM"] != ""; {
	case tokens["the hour"] == "hh" && !half:
		return &report.Mistake{Message: "hh (12 hours) without AM shows 02:00 and 14:00 as the same", Remedy: "Write HH for 24 hours, or add AM"}
	case half && tokens["the hour"] != "hh":
		return &report.Mistake{Message: "AM goes with hh (12 hours)", Remedy: "Write hh for the hour, or remove AM"}
	}
	return nil
}

// parseForm reads a form with these tokens, each part at most once. The only letter that may
// stand outside of them is T, as in ISO 8601.
func parseForm(text string, tokens []string) (form, error) {
	var f form
	some := false
	for text != "" {
		i := slices.IndexFunc(tokens, func(token string) bool { return strings.HasPrefix(text, token) })
		piece := text[:1]
		if i >= 0 {
			piece, some = tokens[i], true
		} else if c := text[0] | 0x20; c >= 'a' && c <= 'z' && text[0] != 'T' || text[0] < ' ' || text[0] == 0x7f {
			return nil, fmt.Errorf("%w: %q is none of %s", errForm, piece, strings.Join(tokens, " "))
		}
		f, text = append(f, piece), text[len(piece):]
	}
	if !some {
		return nil, fmt.Errorf("%w: it has none of %s", errForm, strings.Join(tokens, " "))
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f, nil
}

// CheckForm says what is wrong with the form of a date or datetime; nil: nothing.
func CheckForm(text string, kind report.Kind) *report.Mistake {
	tokens := dateTokens
	if kind == report.KindDatetime {
		tokens = datetimeTokens
	}
	_, err := parseForm(text, tokens)
	if err == nil {
		return nil
	}
	wrong := &report.Mistake{Message: "not the form of a " + string(kind), Remedy: "Use " + strings.Join(tokens, ", ") + " with signs between them, such as DD.MM.YYYY"}
	errors.As(err, &wrong)
	return wrong
}

func (f form) append(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	for _, piece := range f {
		switch piece {
		case "YYYY":
			dst = appendPadded0(dst, year, 4)
		case "YY":
			dst = appendPadded0(dst, year%100, 2)
		case "MM":
			dst = appendPadded0(dst, int(month), 2)
		case "DD":
			dst = appendPadded0(dst, day, 2)
		case "HH":
			dst = appendPadded0(dst, hour, 2)
		case "hh":
			dst = appendPadded0(dst, (hour+11)%12+1, 2)
		case "mm":
			dst = appendPadded0(dst, minute, 2)
		case "ss":
			dst = appendPadded0(dst, second, 2)
		case "fff":
			dst = appendPadded0(dst, t.Nanosecond()/1e6, 3)
		case "ffffff":
			dst = appendPadded0(dst, t.Nanosecond()/1e3, 6)
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

// appendPadded0 appends a number with at least that many digits, up to 6.
func appendPadded0(dst []byte, n, digits int) []byte {
	for unit := [...]int{1, 10, 100, 1e3, 1e4, 1e5}[digits-1]; unit > 0; unit /= 10 {
		dst = append(dst, byte('0'+n/unit%10))
	}
	return dst
}
