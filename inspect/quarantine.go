package inspect

import (
	"context"
	"time"
)

// quarantinedEntry is an entry of the quarantine as people see it.
type Quarantined struct {
	Entry  string    `json:"entry"` // its name in the quarantine
	At     time.Time `json:"at"`
	Stream string    `json:"stream"` // from which it came
	Reason string    `json:"reason"`
	Fields string    `json:"fields"` // what it was, at most 1 KB
}

// quarantine reads the entries that are meant, the newest first, at most that many
// (0: all).
func (in *Inspector) Quarantine(ctx context.Context, meant func(Quarantined) bool, limit int) ([]Quarantined, error) {
	list := []Quarantined{}
	for end := "+"; ; {
		page, err := in.redis.XRevRangeN(ctx, in.scripts.Quarantined(), end, "-", searchPage).Result()
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			e := Quarantined{Entry: m.ID, At: entryTime(m.ID)}
			e.Stream, _ = m.Values["stream"].(string)
			e.Reason, _ = m.Values["reason"].(string)
			e.Fields, _ = m.Values["fields"].(string)
			if meant(e) {
				if list = append(list, e); len(list) == limit {
					return list, nil
				}
			}
		}
		if len(page) < searchPage {
			return list, nil
		}
		end = "(" + page[len(page)-1].ID
	}
}
