package why

import (
	"context"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// searched is the maximum number of entries that are searched for an id.
const searched = 10_000

// queue describes a stream, and one id's entry in it.
type queue struct {
	Key       string
	Length    int64
	Consumers []scripts.Consumer // of the group; Idle is the time since the last command of the consumer
	Entry     *entry             // nil: not in the searched part
	Searched  int64              // searched entries, from the oldest on
	Whole     bool               // the whole stream was searched
}

// entry is a message in a stream.
type entry struct {
	ID       string
	Ahead    int64         // older entries
	Consumer string        // the one that has read it; empty: not read yet
	Idle     time.Duration // since it was read, or its lease was renewed
}

// queue describes a stream, and searches its oldest entries for an id and an attempt (0: any).
func (g *gatherer) queue(ctx context.Context, s *scripts.Scripts, key, id string, attempt int64) (queue, error) {
	q, err := once(g, "stream "+key, func() (q queue, err error) {
		found, err := s.Entries.Stream(ctx, key)
		if err != nil {
			return q, err
		}
		return queue{Key: key, Length: found.Length, Consumers: found.Consumers}, nil
	})
	if err != nil {
		return q, err
	}
	if err := g.search(ctx, s, &q, scripts.Message{ID: id, Attempt: attempt}); err != nil || q.Entry == nil {
		return q, err
	}
	q.Entry.Consumer, q.Entry.Idle, err = s.Entries.Reader(ctx, key, q.Entry.ID)
	return q, err
}

// indexed is a page of a stream, as an index.
type indexed struct {
	length int64
	full   bool                      // there may be further entries
	last   string                    // id of its last entry
	at     map[scripts.Message]entry // the newest entry of an id and an attempt; attempt 0: of the id
}

// search finds the newest entry of a message among the oldest entries of a stream.
func (g *gatherer) search(ctx context.Context, s *scripts.Scripts, q *queue, of scripts.Message) error {
	for last := "0-0"; ; {
		page, err := once(g, "stream "+q.Key+" "+last, func() (indexed, error) { return index(ctx, s, q.Key, last) })
		if err != nil {
			return err
		}
		if e, ok := page.at[of]; ok {
			e.Ahead += q.Searched
			q.Entry = &e
		}
		q.Searched += page.length
		if q.Whole = !page.full; q.Whole || q.Entry != nil || q.Searched >= searched {
			return nil
		}
		last = page.last
	}
}

// index reads a page of a stream.
func index(ctx context.Context, s *scripts.Scripts, key, last string) (indexed, error) {
	found, full, err := s.Entries.After(ctx, key, last)
	page := indexed{length: int64(len(found)), full: full, at: map[scripts.Message]entry{}}
	for i, m := range found {
		attempt, _ := strconv.ParseInt(m.Fields["attempt"], 10, 64)
		for _, of := range []int64{0, attempt} {
			page.at[scripts.Message{ID: m.Fields["id"], Attempt: of}] = entry{ID: m.ID, Ahead: int64(i)}
		}
		page.last = m.ID
	}
	return page, err
}
