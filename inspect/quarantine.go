package inspect

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// Quarantined is an entry that could not be used.
type Quarantined struct {
	Entry  string    `json:"entry"` // its name in the quarantine; of several partitions behind their number, such as 3:1700000000000-0
	At     time.Time `json:"at"`
	Stream string    `json:"stream"` // from which it came
	Reason string    `json:"reason"`
	Fields string    `json:"fields"` // what it was, up to 1 KB
}

// Quarantine lists the quarantined entries that are meant, the newest first, up to a
// limit (0: all).
func (in *Inspector) Quarantine(ctx context.Context, meant func(Quarantined) bool, limit int) ([]Quarantined, error) {
	newest := func(a, b Quarantined) int { return b.At.Compare(a.At) }
	return everywhere(in, limit, newest, func(s *scripts.Scripts) ([]Quarantined, error) {
		return collect(each(entries(ctx, in.o.Redis, s.Keys.Quarantined(), true), func(m redis.XMessage) Quarantined {
			q := newQuarantined(m)
			if len(in.o.Scripts) > 1 {
				q.Entry = strconv.Itoa(slices.Index(in.o.Scripts, s)) + ":" + q.Entry
			}
			return q
		}), meant, limit)
	})
}

func newQuarantined(m redis.XMessage) Quarantined {
	text := func(field string) string { s, _ := m.Values[field].(string); return s }
	return Quarantined{Entry: m.ID, At: scripts.EntryTime(m.ID), Stream: text("stream"), Reason: text("reason"), Fields: text("fields")}
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
	for _, field := range strings.Fields(q.Fields) {
		name, value, _ := strings.Cut(field, "=")
		of, _, _ := strings.Cut(value, "/")
		if name == "id" && value == id || name == "member" && of == id {
			return true
		}
	}
	return false
}
