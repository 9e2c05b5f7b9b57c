package inspect

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// pageSize is the number of entries or members that one round trip reads.
const pageSize = 1000

// collect returns the elements of pages that match, up to a limit (0: all). The list is never nil.
func collect[T any](pages iter.Seq2[[]T, error], match func(T) bool, limit int) ([]T, error) {
	list := []T{}
	for page, err := range pages {
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if !match(one) {
				continue
			}
			if list = append(list, one); len(list) == limit {
				return list, nil
			}
		}
	}
	return list, nil
}

// entries reads a stream page by page, the newest or the oldest entries first. The last page is not
// full, and may be empty.
func entries(ctx context.Context, rdb redis.UniversalClient, key string, newest bool) iter.Seq2[[]redis.XMessage, error] {
	return func(yield func([]redis.XMessage, error) bool) {
		read, from, to := rdb.XRangeN, "-", "+"
		if newest {
			read, from, to = rdb.XRevRangeN, "+", "-"
		}
		for {
			page, err := read(ctx, key, from, to, pageSize).Result()
			if !yield(page, err) || err != nil || len(page) < pageSize {
				return
			}
			from = "(" + page[len(page)-1].ID
		}
	}
}

// members reads a sorted set page by page, in the order of scores.
func members(ctx context.Context, rdb redis.UniversalClient, key string) iter.Seq2[[]redis.Z, error] {
	return func(yield func([]redis.Z, error) bool) {
		for start := int64(0); ; start += pageSize {
			page, err := rdb.ZRangeWithScores(ctx, key, start, start+pageSize-1).Result()
			if !yield(page, err) || err != nil || len(page) < pageSize {
				return
			}
		}
	}
}

// each converts the elements of pages.
func each[S, T any](pages iter.Seq2[[]S, error], of func(S) T) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for page, err := range pages {
			var made []T
			for _, one := range page {
				made = append(made, of(one))
			}
			if !yield(made, err) {
				return
			}
		}
	}
}

// everywhere concatenates the lists of all partitions, in an order, up to a limit (0: all).
func everywhere[T any](o *Options, limit int, order func(a, b T) int, list func(s *scripts.Scripts) ([]T, error)) ([]T, error) {
	all := []T{}
	for _, s := range o.Scripts {
		found, err := list(s)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(o.Scripts) > 1 {
		slices.SortStableFunc(all, order)
	}
	if limit > 0 {
		all = all[:min(len(all), limit)]
	}
	return all, nil
}

// Missing reports whether the error says that a stream or its group does not exist.
func Missing(err error) bool {
	return redis.HasErrorPrefix(err, "NOGROUP") || strings.Contains(err.Error(), "no such key")
}
