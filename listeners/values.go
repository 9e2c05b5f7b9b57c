package listeners

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/internal/spooled"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
)

// Distinct opens the column of an earlier stage that the listener uses (From), and iterates
// over its distinct values without null, as Values does. It keeps all of them in memory.
func (t Task) Distinct(ctx context.Context) (dataset.Column, iter.Seq2[[]byte, error]) {
	from := t.Listener.From
	column, values, err := t.Values(ctx, from.Listener, from.Column)
	return column, func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		seen := distinct{}
		for raw, err := range values {
			if err != nil {
				yield(nil, err)
				return
			}
			fresh, err := seen.add(raw)
			if err != nil {
				yield(nil, Permanent(fmt.Errorf("value of %s: %w", from, err)))
				return
			}
			if fresh && !yield(raw, nil) {
				return
			}
		}
	}
}

// distinct remembers JSON scalars, each in the least room.
type distinct struct {
	integers map[int64]struct{}
	others   map[string]struct{} // JSON
}

// add tells whether a JSON scalar is seen for the first time; a null never is.
func (d *distinct) add(raw []byte) (fresh bool, err error) {
	if len(raw) == 0 {
		return false, fmt.Errorf("no JSON: %q", raw)
	}
	switch c := raw[0]; {
	case c == 'n':
		return false, nil
	case c == '-', c >= '0' && c <= '9':
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return insert(&d.integers, n), nil
		}
	case c != '"' && c != 't' && c != 'f':
		return false, fmt.Errorf("no scalar: %.40q", raw)
	}
	return insert(&d.others, string(raw)), nil
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

// values is Task.Values.
func (t *task) values(ctx context.Context, listener, column string) (dataset.Column, iter.Seq2[[]byte, error], error) {
	state, err := callRedis(ctx, t, "read state",
		func() (*job.State, error) { return t.o.Scripts.Jobs.Read(ctx, t.ID) })
	if err != nil {
		return dataset.Column{}, nil, err
	}
	from := state.Tasks[listener]
	if from.Policy != "" { // the job goes on without it
		return dataset.Column{}, func(func([]byte, error) bool) {}, nil
	}
	if from.Stage > 0 && !from.Done {
		return dataset.Column{}, nil, runsAgain(listener)
	}
	var columns []dataset.Column
	if err := json.Unmarshal(from.Columns, &columns); err != nil {
		return dataset.Column{}, nil, Permanent(fmt.Errorf("columns of %s: %w", listener, err))
	}
	at := slices.IndexFunc(columns, func(c dataset.Column) bool { return c.Name == column })
	if at < 0 {
		return dataset.Column{}, nil, Permanent(fmt.Errorf("%s has given no column %s", listener, column))
	}
	var store dataset.Store = t.o.Scripts.Folds.Stored(t.ID, listener)
	if from.At != "" {
		if store, err = spooled.Open(t.o.Spool, listener, from); err != nil {
			return dataset.Column{}, nil, spoolFailed(ctx, err)
		}
	}
	return columns[at], func(yield func([]byte, error) bool) {
		for number := range from.Chunks {
			chunk, err := t.chunk(ctx, store, number, dataset.Column{Name: column})
			if lost, ok := errors.AsType[spooled.Lost](spooled.LostOf(listener, from, err)); ok {
				err = t.reopen(ctx, lost)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for row := range chunk.Rows() {
				if !yield(chunk.Cell(0, row), nil) {
					return
				}
			}
		}
	}, nil
}

// chunk reads a chunk of some columns.
func (t *task) chunk(
	ctx context.Context, store dataset.Store, number int64, columns ...dataset.Column,
) (*dataset.Chunk, error) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	get := func() ([][]byte, error) { return store.Get(ctx, names, number) }
	var fields [][]byte
	var err error
	if _, spooled := store.(*spool.Reader); !spooled {
		fields, err = callRedis(ctx, t, "read chunk", get)
	} else {
		resume := t.pause(&inSpool)
		if fields, err = get(); err != nil {
			err = spoolFailed(ctx, err)
		}
		resume()
	}
	if err != nil {
		return nil, err
	}
	chunk, err := dataset.DecodeChunk(columns, fields)
	if err != nil {
		return nil, Permanent(err)
	}
	return chunk, nil
}

// reopenedPause is how long a task waits for a listener that runs again.
const reopenedPause = 5 * time.Second

// runsAgain is the error of who needs a listener of an earlier stage whose dataset was lost: see spooled.Reopen.
func runsAgain(listener string) error {
	return wait{reopenedPause, "listener " + listener + ", which runs again", job.BlameSpool}
}

// reopen makes the listener of a dataset run again that is lost, and returns the error of the task that needs it.
func (t *task) reopen(ctx context.Context, lost spooled.Lost) error {
	m := scripts.Message{ID: t.ID, Attempt: t.Attempt}
	result := spooled.Reopen(ctx, t.log, t.o.Scripts, m, t.Report, t.Listener.Name, lost)
	if result.Kind == step.Permanent {
		return Permanent(errSpool.Of(result.Err))
	}
	return wait{reopenedPause, "listener " + lost.Listener + ", which runs again: " + lost.Error(), job.BlameSpool}
}
