package scripts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Once lets equal jobs share one run and its file. Its groups are in the first partition, whatever the
// partitions of their ids: the digest of a group stands for a report, its definition, parameters and,
// if people do not share, an owner.
//
//	fanfold:once                  hash: id → digest, of leaders and of those that wait
//	fanfold:once:<digest>         hash: leader, since; and of its last file: maker, ended, whole
//	fanfold:once:<digest>:waiting sorted set: id → since when it waits
type Once struct{ *conn }

// Question is what an id asks.
type Question struct {
	ID, Digest string
	Window     time.Duration // in which a file that is complete is shared after its end
	Again      bool          // the record ran before: it does not wait, and does not get the file of another
}

// Answer is what becomes of an id.
type Answer struct {
	Kind    AnswerKind
	Leader  string // of Waits
	Maker   string // of Shares: the id whose job made the file
	Attempt int64  // of that job
}

// AnswerKind is the kind of an Answer.
type AnswerKind int64

const (
	Waits  AnswerKind = iota // it waits until the leader has ended
	Leads                    // it runs, and others may wait for it
	Shares                   // it may have the file of an attempt
	Alone                    // it runs, and no other waits for it
	Moves                    // it is in the group of another digest: EndOnce takes it out, and it asks again
)

// Ask asks for ids, and returns an answer for each, in their order. It may be repeated.
func (s Once) Ask(ctx context.Context, questions []Question) ([]Answer, error) {
	cmds := make([]redis.Cmder, len(questions))
	for i, q := range questions {
		again := ""
		if q.Again {
			again = "1"
		}
		cmds[i] = call(ctx, "once_ask", s.keys(q.Digest), q.ID, q.Digest, q.Window.Milliseconds(), again)
	}
	if err := s.send(ctx, cmds...); err != nil {
		return nil, err
	}
	answers := make([]Answer, len(questions))
	for i, c := range cmds {
		reply, err := c.(*redis.Cmd).Slice()
		if err != nil || len(reply) == 0 {
			return nil, fmt.Errorf("once_ask: %w: %v", ErrReply, reply)
		}
		kind, _ := reply[0].(int64)
		answers[i].Kind = AnswerKind(kind)
		if len(reply) < 2 {
			continue
		}
		text, _ := reply[1].(string)
		if answers[i].Kind == Waits {
			answers[i].Leader = text
			continue
		}
		maker, attempt, _ := strings.Cut(text, "/")
		answers[i].Maker = maker
		if answers[i].Attempt, err = strconv.ParseInt(attempt, 10, 64); err != nil {
			return nil, fmt.Errorf("once_ask: %w: maker %q", ErrReply, text)
		}
	}
	return answers, nil
}

// waitingIn is the sorted set of the ids that wait for the leader of a group: id → since when.
func waitingIn(k *Keys, digest string) string { return k.Group(digest) + ":waiting" }

func (s Once) keys(digest string) []string {
	return []string{s.shared.Once, s.shared.Group(digest), waitingIn(s.shared, digest)}
}

// OnceEnd is the end of a job, or of the wait of an id.
type OnceEnd struct {
	ID      string
	Attempt int64         // that has made a file; 0: none
	Whole   bool          // nothing is missing in the file
	Window  time.Duration // in which a file that is complete is shared
	// Content is that of the file (see report.Once). A group gets no file with another content: the parameters of a
	// leader may have changed. Empty: any.
	Content string
}

// maxReleased is the maximum number of ids that one call pushes. A sweep pushes the others.
const maxReleased = 5000

// EndOnce takes ids out of their groups, and pushes those that need not wait any more. Ids without a
// group are ignored. It may be repeated; if it fails, a sweep does the rest.
func EndOnce(ctx context.Context, p Partitions, ends ...OnceEnd) error {
	s := p.First().Once
	ids := make([]string, len(ends))
	for i, e := range ends {
		ids[i] = e.ID
	}
	digests, err := s.digests(ctx, ids)
	if err != nil {
		return err
	}
	var cmds []redis.Cmder
	for i, e := range ends {
		if digests[i] == "" {
			continue
		}
		attempt, whole := "", ""
		if e.Attempt > 0 && strings.HasPrefix(digests[i], e.Content) {
			attempt = strconv.FormatInt(e.Attempt, 10)
		}
		if e.Whole {
			whole = "1"
		}
		cmds = append(cmds, call(ctx, "once_end", s.keys(digests[i]), e.ID, attempt, whole, e.Window.Milliseconds(),
			maxReleased, digests[i]))
	}
	failed := s.send(ctx, cmds...)
	for _, c := range cmds {
		if next, err := c.(*redis.Cmd).StringSlice(); err == nil {
			if err := pushAll(ctx, p, next); err != nil {
				return err
			}
		}
	}
	return failed
}

// pushAll pushes ids into their partitions.
func pushAll(ctx context.Context, p Partitions, ids []string) error {
	of := map[*Scripts][]string{}
	for _, id := range ids {
		of[p.Of(id)] = append(of[p.Of(id)], id)
	}
	for s, ids := range of {
		cmds := make([]redis.Cmder, len(ids))
		for i, id := range ids {
			cmds[i] = redis.NewStringCmd(ctx, "xadd", s.Keys.Jobs, "*", "id", id)
		}
		if err := s.send(ctx, cmds...); err != nil {
			return err
		}
	}
	return nil
}

// digests returns the digests of the groups of ids; empty: an id has none.
func (s Once) digests(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	values, err := s.rdb.HMGet(ctx, s.shared.Once, ids...).Result()
	if err != nil {
		return nil, asError("once", err)
	}
	digests := make([]string, len(ids))
	for i, v := range values {
		digests[i], _ = v.(string)
	}
	return digests, nil
}

// OnceGroup is what is known of a group.
type OnceGroup struct {
	Digest string
	Leader string // empty: none
	Since  time.Time
	Waits  []string // ids that wait, the longest first; at most as many as were asked for
	IDs    []string // those of fanfold:once; only All sets them
}

// GroupOf returns the group of an id; false: it has none. Its Waits are those of max ids.
func (s Once) GroupOf(ctx context.Context, id string, max int) (g OnceGroup, ok bool, err error) {
	digests, err := s.digests(ctx, []string{id})
	if err != nil || digests[0] == "" {
		return g, false, err
	}
	groups, err := s.groups(ctx, digests, max)
	if err != nil {
		return g, false, err
	}
	return groups[0], true, nil
}

// Waiting returns which of these ids wait for the leader of a group.
func (s Once) Waiting(ctx context.Context, ids []string) (map[string]bool, error) {
	digests, err := s.digests(ctx, ids)
	if err != nil {
		return nil, err
	}
	var cmds []redis.Cmder
	var of []string
	for i, digest := range digests {
		if digest != "" {
			of = append(of, ids[i])
			cmds = append(cmds, redis.NewFloatCmd(ctx, "zscore", waitingIn(s.shared, digest), ids[i]))
		}
	}
	if err := s.do(ctx, cmds...); err != nil {
		return nil, err
	}
	waits := map[string]bool{}
	for i, c := range cmds {
		switch err := c.Err(); {
		case err == nil:
			waits[of[i]] = true
		case err != redis.Nil:
			return nil, asError("once", err)
		}
	}
	return waits, nil
}

// All returns the groups that have a leader or ids that wait, and of each up to max of these.
func (s Once) All(ctx context.Context, max int) ([]OnceGroup, error) {
	ids := map[string][]string{}
	var digests []string
	for cursor := uint64(0); ; {
		page, next, err := s.rdb.HScan(ctx, s.shared.Once, cursor, "", 1000).Result()
		if err != nil {
			return nil, asError("once", err)
		}
		for i := 1; i < len(page); i += 2 {
			if ids[page[i]] == nil {
				digests = append(digests, page[i])
			}
			ids[page[i]] = append(ids[page[i]], page[i-1])
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	groups, err := s.groups(ctx, digests, max)
	for i, g := range groups {
		groups[i].IDs = ids[g.Digest]
	}
	return groups, err
}

func (s Once) groups(ctx context.Context, digests []string, max int) ([]OnceGroup, error) {
	cmds := make([]redis.Cmder, 0, 2*len(digests))
	for _, digest := range digests {
		cmds = append(cmds,
			redis.NewSliceCmd(ctx, "hmget", s.shared.Group(digest), "leader", "since"),
			redis.NewStringSliceCmd(ctx, "zrange", waitingIn(s.shared, digest), 0, max-1))
	}
	if err := s.send(ctx, cmds...); err != nil {
		return nil, err
	}
	groups := make([]OnceGroup, len(digests))
	for i, digest := range digests {
		have := cmds[2*i].(*redis.SliceCmd).Val()
		groups[i] = OnceGroup{Digest: digest, Waits: cmds[2*i+1].(*redis.StringSliceCmd).Val()}
		groups[i].Leader, _ = have[0].(string)
		if since, ok := have[1].(string); ok {
			ms, _ := strconv.ParseInt(since, 10, 64)
			groups[i].Since = time.UnixMilli(ms)
		}
	}
	return groups, nil
}

// ReleaseOnce pushes the ids that wait in a group without a leader: those that may have a file get it, or one
// becomes the leader.
func ReleaseOnce(ctx context.Context, p Partitions, g OnceGroup) error {
	return pushAll(ctx, p, g.Waits)
}

// Forget forgets the last file of a group.
func (s Once) Forget(ctx context.Context, digest string) error {
	return s.send(ctx, redis.NewIntCmd(ctx, "hdel", s.shared.Group(digest), "maker", "ended", "whole"))
}
