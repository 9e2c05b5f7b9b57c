package http

import (
	"context"
	"encoding/json"
	"iter"
)

// batches iterates over the distinct values of an earlier stage, without null, in
// lists of the listener's batch: JSON as it was found.
func (r *reader) batches(ctx context.Context) iter.Seq2[[]any, error] {
	from, size := r.task.Listener.From, max(1, r.task.Listener.Batch)
	return func(yield func([]any, error) bool) {
		seen := map[string]struct{}{}
		var batch []any
		_, values, err := r.task.Values(ctx, from.Listener, from.Column)
		if err != nil {
			yield(nil, err)
			return
		}
		for raw, err := range values {
			if err != nil {
				yield(nil, err)
				return
			}
			text := string(raw)
			if _, known := seen[text]; known || text == "null" {
				continue
			}
			seen[text] = struct{}{}
			if batch = append(batch, json.RawMessage(text)); len(batch) < size {
				continue
			}
			if !yield(batch, nil) {
				return
			}
			batch = nil
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}
