package inspect

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/excerpt"
)

// Quarantined is an entry that could not be used.
type Quarantined struct {
	Entry  string    `json:"entry"` // its name in the quarantine; of several partitions behind their number, such as 3:1700000000000-0
	At     time.Time `json:"at"`
	Stream string    `json:"stream"` // from which it came
	Reason string    `json:"reason"`
	Origin string    `json:"origin"` // the entry's name in that stream; empty: it came from a sorted set, or was read again
	Fields string    `json:"fields"` // what it was, up to 1 KB: see excerpt.Parse
}

// Quarantine lists the quarantined entries that are meant, the newest first, up to a
// limit (0: all).
func (in *Inspector) Quarantine(ctx context.Context, meant func(Quarantined) bool, limit int) ([]Quarantined, error) {
	newest := func(a, b Quarantined) int { return b.At.Compare(a.At) }
	return everywhere(in, limit, newest, func(s *scripts.Scripts) ([]Quarantined, error) {
		return collect(each(entries(ctx, in.o.Redis, s.Keys.Quarantined(), true), func(m redis.XMessage) Quarantined { return in.quarantined(s, m) }), meant, limit)
	})
}

// QuarantinedEntry reads an entry of a partition's quarantine; not ok: it has no such entry.
func (in *Inspector) QuarantinedEntry(ctx context.Context, s *scripts.Scripts, id string) (q Quarantined, ok bool, err error) {
	found, err := in.o.Redis.XRange(ctx, s.Keys.Quarantined(), id, id).Result()
	if err != nil || len(found) == 0 {
		return q, false, err
	}
	return in.quarantined(s, found[0]), true, nil
}

// quarantined describes an entry of a partition.
func (in *Inspector) quarantined(s *scripts.Scripts, m redis.XMessage) Quarantined {
	q := newQuarantined(m)
	if len(in.o.Scripts) > 1 {
		q.Entry = strconv.Itoa(slices.Index(in.o.Scripts, s)) + ":" + q.Entry
	}
	return q
}

func newQuarantined(m redis.XMessage) Quarantined {
	text := func(field string) string { s, _ := m.Values[field].(string); return s }
	return Quarantined{Entry: m.ID, At: scripts.EntryTime(m.ID), Stream: text("stream"), Origin: text("entry"), Reason: text("reason"), Fields: text("fields")}
}

// searchQuarantine searches the newest entries of the quarantine for an id, and tells
// whether those are all.
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

// names tells whether the fields of an entry name an id.
func (q Quarantined) names(id string) bool {
	fields, _ := excerpt.Parse(q.Fields)
	of, _, _ := strings.Cut(fields["member"], "/")
	return id != "" && (fields["id"] == id || of == id)
}
