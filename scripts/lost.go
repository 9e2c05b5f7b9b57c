package scripts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// A scheduler checks LostJobs running jobs every LostEvery for what Redis has lost.
const (
	LostEvery = 10 * time.Second
	LostJobs  = 1000
)

// Lost returns those of a step's messages that no worker will get, with the entry that was read
// and is not pending (without ID: it does not exist). It searches the oldest hundred thousand
// entries of a stream; if there are more, none is lost.
func (s Streams) Lost(ctx context.Context, step string, wanted []Message) (map[Message]Entry, error) {
	streams := []string{s.Keys.Task(step)}
	if step == job.StepFanIn {
		streams = []string{s.Keys.FanIn, s.Keys.FanInLarge} // in the order in which a message moves
	}
	lost := make(map[Message]Entry, len(wanted))
	for _, m := range wanted {
		lost[m] = Entry{Stream: streams[0]}
	}
	for _, stream := range streams {
		if all, err := s.find(ctx, stream, lost); err != nil || !all {
			return nil, err
		}
	}
	return lost, nil
}

// find removes from lost the messages that a worker will get from a stream, and notes the entries
// of others. It tells whether it searched the whole stream.
func (s Streams) find(ctx context.Context, stream string, lost map[Message]Entry) (bool, error) {
	const pages = 100
	group, err := Entries(s).Stream(ctx, stream)
	if err != nil {
		return false, err
	}
	for last, n := "0-0", 0; len(lost) > 0; n++ {
		entries, full, err := Entries(s).After(ctx, stream, last)
		if err != nil {
			return false, fmt.Errorf("search %s: %w", stream, err)
		}
		if len(entries) == 0 {
			break
		}
		pending, err := s.pendingOf(ctx, stream, entries[0].ID, entries[len(entries)-1].ID, len(entries), group.Read)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			last = e.ID
			m := Message{ID: e.Fields["id"]}
			m.Attempt, _ = strconv.ParseInt(e.Fields["attempt"], 10, 64)
			_, cancels := e.Fields["cancel"]
			if _, ok := lost[m]; !ok || cancels {
				continue
			}
			lost[m] = Entry{Stream: stream, ID: e.ID}
			if group.Read == "" || laterEntry(e.ID, group.Read) || pending[e.ID] {
				delete(lost, m)
			}
		}
		if !full {
			break
		}
		if n == pages {
			return false, nil
		}
	}
	return true, nil
}

// pendingOf returns which entries between two are pending, of at most n; read is the last entry that the
// group was given.
func (s Streams) pendingOf(ctx context.Context, stream, from, to string, n int, read string) (map[string]bool, error) {
	pending := map[string]bool{}
	if read == "" || laterEntry(from, read) {
		return pending, nil
	}
	found, err := s.rdb.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: stream, Group: Group, Start: from, End: to, Count: int64(n),
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("pending entries of %s: %w", stream, err)
	}
	for _, p := range found {
		pending[p.ID] = true
	}
	return pending, nil
}

// laterEntry tells whether an entry's id is greater than another one.
func laterEntry(a, b string) bool {
	part := func(id string) (ms, n uint64) {
		left, right, _ := strings.Cut(id, "-")
		ms, _ = strconv.ParseUint(left, 10, 64)
		n, _ = strconv.ParseUint(right, 10, 64)
		return ms, n
	}
	aMS, aN := part(a)
	bMS, bN := part(b)
	return aMS > bMS || aMS == bMS && aN > bN
}

// Resend sends a step's message once more that Redis has lost, to the stream of the entry that
// Lost returns: OK, Busy if an external worker has a lease of the task or the step waits for its
// next try, or Gone if it is not open.
func (s Streams) Resend(ctx context.Context, m Message, step string, entry Entry) (Outcome, error) {
	return s.outcome(ctx, call(ctx, "resend", []string{s.Keys.Job(m.ID), s.Keys.Delayed, entry.Stream}, m.ID,
		m.Attempt, step, entry.ID))
}
