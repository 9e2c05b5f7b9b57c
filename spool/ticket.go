package spool

import (
	"fmt"
	"strconv"
	"strings"
)

// Segment is what a ticket says of a segment.
type Segment struct {
	Chunks int64
	Rows   int64
	Bytes  int64  // of the object
	CRC32C uint32 // Castagnoli checksum of its bytes
}

// String returns the word of a ticket.
func (s Segment) String() string {
	return fmt.Sprintf("%d,%d,%d,%08x", s.Chunks, s.Rows, s.Bytes, s.CRC32C)
}

// Ticket says where the segments of a dataset lie: the text of the field <listener>:at, as
// docs/reference/keys.md describes it.
type Ticket struct {
	URL      string // of the segments, up to their number
	Segments []Segment
}

// ParseTicket parses the text of a ticket.
func ParseTicket(text string) (Ticket, error) {
	words := strings.Split(text, " ")
	t := Ticket{URL: unescaped.Replace(words[0]), Segments: make([]Segment, 0, len(words)-1)}
	for _, word := range words[1:] {
		s, ok := parseSegment(word)
		if !ok {
			return Ticket{}, fmt.Errorf("the ticket of a dataset has %.100q, not <chunks>,<rows>,<bytes>,<crc32c>", word)
		}
		t.Segments = append(t.Segments, s)
	}
	return t, nil
}

// A URL has no spaces in a ticket, because words follow it.
var (
	escaped   = strings.NewReplacer("%", "%25", " ", "%20")
	unescaped = strings.NewReplacer("%25", "%", "%20", " ")
)

func parseSegment(word string) (s Segment, ok bool) {
	parts := strings.Split(word, ",")
	if len(parts) != 4 {
		return s, false
	}
	for i, into := range []*int64{&s.Chunks, &s.Rows, &s.Bytes} {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil || n < 0 {
			return s, false
		}
		*into = n
	}
	crc, err := strconv.ParseUint(parts[3], 16, 32)
	s.CRC32C = uint32(crc)
	return s, err == nil
}

// Bytes returns the size of all segments.
func (t Ticket) Bytes() (n int64) {
	for _, s := range t.Segments {
		n += s.Bytes
	}
	return n
}
