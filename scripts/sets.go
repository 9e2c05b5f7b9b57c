package scripts

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// pageSize is the number of entries or members that one round trip reads.
const pageSize = 1000

// Member is a member of a sorted set.
type Member struct {
	Name  string
	Score float64
}

// membersOf returns members as Redis returns them.
func membersOf(found []redis.Z) []Member {
	members := make([]Member, len(found))
	for i, z := range found {
		members[i].Name, _ = z.Member.(string)
		members[i].Score = z.Score
	}
	return members
}

// Len returns the number of members of a sorted set.
func (s Sets) Len(ctx context.Context, key string) (int64, error) {
	c := redis.NewIntCmd(ctx, "zcard", key)
	err := s.send(ctx, c)
	return c.Val(), err
}

// Scan iterates over the members of a sorted set, page by page, in no order. It returns every member
// that exists all the time, some perhaps twice.
func (s Sets) Scan(ctx context.Context, key string) iter.Seq2[[]Member, error] {
	return func(yield func([]Member, error) bool) {
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			var page []Member
			var err error
			page, cursor, err = s.scan(ctx, key, cursor)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

func (s Sets) scan(ctx context.Context, key string, cursor uint64) ([]Member, uint64, error) {
	flat, next, err := s.rdb.ZScan(ctx, key, cursor, "", pageSize).Result()
	if err != nil {
		return nil, 0, fmt.Errorf("scan %s: %w", key, err)
	}
	var members []Member
	for i := 0; i+1 < len(flat); i += 2 {
		score, err := strconv.ParseFloat(flat[i+1], 64)
		if err != nil {
			return nil, 0, fmt.Errorf("scan %s: %w: score %q", key, ErrReply, flat[i+1])
		}
		members = append(members, Member{flat[i], score})
	}
	return members, next, nil
}

// Pages iterates over the members of a sorted set, page by page, the lowest score first.
func (s Sets) Pages(ctx context.Context, key string) iter.Seq2[[]Member, error] {
	return func(yield func([]Member, error) bool) {
		for start := int64(0); ; start += pageSize {
			found, err := s.rdb.ZRangeWithScores(ctx, key, start, start+pageSize-1).Result()
			if err != nil {
				err = fmt.Errorf("members of %s: %w", key, err)
			}
			if !yield(membersOf(found), err) || err != nil || len(found) < pageSize {
				return
			}
		}
	}
}

// Until returns a page of the members whose score is at most a time (ms), from an offset on, the
// lowest or the highest score first. A page that is not full is the last one.
func (s Sets) Until(ctx context.Context, key string, at time.Time, highest bool,
	offset int) (page []Member, full bool, err error) {
	args := redis.ZRangeArgs{
		Key: key, ByScore: true, Rev: highest, Offset: int64(offset), Count: pageSize,
		Start: "-inf", Stop: strconv.FormatInt(at.UnixMilli(), 10),
	}
	if highest {
		args.Start, args.Stop = args.Stop, args.Start // as ZRANGE … REV requires
	}
	found, err := s.rdb.ZRangeArgsWithScores(ctx, args).Result()
	if err != nil {
		return nil, false, fmt.Errorf("members of %s: %w", key, err)
	}
	return membersOf(found), len(found) == pageSize, nil
}

// Scores returns the scores of those members that a sorted set has.
func (s Sets) Scores(ctx context.Context, key string, members []string) (map[string]float64, error) {
	if len(members) == 0 {
		return nil, nil
	}
	cmd := redis.NewSliceCmd(ctx, append([]any{"zmscore", key}, asArgs(members)...)...)
	if err := s.rdb.Process(ctx, cmd); err != nil {
		return nil, fmt.Errorf("scores in %s: %w", key, err)
	}
	scores := map[string]float64{}
	for i, v := range cmd.Val() {
		switch v := v.(type) {
		case float64:
			scores[members[i]] = v
		case string:
			score, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, fmt.Errorf("scores in %s: %w: %q", key, ErrReply, v)
			}
			scores[members[i]] = score
		}
	}
	return scores, nil
}

// Keeps says which members of a sorted set keep their scores when others are restored.
type Keeps int

// The members that keep their scores.
const (
	KeepsAll     Keeps = iota // all that exist
	KeepsLater                // those whose scores are greater
	KeepsEarlier              // those whose scores are less
)

// Restore adds members to a sorted set.
func (s Sets) Restore(ctx context.Context, key string, members []Member, keeps Keeps) error {
	if len(members) == 0 {
		return nil
	}
	args := redis.ZAddArgs{NX: keeps == KeepsAll, GT: keeps == KeepsLater, LT: keeps == KeepsEarlier}
	for _, m := range members {
		args.Members = append(args.Members, redis.Z{Member: m.Name, Score: m.Score})
	}
	if err := s.rdb.ZAddArgs(ctx, key, args).Err(); err != nil {
		return asError("restore "+key, err)
	}
	return nil
}

// Remove removes members of a sorted set, and returns how many it had.
func (s Sets) Remove(ctx context.Context, key string, members ...string) (int64, error) {
	c := redis.NewIntCmd(ctx, append([]any{"zrem", key}, asArgs(members)...)...)
	err := s.send(ctx, c)
	return c.Val(), err
}
