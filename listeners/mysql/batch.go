package mysql

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/listeners"
)

const defaultBatch = 1000

// batches runs the query for the values of an earlier stage.
func (r *reader) batches(ctx context.Context, s *session) error {
	size, err := r.batchSize()
	if err != nil {
		return err
	}
	from := r.task.Listener.From
	seen := distinct{}
	batch := make([]any, 0, size)
	for raw, err := range r.task.Values(ctx, from.Listener, from.Column) {
		if err != nil {
			return err
		}
		value, fresh, err := seen.add(raw)
		if err != nil {
			return listeners.Permanent(fmt.Errorf("value of %s: %w", from, err))
		}
		if !fresh {
			continue
		}
		if batch = append(batch, value); len(batch) == size {
			if err := r.run(ctx, s, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if len(batch) > 0 || r.columns == nil {
		return r.run(ctx, s, batch)
	}
	return nil
}

// batchSize is the listener's, or less where its values would not fit into one
// statement with all others.
func (r *reader) batchSize() (int, error) {
	size := r.task.Listener.Batch
	if size <= 0 {
		size = defaultBatch
	}
	_, one, err := r.bind(make([]any, 1))
	if err != nil {
		return 0, err
	}
	_, none, err := r.bind([]any{})
	if err != nil {
		return 0, err
	}
	if each := len(one) - len(none); each > 0 {
		size = min(size, (maxPlaceholders-len(none))/each)
	}
	return size, nil
}

// distinct remembers JSON scalars, each in the least room.
type distinct struct {
	integers map[int64]struct{}
	large    map[uint64]struct{} // beyond the int64s
	others   map[string]struct{} // the text after a letter for its type
}

// add gives the value that a JSON scalar is bound as, and whether it is seen for
// the first time; a null never is.
func (d *distinct) add(raw []byte) (value any, fresh bool, err error) {
	if len(raw) == 0 {
		return nil, false, fmt.Errorf("no JSON: %q", raw)
	}
	switch c := raw[0]; {
	case c == 'n':
		return nil, false, nil
	case c == '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, false, err
		}
		value, fresh = addText(&d.others, 's', text)
	case c == 't', c == 'f':
		_, fresh = addText(&d.others, 'b', string(raw[:1]))
		value = c == 't'
	case c == '-', c >= '0' && c <= '9':
		value, fresh = d.addNumber(string(raw))
	default:
		return nil, false, fmt.Errorf("no scalar: %.40q", raw)
	}
	return value, fresh, nil
}

// addNumber takes all digits of a number: what is no 64-bit integer is bound as
// its text, which the database reads as an exact number.
func (d *distinct) addNumber(text string) (any, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, insert(&d.integers, n)
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, insert(&d.large, n)
	}
	return addText(&d.others, 'n', text)
}

// addText returns the text as a part of its key, so that it is kept once.
func addText(set *map[string]struct{}, kind byte, text string) (any, bool) {
	key := string(kind) + text
	return key[1:], insert(set, key)
}

func insert[K comparable](set *map[K]struct{}, key K) bool {
	if _, ok := (*set)[key]; ok {
		return false
	}
	if *set == nil {
		*set = map[K]struct{}{}
	}
	(*set)[key] = struct{}{}
	return true
}
