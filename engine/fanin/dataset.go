package fanin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/internal/processors"
	"github.com/fanfold/fanfold/internal/spooled"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// listenerData reads the columns of one listener, one chunk at a time. It reads only chunks that the state lists.
type listenerData struct {
	ctx      context.Context
	store    dataset.Store
	listener string
	task     job.TaskState
	columns  []dataset.Column
}

var _ fold.Dataset = (*listenerData)(nil)

// fewChunks is the number of chunks up to which a dataset is not large.
const fewChunks = 4

// datasets returns the columns of a job that its report needs.
func (f *finisher) datasets(ctx context.Context, w *work) (map[string]fold.Dataset, error) {
	sets := map[string]fold.Dataset{}
	for listener, names := range f.folds[w.report].needed {
		task := w.Tasks[listener]
		if l, _, ok := w.report.Listener(listener); ok && task.Policy != "" {
			sets[listener] = fold.Empty(l) // the job continues without it
			continue
		}
		all, err := f.columns.parse(task.Columns)
		if err != nil {
			return nil, fmt.Errorf("columns of %s: %w", listener, err)
		}
		d := &listenerData{ctx: ctx, store: w.Stored(listener), listener: listener, task: task}
		if task.At != "" {
			if d.store, err = spooled.Open(f.files.Spool(), listener, task); err != nil {
				return nil, &step.Failure{Result: spooled.ResultOf(err)}
			}
		}
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

// columns caches columns by their JSON, which is the same for all jobs of a definition. It is safe
// for concurrent use.
type columns struct {
	mu    sync.Mutex
	known map[string][]dataset.Column
}

// maxColumns is the maximum size of the cache.
const maxColumns = 1000

// parse decodes columns. Callers must not change them.
func (c *columns) parse(text []byte) ([]dataset.Column, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.known[string(text)]; ok {
		return found, nil
	}
	var parsed []dataset.Column
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, err
	}
	if c.known == nil || len(c.known) >= maxColumns {
		c.known = map[string][]dataset.Column{}
	}
	c.known[string(text)] = parsed
	return parsed, nil
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
	if d.task.Chunks > fewChunks {
		processors.Yield()
	}
	fields, err := d.store.Get(d.ctx, names, n)
	switch {
	case errors.Is(err, scripts.ErrNoChunk):
		return nil, err
	case err != nil && d.task.At != "" && d.ctx.Err() == nil:
		result := spooled.ResultOf(fmt.Errorf("listener %s: %w", d.listener, err))
		result.Err = spooled.LostOf(d.listener, d.task, result.Err)
		return nil, &step.Failure{Result: result}
	case err != nil:
		return nil, &step.Failure{Result: resultOf(err)}
	}
	return dataset.DecodeChunk(columns, fields)
}
