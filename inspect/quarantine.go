package inspect

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// Quarantine is the stream of entries that could not be used.
type Quarantine struct{ o *Options }

// Quarantined is an entry that could not be used.
type Quarantined struct {
	// Entry is its id in the quarantine; with several partitions after their number, such as
	// 3:1700000000000-0.
	Entry  string    `json:"entry"`
	At     time.Time `json:"at"`
	Stream string    `json:"stream"` // where it came from
	Reason string    `json:"reason"`
	Origin string    `json:"origin"` // its id in that stream; empty: it came from a sorted set, or was read again
	Fields string    `json:"fields"` // its fields, up to 1 KB: see scripts.ParseExcerpt
}

// List lists the quarantined entries that match, the newest first, up to a limit (0: all).
func (l Quarantine) List(ctx context.Context, match func(Quarantined) bool, limit int) ([]Quarantined, error) {
	newest := func(a, b Quarantined) int { return b.At.Compare(a.At) }
	return everywhere(l.o, limit, newest, func(s *scripts.Scripts) ([]Quarantined, error) {
		return collect(each(s.Entries.NewestPages(ctx, s.Keys.Quarantined, ""),
			func(e scripts.Entry) Quarantined { return l.parse(s, e) }), match, limit)
	})
}

// Entry reads an entry of a partition's quarantine. It returns false if it does not exist.
func (l Quarantine) Entry(ctx context.Context, s *scripts.Scripts, id string) (q Quarantined, ok bool, err error) {
	found, err := s.Entries.Get(ctx, s.Keys.Quarantined, id)
	if err != nil || found == nil {
		return q, false, err
	}
	return l.parse(s, *found), true, nil
}

// parse decodes an entry of a partition.
func (l Quarantine) parse(s *scripts.Scripts, e scripts.Entry) Quarantined {
	q := ParseQuarantined(e)
	q.Entry = l.entryName(s, q.Entry)
	return q
}

// entryName returns the name of an entry of a partition's quarantine.
func (l Quarantine) entryName(s *scripts.Scripts, entry string) string {
	if len(l.o.Scripts) == 1 {
		return entry
	}
	return strconv.Itoa(slices.Index(l.o.Scripts, s)) + ":" + entry
}

// ParseQuarantined decodes an entry of a quarantine.
func ParseQuarantined(e scripts.Entry) Quarantined {
	return Quarantined{
		Entry: e.ID, At: scripts.EntryTime(e.ID),
		Stream: e.Fields["stream"], Origin: e.Fields["entry"], Reason: e.Fields["reason"], Fields: e.Fields["fields"],
	}
}

// maxSearched is about how many entries Search reads.
const maxSearched = 12_000

// Search searches the newest entries of the quarantine for an id. It returns false for whole if the
// quarantine has more entries.
func (l Quarantine) Search(ctx context.Context, id string) (found *Quarantined, whole bool, err error) {
	s, seen := l.o.Scripts.Of(id), 0
	for page, err := range s.Entries.NewestPages(ctx, s.Keys.Quarantined, "") {
		if err != nil {
			return nil, false, err
		}
		for _, m := range page {
			if one := l.parse(s, m); one.Names(id) {
				return &one, true, nil
			}
		}
		if seen += len(page); seen >= maxSearched {
			return nil, false, nil
		}
	}
	return nil, true, nil
}

// otherForm is the reason of an id that was pushed in another form than its record has it.
var otherForm = regexp.MustCompile(`^the record's id is "([^"]+)": push exactly that$`)

// ExactID returns the id of the record if the entry has it in another form.
func (q Quarantined) ExactID() string {
	if m := otherForm.FindStringSubmatch(q.Reason); m != nil {
		return m[1]
	}
	return ""
}

// Names reports whether the fields of an entry contain an id.
func (q Quarantined) Names(id string) bool {
	fields, _ := scripts.ParseExcerpt(q.Fields)
	of, _, _ := strings.Cut(fields["member"], "/")
	return id != "" && (fields["id"] == id || of == id)
}
