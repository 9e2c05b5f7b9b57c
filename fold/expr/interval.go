package expr

import (
	"strings"
	"time"

	"github.com/fanfold/fanfold/fold/value"
)

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

// timestampAdd computes TIMESTAMPADD(unit, n, x).
func timestampAdd(c *call) *Expr { return dateAdd(&call{c.Call, []*Expr{c.args[1], c.args[0]}}, 1) }

// dateAdd computes x + INTERVAL n unit. A date stays one for days and longer units; of a text the result is a text.
func dateAdd(c *call, sign int64) *Expr {
	x := c.args[0]
	clock := strings.Contains("MICROSECOND SECOND MINUTE HOUR", c.Unit)
	moment := value.Type{Kind: value.Datetime, Scale: fractionScale(x, value.Datetime), Zone: x.Type.Zone}
	moment.Scale = commonScale(moment.Scale, secondsScale(c.args[1], c.Unit))
	t := moment
	switch {
	case x.Type.Kind == value.Date && !clock:
		t = value.Type{Kind: value.Date}
	case x.Type.Kind == value.Time:
		t.Kind = value.Time
	case !x.Type.Kind.IsTemporal():
		t = text
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
			if value.IsDate(args[0]) && !clock {
				return value.OfText(value.ToTemporal(v, value.Date).AppendText(nil, value.Type{Kind: value.Date})), nil
			}
			return value.OfText(v.AppendText(nil, moment)), nil
		case t.Kind == value.Date:
			return value.ToTemporal(v, value.Date), nil
		}
		return v, nil
	})
}

// secondsScale is the number of decimals of the seconds that an interval adds.
func secondsScale(n *Expr, unit string) int {
	switch {
	case unit == "MICROSECOND":
		return 6
	case unit == "SECOND" && n.Type.Kind == value.Decimal:
		return min(n.Type.Scale, 6)
	case unit == "SECOND" && n.Type.Kind != value.Integer:
		return 6
	}
	return 0
}

// addInterval adds n units; NULL if it has no day, or the result is no date of the years 1 to 9999.
func addInterval(from, n value.Value, unit string, sign int64) value.Value {
	whole := n.ToInt()
	if whole.Unsigned {
		return value.Value{} // beyond all dates
	}
	if from.Kind != value.Time && !from.Clock().HasDay() {
		return value.Value{}
	}
	count := whole.Int * sign
	if months, ok := map[string]int64{"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit]; ok && from.Kind != value.Time {
		if count > 200_000 || count < -200_000 {
			return value.Value{}
		}
		return addMonths(from, count*months)
	}
	if unit == "SECOND" && n.Kind != value.Integer {
		micros := n.ToDec().Mul(value.DecOf(1_000_000)).Truncate(0)
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
	if t.Year() < 1 || t.Year() > 9999 {
		return value.Value{}
	}
	return value.OfTime(t)
}

// addMonths adds months; a day that the month does not have becomes its last.
func addMonths(from value.Value, months int64) value.Value {
	k := from.Clock()
	all := int64(k.Year)*12 + int64(k.Month) - 1 + months
	if all < 0 || all >= 10000*12 || k.Month == 0 || k.Day == 0 {
		return value.Value{}
	}
	k.Year, k.Month = int(all/12), int(all%12)+1
	k.Day = min(k.Day, time.Date(k.Year, time.Month(k.Month)+1, 0, 0, 0, 0, 0, time.UTC).Day())
	return value.OfClock(value.Datetime, k)
}
