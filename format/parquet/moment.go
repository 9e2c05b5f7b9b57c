package parquet

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/fanfold/fanfold/report"
)

var (
	errNoDay = errors.New("it is not in the calendar: write NULLIF, in the query or the fold, for NULL, " +
		"or CAST the column AS CHAR for a text")
	errNanoseconds = errors.New("it has more than 6 decimals: round it in the query, or CAST the column AS CHAR")
	errNoTime      = errors.New("it is no time of a day, 00:00:00 to 23:59:59.999999: in the query or the fold, CAST " +
		"the column AS CHAR for a text, or take its seconds")
)

// date converts a date to the days since 1970.
func (c *column) date(dst, text []byte) ([]byte, error) {
	day, _, ok := c.zones.Moment(text, report.KindDate)
	if !ok {
		return dst, errNoDay
	}
	const seconds = 24 * 60 * 60
	return binary.LittleEndian.AppendUint32(dst, uint32(day.Unix()/seconds)), nil // a day begins at a multiple
}

// datetime converts a datetime to microseconds since 1970: in UTC, or of the clock in the zone of the file.
func (c *column) datetime(dst, text []byte) ([]byte, error) {
	at, _, ok := c.zones.Moment(text, report.KindDatetime)
	switch {
	case !ok:
		return dst, errNoDay
	case at.Nanosecond()%int(time.Microsecond) != 0:
		return dst, errNanoseconds
	case c.local:
		at = report.AsWall(at)
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(at.UnixMicro())), nil
}

// timeOfDay converts a time to microseconds since midnight.
func timeOfDay(dst, text []byte) ([]byte, error) {
	at, err := time.Parse("15:04:05", string(text)) // it accepts a fraction
	switch {
	case err != nil || len(text) < len("15:04:05") || text[2] != ':':
		return dst, errNoTime
	case at.Nanosecond()%int(time.Microsecond) != 0:
		return dst, errNanoseconds
	}
	midnight := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	return binary.LittleEndian.AppendUint64(dst, uint64(at.Sub(midnight).Microseconds())), nil
}
