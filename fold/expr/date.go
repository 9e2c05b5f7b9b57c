package expr

import (
	"time"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// dateFunctions are the functions of dates, which refuse times. A value that is no date makes them NULL.
var dateFunctions = map[string]function{
	"DATE":          {1, 1, func(c *call) *Expr { return toTemporal(c, value.Date) }},
	"TIMESTAMP":     {1, 1, func(c *call) *Expr { return toTemporal(c, value.Datetime) }},
	"YEAR":          {1, 1, func(c *call) *Expr { return part(c, value.Datetime, year) }},
	"QUARTER":       {1, 1, func(c *call) *Expr { return part(c, value.Datetime, quarter) }},
	"MONTH":         {1, 1, func(c *call) *Expr { return part(c, value.Datetime, month) }},
	"DAY":           {1, 1, func(c *call) *Expr { return part(c, value.Datetime, day) }},
	"DAYOFMONTH":    {1, 1, func(c *call) *Expr { return part(c, value.Datetime, day) }},
	"DAYOFWEEK":     {1, 1, func(c *call) *Expr { return ofDay(c, weekdayFromSunday) }},
	"WEEKDAY":       {1, 1, func(c *call) *Expr { return ofDay(c, weekdayFromMonday) }},
	"DAYOFYEAR":     {1, 1, func(c *call) *Expr { return ofDay(c, time.Time.YearDay) }},
	"TO_DAYS":       {1, 1, func(c *call) *Expr { return ofDay(c, days) }},
	"LAST_DAY":      {1, 1, lastDay},
	"DATEDIFF":      {2, 2, dateDiff},
	"TIMESTAMPDIFF": {2, 2, timestampDiff},
	"DATE_FORMAT":   {2, 2, dateFormat},
	"WEEK":          {1, 2, week},
	"YEARWEEK":      {1, 2, yearWeek},
	"WEEKOFYEAR":    {1, 1, weekOfYear},
	"DAYNAME":       {1, 1, func(c *call) *Expr { return dateName(c, weekdayOf, false) }},
	"MONTHNAME":     {1, 1, func(c *call) *Expr { return dateName(c, monthOf, true) }},
	"CONVERT_TZ":    {3, 3, convertZone},
}

// timeFunctions are those of dates and times.
var timeFunctions = map[string]function{
	"TIME":         {1, 1, func(c *call) *Expr { return toTemporal(c, value.Time) }},
	"HOUR":         {1, 1, func(c *call) *Expr { return part(c, value.Time, hour) }},
	"MINUTE":       {1, 1, func(c *call) *Expr { return part(c, value.Time, minute) }},
	"SECOND":       {1, 1, func(c *call) *Expr { return part(c, value.Time, second) }},
	"EXTRACT":      {1, 1, extract},
	"DATE_ADD":     {2, 2, func(c *call) *Expr { return dateAdd(c, 1) }},
	"DATE_SUB":     {2, 2, func(c *call) *Expr { return dateAdd(c, -1) }},
	"TIMESTAMPADD": {2, 2, timestampAdd},
	"STR_TO_DATE":  {2, 2, strToDate},
	"TIME_FORMAT":  {2, 2, timeFormat},
	"MICROSECOND":  {1, 1, func(c *call) *Expr { return part(c, value.Time, micro) }},
}

// refuseTimes refuses times where a date is needed. MariaDB takes today's, so that every run has another result.
func refuseTimes(at parse.Position, name string, args ...*Expr) {
	remedy := "A time has no date: use a date or a datetime"
	if name == "DATE_FORMAT" {
		remedy = "Write TIME_FORMAT"
	}
	for _, a := range args {
		if a.Type.Kind == value.Time {
			refuse(at, name+" of a time", remedy)
		}
	}
}

func year(k value.Clock) int { return k.Year }

func quarter(k value.Clock) int { return (k.Month + 2) / 3 }

func month(k value.Clock) int { return k.Month }

func day(k value.Clock) int { return k.Day }

func hour(k value.Clock) int { return k.Hour }

func minute(k value.Clock) int { return k.Minute }

func second(k value.Clock) int { return k.Second }

func micro(k value.Clock) int { return k.Micro }

func weekdayFromSunday(t time.Time) int { return int(t.Weekday()) + 1 }

func weekdayFromMonday(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

// fractionScale is the number of decimals of the seconds of a date or time that is made of an operand.
func fractionScale(e *Expr, kind value.Kind) int {
	t := e.Type
	v, constant := constantOf(e)
	switch {
	case t.Kind == value.Binary && t.Unsigned:
		return 0
	case constant && t.Kind.IsText():
		return value.Decimals(v.Bytes, kind)
	case t.Kind.IsTemporal():
		return t.Scale
	case t.Kind.IsText():
		return 6
	case t.Kind == value.Decimal:
		return min(max(t.Scale, 0), 6)
	case t.Kind == value.Double && t.Scale >= 0:
		return min(t.Scale, 6)
	case t.Kind == value.Double:
		return 6
	}
	return 0
}

func toTemporal(c *call, kind value.Kind) *Expr {
	t := value.Type{Kind: kind, Scale: fractionScale(c.args[0], kind)}
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
	parts := map[string]func(value.Clock) int{"YEAR": year, "QUARTER": quarter, "MONTH": month}
	clock := map[string]func(value.Clock) int{"DAY": day, "HOUR": hour, "MINUTE": minute, "SECOND": second,
		"MICROSECOND": micro}
	if clock[c.Unit] == nil {
		refuseTimes(c.Position, "EXTRACT "+c.Unit, c.args...)
	}
	if f, ok := parts[c.Unit]; ok {
		return part(c, value.Datetime, f)
	}
	f := clock[c.Unit]
	if c.Unit == "WEEK" {
		return week(c)
	}
	return strict(integer, c.args, func(args []value.Value) (value.Value, error) {
		k, ok := value.Extracted(args[0], c.Unit == "DAY")
		if !ok {
			return value.Value{}, nil
		}
		n := int64(f(k))
		if k.Negative {
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
