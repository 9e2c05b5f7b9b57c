package inspect

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// Quarantined is an entry that could not be used.
type Quarantined struct {
	Entry  string    `json:"entry"` // its id in the quarantine; with several partitions after their number, such as 3:1700000000000-0
	At     time.Time `json:"at"`
	Stream string    `json:"stream"` // where it came from
	Reason string    `json:"reason"`
	Origin string    `json:"origin"` // its id in that stream; empty: it came from a sorted set, or was read again
	Fields string    `json:"fields"` // its fields, up to 1 KB: see scripts.ParseExcerpt
}

// Quarantine lists the quarantined entries that match, the newest first, up to a limit (0: all).
func (in *Inspector) Quarantine(ctx context.Context, match func(Quarantined) bool, limit int) ([]Quarantined, error) {
	newest := func(a, b Quarantined) int { return b.At.Compare(a.At) }
	return everywhere(in, limit, newest, func(s *scripts.Scripts) ([]Quarantined, error) {
		return collect(each(entries(ctx, in.o.Redis, s.Keys.Quarantined, true), func(m redis.XMessage) Quarantined { return in.quarantined(s, m) }), match, limit)
	})
}

// QuarantinedEntry reads an entry of a partition's quarantine. It returns false if it does not exist.
func (in *Inspector) QuarantinedEntry(ctx context.Context, s *scripts.Scripts, id string) (q Quarantined, ok bool, err error) {
	found, err := in.o.Redis.XRange(ctx, s.Keys.Quarantined, id, id).Result()
	if err != nil || len(found) == 0 {
		return q, false, err
	}
	return in.quarantined(s, found[0]), true, nil
}

// quarantined decodes an entry of a partition.
func (in *Inspector) quarantined(s *scripts.Scripts, m redis.XMessage) Quarantined {
	q := newQuarantined(m)
	q.Entry = in.entryName(s, q.Entry)
	return q
}

// entryName returns the name of an entry of a partition's quarantine.
func (in *Inspector) entryName(s *scripts.Scripts, entry string) string {
	if len(in.o.Scripts) == 1 {
		return entry
	}
	return strconv.Itoa(slices.Index(in.o.Scripts, s)) + ":" + entry
}

func newQuarantined(m redis.XMessage) Quarantined {
	text := func(field string) string { s, _ := m.Values[field].(string); return s }
	return Quarantined{Entry: m.ID, At: scripts.EntryTime(m.ID), Stream: text("stream"), Origin: text("entry"), Reason: text("reason"), Fields: text("fields")}
}

// searchQuarantine searches the newest entries of the quarantine for an id. It returns false for
// whole if the quarantine has more entries.
func searchQuarantine(ctx context.Context, rdb redis.UniversalClient, key, id string) (found *Quarantined, whole bool, err error) {
	seen := 0
	for page, err := range entries(ctx, rdb, key, true) {
		if err != nil {
			return nil, false, err
		}
		for _, m := range page {
			if q := newQuarantined(m); q.names(id) {
				return &q, true, nil
			}
		}
		if seen += len(page); seen >= 12*pageSize {
			return nil, false, nil
		}
	}
	return nil, true, nil
}

// otherForm is the reason of an id that was pushed in another form than its record has it.
var otherForm = regexp.MustCompile(`^the record's id is "([^"]+)": push exactly that$`)

// exactID returns the id of the record if the entry has it in another form.
func (q Quarantined) exactID() string {
	if m := otherForm.FindStringSubmatch(q.Reason); m != nil {
		return m[1]
	}
	return ""
}

// names reports whether the fields of an entry contain an id.
func (q Quarantined) names(id string) bool {
	fields, _ := scripts.ParseExcerpt(q.Fields)
	of, _, _ := strings.Cut(fields["member"], "/")
	return id != "" && (fields["id"] == id || of == id)
}
