package jsonl

import (
	"slices"
	"time"
)

// appendDatetime appends a datetime by RFC 3339, with the fraction of its seconds as the source has it. Where the
// offset of the zone has seconds, which RFC 3339 cannot say, it is in UTC.
func appendDatetime(dst []byte, at time.Time, fraction []byte) []byte {
	if _, offset := at.Zone(); offset%60 != 0 {
		if utc := at.UTC(); utc.Year() >= 0 && utc.Year() <= 9999 {
			at = utc
		}
	}
	dst = append(dst, '"')
	seconds := len(dst) + len("2006-01-02T15:04:05")
	dst = at.AppendFormat(dst, time.RFC3339) // faster than other layouts
	return append(slices.Insert(dst, seconds, fraction...), '"')
}
