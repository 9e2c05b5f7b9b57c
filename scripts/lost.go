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
	const page, pages = 1000, 100
	read, err := s.lastRead(ctx, stream)
	if err != nil {
		return false, err
	}
	for start, n := "-", 0; len(lost) > 0; n++ {
		entries, err := s.rdb.XRangeN(ctx, stream, start, "+", page).Result()
		if err != nil {
			return false, fmt.Errorf("search %s: %w", stream, err)
		}
		pending, err := s.pendingOf(ctx, stream, entries, read)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			m := Message{ID: fmt.Sprint(e.Values["id"])}
			m.Attempt, _ = strconv.ParseInt(fmt.Sprint(e.Values["attempt"]), 10, 64)
			if _, ok := lost[m]; !ok || e.Values["cancel"] != nil {
				continue
			}
			lost[m] = Entry{Stream: stream, ID: e.ID}
			if read == "" || laterEntry(e.ID, read) || pending[e.ID] {
				delete(lost, m)
			}
		}
		if len(entries) < page {
			break
		}
		if n == pages {
			return false, nil
		}
		start = "(" + entries[len(entries)-1].ID
	}
	return true, nil
}

// lastRead is the last entry that the group of a stream was given; empty if it has no
// group, and so will be given all of them.
func (s Streams) lastRead(ctx context.Context, stream string) (string, error) {
	groups, err := s.rdb.XInfoGroups(ctx, stream).Result()
	if err != nil && !strings.Contains(err.Error(), "no such key") {
		return "", fmt.Errorf("groups of %s: %w", stream, err)
	}
	for _, g := range groups {
		if g.Name == Group {
			return g.LastDeliveredID, nil
		}
	}
	return "", nil
}

// pendingOf returns which of a page of entries are pending; read is the last entry that the
// group was given.
func (s Streams) pendingOf(ctx context.Context, stream string, entries []redis.XMessage, read string) (map[string]bool, error) {
	pending := map[string]bool{}
	if len(entries) == 0 || read == "" || laterEntry(entries[0].ID, read) {
		return pending, nil
	}
	found, err := s.rdb.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: stream, Group: Group, Start: entries[0].ID, End: entries[len(entries)-1].ID, Count: int64(len(entries)),
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
	return s.outcome(ctx, call(ctx, "resend", []string{s.Keys.Job(m.ID), s.Keys.Delayed, entry.Stream}, m.ID, m.Attempt, step, entry.ID))
}
