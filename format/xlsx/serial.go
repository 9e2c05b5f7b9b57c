package xlsx

import (
	"bytes"
	"math/bits"
	"strconv"
	"time"
)

const (
	dayMicros    = 86_400_000_000
	firstSerial  = 61     // 1900-03-01: Excel has a 29th of February before, which did not exist
	unixSerial   = 25_569 // 1970-01-01
	serialDigits = 13     // decimals of a day that keep its microseconds
	serialUnit   = 10_000_000_000_000
)

// appendSerial appends a number of days, and microseconds of a further one, as the days that Excel counts.
func appendSerial(dst []byte, days int64, micros uint64) []byte {
	dst = strconv.AppendInt(dst, days, 10)
	if micros == 0 {
		return dst
	}
	high, low := bits.Mul64(micros, serialUnit)
	low, carry := bits.Add64(low, dayMicros/2, 0) // to round
	fraction, _ := bits.Div64(high+carry, low, dayMicros)
	at := len(dst)
	dst = strconv.AppendUint(dst, serialUnit+fraction, 10) // a 1, and all digits
	dst[at] = '.'
	return bytes.TrimRight(dst, "0")
}

// serial returns a local time as days and microseconds; ok is false before 1900-03-01 and for nanoseconds.
func serial(t time.Time) (days int64, micros uint64, ok bool) {
	const day = 86_400
	_, offset := t.Zone()
	seconds, nanos := t.Unix()+int64(offset)+unixSerial*day, t.Nanosecond()
	if seconds < firstSerial*day || nanos%1000 != 0 {
		return 0, 0, false
	}
	return seconds / day, uint64(seconds%day)*1e6 + uint64(nanos/1000), true
}

// duration parses [-]hhh:mm:ss[.ffffff]; ok is false for a negative one, which Excel cannot show, and for nanoseconds.
func duration(text []byte) (days int64, micros uint64, fraction, ok bool) {
	var parts [3]uint64 // hours, minutes, seconds
	i := 0
	for n := range parts {
		begin := i
		for ; i < len(text) && text[i] >= '0' && text[i] <= '9' && i-begin < 4; i++ {
			parts[n] = parts[n]*10 + uint64(text[i]-'0')
		}
		if i == begin || n > 0 && (i-begin != 2 || parts[n] > 59) {
			return 0, 0, false, false
		}
		if n < 2 {
			if i == len(text) || text[i] != ':' {
				return 0, 0, false, false
			}
			i++
		}
	}
	micros = ((parts[0]*60+parts[1])*60 + parts[2]) * 1e6
	if fraction = i < len(text) && text[i] == '.' && i+1 < len(text); fraction {
		unit := uint64(100_000)
		for i++; i < len(text) && text[i] >= '0' && text[i] <= '9' && unit > 0; i++ {
			micros += uint64(text[i]-'0') * unit
			unit /= 10
		}
	}
	return int64(micros / dayMicros), micros % dayMicros, fraction, i == len(text)
}
