package expr

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/fold/value"
)

// dateFunctions are the functions of dates and times. A value that is no date makes them NULL.
var dateFunctions = map[string]function{
	"DATE":          {1, 1, func(c *call) *Expr { return toTemporal(c, value.Date) }},
	"TIME":          {1, 1, func(c *call) *Expr { return toTemporal(c, value.Time) }},
	"TIMESTAMP":     {1, 1, func(c *call) *Expr { return toTemporal(c, value.Datetime) }},
	"YEAR":          {1, 1, func(c *call) *Expr { return part(c, value.Datetime, year) }},
	"QUARTER":       {1, 1, func(c *call) *Expr { return part(c, value.Datetime, quarter) }},
	"MONTH":         {1, 1, func(c *call) *Expr { return part(c, value.Datetime, month) }},
	"DAY":           {1, 1, func(c *call) *Expr { return part(c, value.Datetime, day) }},
	"DAYOFMONTH":    {1, 1, func(c *call) *Expr { return part(c, value.Datetime, day) }},
	"HOUR":          {1, 1, func(c *call) *Expr { return part(c, value.Time, hour) }},
	"MINUTE":        {1, 1, func(c *call) *Expr { return part(c, value.Time, minute) }},
	"SECOND":        {1, 1, func(c *call) *Expr { return part(c, value.Time, second) }},
	"DAYOFWEEK":     {1, 1, func(c *call) *Expr { return ofDay(c, weekdayFromSunday) }},
	"WEEKDAY":       {1, 1, func(c *call) *Expr { return ofDay(c, weekdayFromMonday) }},
	"DAYOFYEAR":     {1, 1, func(c *call) *Expr { return ofDay(c, time.Time.YearDay) }},
	"TO_DAYS":       {1, 1, func(c *call) *Expr { return ofDay(c, days) }},
	"LAST_DAY":      {1, 1, lastDay},
	"EXTRACT":       {1, 1, extract},
	"DATEDIFF":      {2, 2, dateDiff},
	"TIMESTAMPDIFF": {2, 2, timestampDiff},
	"DATE_ADD":      {2, 2, func(c *call) *Expr { return dateAdd(c, 1) }},
	"DATE_SUB":      {2, 2, func(c *call) *Expr { return dateAdd(c, -1) }},
	"DATE_FORMAT":   {2, 2, dateFormat},
	"CONVERT_TZ":    {3, 3, convertZone},
}

func year(k value.Clock) int    { return k.Year }
func quarter(k value.Clock) int { return (k.Month + 2) / 3 }
func month(k value.Clock) int   { return k.Month }
func day(k value.Clock) int     { return k.Day }
func hour(k value.Clock) int    { return k.Hour }
func minute(k value.Clock) int  { return k.Minute }
func second(k value.Clock) int  { return k.Second }
func micro(k value.Clock) int   { return k.Micro }

func weekdayFromSunday(t time.Time) int { return int(t.Weekday()) + 1 }
func weekdayFromMonday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

// fractionScale is the number of decimals of the seconds of a date or time that is made of an operand.
func fractionScale(t value.Type) int {
	switch {
	case t.Kind.IsTemporal():
		return t.Scale
	case t.Kind.IsText():
		return 6
	case t.Kind == value.Decimal:
		return min(max(t.Scale, 0), 6)
	case t.Kind == value.Double:
		return 6
	}
	return 0
}

func toTemporal(c *call, kind value.Kind) *Expr {
	t := value.Type{Kind: kind, Scale: fractionScale(c.args[0].Type)}
	if kind == value.Date {
		t.Scale = 0
	}
	return strict(t, c.args, func(args []value.Value) (value.Value, error) {
		return value.ToTemporal(args[0], kind),
			nil
	})
}

// part returns a part of a date or time.
func part(c *call, kind value.Kind, f func(value.Clock) int) *Expr {
	return strict(integer, c.args, func(args []value.Value) (value.Value, error) {
		v := value.ToTemporal(args[0], kind)
		if v.IsNull() {
			return v, nil
		}
		return value.OfInt(int64(f(v.Clock()))), nil
	})
}

// ofDay returns what a function says of a day that exists.
func ofDay(c *call, f func(time.Time) int) *Expr {
	return strict(integer, c.args, func(args []value.Value) (value.Value, error) {
		v := value.ToTemporal(args[0], value.Datetime)
		t, exists := v.GoTime()
		if v.IsNull() || !exists {
			return value.Value{}, nil
		}
		return value.OfInt(int64(f(t))), nil
	})
}

// days returns the number of a day since the year 0.
func days(t time.Time) int {
	return int(t.Truncate(24*time.Hour).Unix()/86400) + 719528
}

func lastDay(c *call) *Expr {
	return strict(value.Type{Kind: value.Date}, c.args, func(args []value.Value) (value.Value, error) {
		v := value.ToTemporal(args[0], value.Date)
		k := v.Clock()
		if v.IsNull() || k.Month == 0 {
			return value.Value{}, nil
		}
		t := time.Date(k.Year, time.Month(k.Month)+1, 0, 0, 0, 0, 0, time.UTC)
		return value.ToTemporal(value.OfTime(t), value.Date), nil
	})
}

// extract computes EXTRACT(unit FROM x) of a single unit.
func extract(c *call) *Expr {
	parts := map[string]func(value.Clock) int{"YEAR": year, "QUARTER": quarter, "MONTH": month, "DAY": day}
	clock := map[string]func(value.Clock) int{"HOUR": hour, "MINUTE": minute, "SECOND": second, "MICROSECOND": micro}
	if f, ok := parts[c.Unit]; ok {
		return part(c, value.Datetime, f)
	}
	f, ok := clock[c.Unit]
	if !ok {
		refuse(c.Position, "EXTRACT of "+c.Unit, "Use YEAR, QUARTER, MONTH, DAY, HOUR, MINUTE, SECOND or MICROSECOND")
	}
	return strict(integer, c.args, func(args []value.Value) (value.Value, error) {
		v := value.ToTemporal(args[0], value.Time)
		if v.IsNull() {
			return v, nil
		}
		n := int64(f(v.Clock()))
		if v.Clock().Negative {
			n = -n
		}
		return value.OfInt(n), nil
	})
}

func dateDiff(c *call) *Expr {
	return strict(integer, zoned(c.args...), func(args []value.Value) (value.Value, error) {
		a, b := value.ToTemporal(args[0], value.Datetime), value.ToTemporal(args[1], value.Datetime)
		x, okX := a.GoTime()
		y, okY := b.GoTime()
		if a.IsNull() || b.IsNull() || !okX || !okY {
			return value.Value{}, nil
		}
		return value.OfInt(int64(days(x) - days(y))), nil
	})
}

// timestampDiff counts whole units between two datetimes.
func timestampDiff(c *call) *Expr {
	return strict(integer, zoned(c.args...), func(args []value.Value) (value.Value, error) {
		a, b := value.ToTemporal(args[0], value.Datetime), value.ToTemporal(args[1], value.Datetime)
		from, okA := a.GoTime()
		to, okB := b.GoTime()
		if a.IsNull() || b.IsNull() || !okA || !okB {
			return value.Value{}, nil
		}
		sign := int64(1)
		if to.Before(from) {
			from, to, sign = to, from, -1
		}
		return value.OfInt(sign * wholeUnits(from, to, c.Unit)), nil
	})
}

// wholeUnits counts the units between two times, of which the first is not later.
func wholeUnits(from, to time.Time, unit string) int64 {
	months := int64(to.Year()-from.Year())*12 + int64(to.Month()-from.Month())
	sinceMonth := func(t time.Time) time.Duration {
		return time.Duration(t.Day())*24*time.Hour + t.Sub(t.Truncate(24*time.Hour))
	}
	if sinceMonth(to) < sinceMonth(from) {
		months--
	}
	span := to.Unix() - from.Unix()
	nanos := int64(to.Nanosecond() - from.Nanosecond())
	if nanos < 0 {
		span, nanos = span-1, nanos+1e9
	}
	switch unit {
	case "MICROSECOND":
		return span*1e6 + nanos/1000
	case "SECOND":
		return span
	case "MINUTE":
		return span / 60
	case "HOUR":
		return span / 3600
	case "DAY":
		return span / 86400
	case "WEEK":
		return span / (7 * 86400)
	case "QUARTER":
		return months / 3
	case "YEAR":
		return months / 12
	}
	return months
}

// dateAdd computes x + INTERVAL n unit. A date stays one for days and longer units; of a text the result is a text.
func dateAdd(c *call, sign int64) *Expr {
	x := c.args[0]
	clock := strings.Contains("MICROSECOND SECOND MINUTE HOUR", c.Unit)
	t := value.Type{Kind: value.Datetime, Scale: fractionScale(x.Type), Zone: x.Type.Zone}
	fraction := c.Unit == "MICROSECOND" || c.Unit == "SECOND" && c.args[1].Type.Kind != value.Integer
	switch {
	case x.Type.Kind == value.Date && !clock:
		t = value.Type{Kind: value.Date}
	case x.Type.Kind == value.Time:
		t.Kind = value.Time
	case !x.Type.Kind.IsTemporal():
		t = text
	}
	if fraction && t.Kind.IsTemporal() {
		t.Scale = 6
	}
	return strict(t, c.args, func(args []value.Value) (value.Value, error) {
		kind := value.Datetime
		if t.Kind == value.Time {
			kind = value.Time
		}
		from := value.ToTemporal(args[0], kind)
		if from.IsNull() {
			return from, nil
		}
		v := addInterval(from, args[1], c.Unit, sign)
		switch {
		case v.IsNull():
			return v, nil
		case t.Kind == value.Text: // a date if it has no time of day
			if _, isDate := dateOnly(args[0]); isDate && !clock {
				return value.OfText(value.ToTemporal(v, value.Date).AppendText(nil, value.Type{Kind: value.Date})), nil
			}
			scale := 0
			if v.Clock().Micro != 0 {
				scale = 6
			}
			return value.OfText(v.AppendText(nil, value.Type{Kind: value.Datetime, Scale: scale})), nil
		case t.Kind == value.Date:
			return value.ToTemporal(v, value.Date), nil
		}
		return v, nil
	})
}

// dateOnly tells whether a text or number is a date without a time of day.
func dateOnly(v value.Value) (value.Value, bool) {
	if v.Kind.IsText() {
		return v, len(v.Bytes) <= 10
	}
	n := v.ToInt()
	return v, n.Int < 100_000_000
}

// addInterval adds n units; NULL if the result is no date of the years 0 to 9999.
func addInterval(from, n value.Value, unit string, sign int64) value.Value {
	whole := n.ToInt()
	if whole.Unsigned {
		return value.Value{} // beyond all dates
	}
	count := whole.Int * sign
	if months, ok := map[string]int64{"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit]; ok && from.Kind != value.Time {
		if count > 200_000 || count < -200_000 {
			return value.Value{}
		}
		return addMonths(from, count*months)
	}
	if unit == "SECOND" && n.Kind != value.Integer {
		micros := n.ToDec().Mul(value.DecOf(1_000_000)).Round(0)
		count, unit = value.OfDec(micros).ToInt().Int*sign, "MICROSECOND"
	}
	size := map[string]int64{"MICROSECOND": 1, "SECOND": 1e6, "MINUTE": 60e6, "HOUR": 3600e6, "DAY": 86400e6,
		"WEEK": 7 * 86400e6}[unit]
	if size == 0 || count > 1<<62/size || count < -1<<62/size {
		return value.Value{}
	}
	if from.Kind == value.Time {
		total := from.Int + count*size
		if limit := value.OfClock(value.Time, value.Clock{Hour: 10000}).Int; total > limit || total < -limit {
			return value.Value{}
		}
		return value.Value{Kind: value.Time, Int: total}
	}
	t, exists := from.GoTime()
	if !exists {
		return value.Value{}
	}
	t = time.UnixMicro(t.UnixMicro() + count*size).UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return value.Value{}
	}
	return value.OfTime(t)
}

// addMonths adds months; a day that the month does not have becomes its last.
func addMonths(from value.Value, months int64) value.Value {
	k := from.Clock()
	all := int64(k.Year)*12 + int64(k.Month) - 1 + months
	if all < 0 || all >= 10000*12 || k.Month == 0 {
		return value.Value{}
	}
	k.Year, k.Month = int(all/12), int(all%12)+1
	k.Day = min(k.Day, time.Date(k.Year, time.Month(k.Month)+1, 0, 0, 0, 0, 0, time.UTC).Day())
	return value.OfClock(value.Datetime, k)
}

// dateFormat computes DATE_FORMAT with English names.
func dateFormat(c *call) *Expr {
	return strict(text, c.args, func(args []value.Value) (value.Value, error) {
		v := value.ToTemporal(args[0], value.Datetime)
		if v.IsNull() {
			return v, nil
		}
		out, ok := formatted(v, textOf(args[1], c.args[1]))
		if !ok {
			return value.Value{}, nil
		}
		return value.OfText(out), nil
	})
}

// formatted writes a datetime in a format; false if it has no day for the name of one.
func formatted(v value.Value, format []byte) ([]byte, bool) {
	k := v.Clock()
	t, exists := v.GoTime()
	hour12 := (k.Hour+11)%12 + 1
	half := "AM"
	if k.Hour >= 12 {
		half = "PM"
	}
	var out []byte
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out = append(out, format[i])
			continue
		}
		i++
		switch f := format[i]; f {
		case 'Y':
			out = fmt.Appendf(out, "%04d", k.Year)
		case 'y':
			out = fmt.Appendf(out, "%02d", k.Year%100)
		case 'm':
			out = fmt.Appendf(out, "%02d", k.Month)
		case 'c':
			out = strconv.AppendInt(out, int64(k.Month), 10)
		case 'd':
			out = fmt.Appendf(out, "%02d", k.Day)
		case 'e':
			out = strconv.AppendInt(out, int64(k.Day), 10)
		case 'D':
			out = fmt.Appendf(out, "%d%s", k.Day, ordinal(k.Day))
		case 'M', 'b':
			if k.Month == 0 {
				return nil, false
			}
			name := time.Month(k.Month).String()
			if f == 'b' {
				name = name[:3]
			}
			out = append(out, name...)
		case 'W', 'a', 'w', 'j':
			if !exists && f != 'j' {
				return nil, false
			}
			switch f {
			case 'W':
				out = append(out, t.Weekday().String()...)
			case 'a':
				out = append(out, t.Weekday().String()[:3]...)
			case 'w':
				out = strconv.AppendInt(out, int64(t.Weekday()), 10)
			default:
				out = fmt.Appendf(out, "%03d", t.YearDay())
			}
		case 'H':
			out = fmt.Appendf(out, "%02d", k.Hour)
		case 'k':
			out = strconv.AppendInt(out, int64(k.Hour), 10)
		case 'h', 'I':
			out = fmt.Appendf(out, "%02d", hour12)
		case 'l':
			out = strconv.AppendInt(out, int64(hour12), 10)
		case 'i':
			out = fmt.Appendf(out, "%02d", k.Minute)
		case 's', 'S':
			out = fmt.Appendf(out, "%02d", k.Second)
		case 'f':
			out = fmt.Appendf(out, "%06d", k.Micro)
		case 'p':
			out = append(out, half...)
		case 'T':
			out = fmt.Appendf(out, "%02d:%02d:%02d", k.Hour, k.Minute, k.Second)
		case 'r':
			out = fmt.Appendf(out, "%02d:%02d:%02d %s", hour12, k.Minute, k.Second, half)
		default:
			out = append(out, f)
		}
	}
	return out, true
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

// convertZone computes CONVERT_TZ: NULL if a zone does not exist.
func convertZone(c *call) *Expr {
	t := value.Type{Kind: value.Datetime, Scale: fractionScale(c.args[0].Type)}
	if name, ok := constantOf(c.args[2]); ok && !name.IsNull() {
		if zone := zoneOf(string(textOf(name, c.args[2]))); zone != nil && !strings.Contains(zone.String(), ":") {
			t.Zone = zone.String()
		}
	}
	zones := map[string]*time.Location{}
	find := func(v value.Value, e *Expr) *time.Location {
		name := string(textOf(v, e))
		if zone, known := zones[name]; known {
			return zone
		}
		zones[name] = zoneOf(name)
		return zones[name]
	}
	return strict(t, c.args, func(args []value.Value) (value.Value, error) {
		v := value.ToTemporal(args[0], value.Datetime)
		from, to := find(args[1], c.args[1]), find(args[2], c.args[2])
		at, exists := v.GoTime()
		if v.IsNull() || !exists || from == nil || to == nil {
			return value.Value{}, nil
		}
		local := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), from)
		if s := local.Unix(); s < 1 || s > 1<<31-1 {
			return v, nil // as MariaDB, which converts what a TIMESTAMP can have
		}
		return value.OfTime(local.In(to)), nil
	})
}

// zoneOf returns a zone of the tz database, or an offset such as +02:00; nil: there is none.
func zoneOf(name string) *time.Location {
	if len(name) >= 5 && (name[0] == '+' || name[0] == '-') {
		hours, minutes, ok := strings.Cut(name[1:], ":")
		h, errH := strconv.Atoi(hours)
		m, errM := strconv.Atoi(minutes)
		if !ok || errH != nil || errM != nil || h > 14 || m > 59 {
			return nil
		}
		offset := h*3600 + m*60
		if name[0] == '-' {
			offset = -offset
		}
		return time.FixedZone(name, offset)
	}
	if name == "" || name == "Local" || name == "SYSTEM" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}
