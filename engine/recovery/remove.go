package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// known returns the keys of a partition whose names belong to Fanfold, except the hashes of jobs,
// and except keys of another installation whose prefix begins with this one.
func known(ctx context.Context, client redis.UniversalClient, k *scripts.Keys) (found []string, err error) {
	node, err := redisdb.Master(ctx, client, k.Jobs)
	if err != nil {
		return nil, err
	}
	var others []string // prefixes
	keys := node.Scan(ctx, 0, k.Prefix+"*", scanPage).Iterator()
	for keys.Next(ctx) {
		key := keys.Val()
		if strings.HasPrefix(key, k.Hash) {
			continue
		}
		if other, ok := strings.CutSuffix(key, scripts.NewKeys(report.Keys{}).Installation); ok && other != k.Prefix {
			// A timer, or what belongs to a listener, can have this name, too.
			kind, err := node.Type(ctx, key).Result()
			if err != nil {
				return nil, err
			}
			if end, err := node.PTTL(ctx, key).Result(); err != nil {
				return nil, err
			} else if kind == "string" && end < 0 {
				others = append(others, other)
			}
		}
		if k.Type(key) != "" {
			found = append(found, key)
		}
	}
	return slices.DeleteFunc(found, func(key string) bool {
		return slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(key, other) })
	}), keys.Err()
}

// remove removes the running jobs of a partition, what jobs have left for later ones, and its keys. Keys with work
// stay if the work stays in this partition, and must be empty otherwise. Other hashes of ended jobs expire.
func remove(ctx context.Context, client redis.UniversalClient, k *scripts.Keys, stays bool) error {
	if err := cmp.Or(removeHashes(ctx, client, k.Deadlines, k.Job),
		removeHashes(ctx, client, k.Fallbacks, k.Good)); err != nil {
		return err
	}
	keys, err := known(ctx, client, k)
	if err != nil {
		return err
	}
	for _, key := range keys {
		switch {
		case !k.HoldsWork(key):
			err = client.Unlink(ctx, key).Err()
		case !stays:
			err = removeEmpty(ctx, client, key, k.Type(key))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeHashes removes the members of a sorted set, and their hashes before them.
func removeHashes(ctx context.Context, client redis.UniversalClient, set string, hash func(id string) string) error {
	for {
		ids, err := client.ZRange(ctx, set, 0, scanPage-1).Result()
		if err != nil || len(ids) == 0 {
			return err
		}
		if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, id := range ids {
				p.Unlink(ctx, hash(id))
			}
			return nil
		}); err != nil {
			return err
		}
		if err := client.ZRem(ctx, set, ids).Err(); err != nil {
			return err
		}
	}
}

// removeEmpty removes a key that holds no more work.
func removeEmpty(ctx context.Context, client redis.UniversalClient, key, kind string) error {
	added := fmt.Errorf("something was added to %s meanwhile: stop the services that push there, and run the command "+
		"again", key)
	err := client.Watch(ctx, func(tx *redis.Tx) error {
		n, err := size(ctx, tx, key, kind)
		if err != nil {
			return err
		}
		if n > 0 {
			return added
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Unlink(ctx, key).Err() })
		return err
	}, key)
	if errors.Is(err, redis.TxFailedErr) {
		return added
	}
	return err
}

// size returns how much work a key holds. A timer's key without a TTL holds none.
func size(ctx context.Context, tx *redis.Tx, key, kind string) (int64, error) {
	switch kind {
	case "stream":
		return tx.XLen(ctx, key).Result()
	case "zset":
		return tx.ZCard(ctx, key).Result()
	case "hash":
		return tx.HLen(ctx, key).Result()
	}
	end, err := tx.PTTL(ctx, key).Result()
	return int64(max(0, end)), err
}
