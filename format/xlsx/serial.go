package xlsx

import (
	"encoding/binary"
	"math/bits"
	"slices"
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
	const zeros = 0x3030303030303030 // the characters
	n := len(dst)
	dst = slices.Grow(dst, 3*8)
	to := dst[n : n+3*8]
	digits := eightDigits(uint64(days))
	skipped := bits.TrailingZeros64(digits|1<<56) / 8
	binary.LittleEndian.PutUint64(to, (digits|zeros)>>(8*skipped))
	n, to = n+8-skipped, to[8-skipped:]
	if micros == 0 {
		return dst[:n]
	}
	fraction := fractionOf(micros)
	high, low := eightDigits(fraction/1e8), eightDigits(fraction%1e8)
	to[0] = '.'
	binary.LittleEndian.PutUint64(to[1:], (high|zeros)>>(8*(16-serialDigits)))
	binary.LittleEndian.PutUint64(to[1+serialDigits-8:], low|zeros)
	n += 1 + serialDigits - bits.LeadingZeros64(low)/8 // without the zeros at the end
	if low == 0 {
		n -= bits.LeadingZeros64(high) / 8
	}
	return dst[:n]
}

// eightDigits returns the digits of a number below 10^8, each in a byte, the first one in the lowest. It divides all
// parts of the number at the same time.
func eightDigits(n uint64) uint64 {
	n = n/10_000 | n%10_000<<32
	high := n * 10_486 >> 20 & 0x7f_0000_007f // by 100
	n = high | (n-100*high)<<16
	high = n * 103 >> 10 & 0x000f_000f_000f_000f // by 10
	return high | (n-10*high)<<8
}

// fractionOf returns microseconds as a part of a day, in serialUnit.
func fractionOf(micros uint64) uint64 {
	const second, day = 1_000_000, dayMicros / 1_000_000
	if micros%second == 0 { // half of the time
		return (micros/second*serialUnit + day/2) / day
	}
	high, low := bits.Mul64(micros, serialUnit)
	low, carry := bits.Add64(low, dayMicros/2, 0) // to round
	fraction, _ := bits.Div64(high+carry, low, dayMicros)
	return fraction
}

// serial returns a local time as days and microseconds; ok is false before 1900-03-01 and for nanoseconds.
func serial(t time.Time) (days int64, micros uint64, ok bool) {
	const day = 86_400
	offset := 0
	if t.Location() != time.UTC {
		_, offset = t.Zone()
	}
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
