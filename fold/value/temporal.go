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
	return (((((int64(c.Year)<<4|int64(c.Month))<<5|int64(c.Day))<<5|int64(c.Hour))<<6|int64(c.Minute))<<6|
		int64(c.Second))<<20 | int64(c.Micro)
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
