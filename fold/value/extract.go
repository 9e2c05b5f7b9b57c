package value

// Extracted returns the day, hour, minute, second and microsecond that EXTRACT finds in a value: a time has days of 24
// hours. As in MariaDB, it is no TIME: it can exceed 838 hours, and a date in a text has the hour 0. day: only the day
// is needed, which a text of digits has if it is a date. False: there are none.
func Extracted(v Value, day bool) (c Clock, ok bool) {
	how := readWhole
	switch {
	case v.Kind == Null:
		return c, false
	case v.Kind == Date || v.Kind == Datetime:
		return v.Clock(), true
	case v.Kind == Time:
		c = v.Clock()
	case v.Kind.IsText() && !v.Unsigned:
		if isDate, compact := beginsAsDate(v.Bytes); isDate || compact && day {
			if date, how := readTemporal(v.Bytes, Datetime); how != noTemporal || compact {
				return date.Clock(), how >= readPart
			}
		}
		r := clockReader{text: v.Bytes}
		c, how = r.time()
	default:
		if c, how = clockOfNumber(v.ToDec()); how == readWhole && c.Day > 0 {
			return c, true
		}
	}
	if c.Day == 0 {
		c.Day, c.Hour = c.Hour/24, c.Hour%24
	}
	return c, how >= readPart
}

// beginsAsDate tells whether a text begins as a date with signs between its parts, or is digits alone.
func beginsAsDate(text []byte) (is, compact bool) {
	r := clockReader{text: text}
	r.spaces()
	n := r.digits()
	if r.at += n; r.done() {
		return false, true
	}
	c := r.text[r.at]
	return n > 0 && isPunctuation(c) && c != ':' && c != '.', false
}

// clockOfNumber reads a number as hours, minutes and seconds, or a large one as a datetime.
func clockOfNumber(d Dec) (Clock, reading) {
	whole := d.Truncate(0)
	if n := whole.int(); n.IsInt64() && abs(n.Int64()) <= 99_999_999 {
		s := abs(n.Int64())
		micro := int(d.Add(whole.Neg()).Truncate(6).Mul(DecOf(micros)).Truncate(0).small)
		c := Clock{Negative: d.Sign() < 0, Hour: int(s / 10000), Minute: int(s / 100 % 100), Second: int(s % 100),
			Micro: int(abs(int64(micro)))}
		if c.Minute > 59 || c.Second > 59 {
			return Clock{}, noTemporal
		}
		return c, readWhole
	}
	v, how := ofNumber(d, Datetime)
	return v.Clock(), how
}
