package spool

import (
	"fmt"
	"iter"
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

// Ticket says where the segments of a dataset lie, in their order: the text of the field <listener>:at, as
// docs/reference/keys.md describes it. A dataset that was read in parts has several runs.
type Ticket []Run

// Run is the segments that one Writer has written.
type Run struct {
	URL      string // up to their number
	Segments []Segment
}

// ParseTicket parses the text of a ticket.
func ParseTicket(text string) (t Ticket, err error) {
	for word := range strings.SplitSeq(text, " ") {
		s, ok := parseSegment(word)
		switch {
		case ok && t != nil:
			last := &t[len(t)-1]
			last.Segments = append(last.Segments, s)
		case strings.Contains(word, "://"):
			t = append(t, Run{URL: unescaped.Replace(word)})
		default:
			return nil, fmt.Errorf("the ticket of a dataset has %.100q, not a URL or <chunks>,<rows>,<bytes>,<crc32c>", word)
		}
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

// Segments iterates over the segments and their URLs.
func (t Ticket) Segments() iter.Seq2[string, Segment] {
	return func(yield func(string, Segment) bool) {
		for _, r := range t {
			for i, s := range r.Segments {
				if !yield(numbered(r.URL, i), s) {
					return
				}
			}
		}
	}
}

// Bytes returns the size of all segments.
func (t Ticket) Bytes() (n int64) {
	for _, s := range t.Segments() {
		n += s.Bytes
	}
	return n
}
