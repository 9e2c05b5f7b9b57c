package expr

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/fold/value"
)

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
