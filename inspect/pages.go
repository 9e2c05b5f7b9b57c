package inspect

import (
	"iter"
	"slices"

	"github.com/fanfold/fanfold/scripts"
)

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
func everywhere[T any](o *Options, limit int, order func(a, b T) int,
	list func(s *scripts.Scripts) ([]T, error)) ([]T, error) {
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
