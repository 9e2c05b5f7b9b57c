package fanin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// listenerData reads the columns of one listener from Redis, one chunk at a time. It reads only
// chunks that the state lists.
type listenerData struct {
	ctx      context.Context
	fold     *scripts.Fold
	listener string
	columns  []dataset.Column
	task     job.TaskState
}

var _ fold.Dataset = (*listenerData)(nil)

// datasets returns the columns of a job that its report needs. of is the report of the definition, and r the one
// without what the job left out.
func (m *maker) datasets(
	ctx context.Context, of, r *report.Report, from *scripts.Fold,
) (map[string]fold.Dataset, error) {
	needed, _ := m.needed.get(of, func() (map[string][]string, error) { return fold.Needed(of), nil })
	if r != of {
		needed = fold.Needed(r)
	}
	sets := map[string]fold.Dataset{}
	for listener, names := range needed {
		task := from.Tasks[listener]
		if l, _, ok := r.Listener(listener); ok && task.Policy != "" {
			sets[listener] = fold.Empty(l) // the job continues without it
			continue
		}
		all, err := m.columns.parse(task.Columns)
		if err != nil {
			return nil, fmt.Errorf("columns of %s: %w", listener, err)
		}
		d := &listenerData{ctx: ctx, fold: from, listener: listener, task: task}
		for _, name := range names {
			for _, c := range all {
				if c.Name == name {
					d.columns = append(d.columns, c)
				}
			}
		}
		sets[listener] = d
	}
	return sets, nil
}

// cache has what is the same for all jobs of a definition. It is safe for concurrent use.
type cache[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

// maxCached is the maximum size of a cache.
const maxCached = 1000

// get returns what make returns for a key. Callers must not change it.
func (c *cache[K, V]) get(key K, make func() (V, error)) (V, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.known[key]; ok {
		return found, nil
	}
	made, err := make()
	if err != nil {
		return made, err
	}
	if c.known == nil || len(c.known) >= maxCached {
		c.known = map[K]V{}
	}
	c.known[key] = made
	return made, nil
}

// columns caches columns by their JSON.
type columns struct {
	cache[string, []dataset.Column]
}

// parse decodes columns. Callers must not change them.
func (c *columns) parse(text []byte) ([]dataset.Column, error) {
	return c.get(string(text), func() (parsed []dataset.Column, err error) {
		err = json.Unmarshal(text, &parsed)
		return parsed, err
	})
}

// Columns implements fold.Dataset.
func (d *listenerData) Columns() []dataset.Column { return d.columns }

// Rows returns how many rows the listener found.
func (d *listenerData) Rows() int64 { return d.task.Rows }

// Chunks returns the number of chunks.
func (d *listenerData) Chunks() int64 { return d.task.Chunks }

// Chunk reads some columns of a chunk.
func (d *listenerData) Chunk(n int64, numbers []int) (*dataset.Chunk, error) {
	columns, names := make([]dataset.Column, len(numbers)), make([]string, len(numbers))
	for i, number := range numbers {
		columns[i], names[i] = d.columns[number], d.columns[number].Name
	}
	fields, err := d.fold.Columns(d.ctx, d.listener, names, n)
	if err != nil && !errors.Is(err, scripts.ErrNoChunk) {
		failed := resultOf(err)
		return nil, &step.Failure{Result: failed}
	}
	if err != nil {
		return nil, err
	}
	return dataset.DecodeChunk(columns, fields)
}
