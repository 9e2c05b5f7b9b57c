package scripts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Complete stores the only chunk of a task, or says how many it has stored, counts its
// listener and acknowledges its entry: OK, Already if that reached the barrier, Busy,
// Gone, or TooMuch. It returns ErrChunk if a chunk is missing. A last chunk without names
// is stored already: only its number counts. Calls that come at the same time
// share a round trip.
func (t *Task) Complete(ctx context.Context, last Chunk, took time.Duration) (Outcome, error) {
	c := &completion{task: t, chunks: last.Number + 1, took: took}
	switch {
	case len(last.Names) == 0: // stored
	case last.Number > 0 || last.Bytes() > sharedBytes:
		// A chunk can be a megabyte: it takes a round trip of its own, so that small
		// calls do not wait for it. Gone can mean that a call before this one has
		// counted it: the next call knows.
		if outcome, err := t.Append(ctx, last); err != nil || outcome < OK && outcome != Gone {
			return outcome, err
		}
	default:
		columns, err := json.Marshal(last.Columns)
		if err != nil {
			return 0, fmt.Errorf("columns of %s: %w", t.Listener, err)
		}
		c.chunk, c.columns = last, string(columns)
	}
	if err := t.s.completes.Do(ctx, c); err != nil {
		return 0, err
	}
	switch {
	case c.err != nil:
		return 0, c.err
	case c.outcome == Missing:
		return 0, fmt.Errorf("%w: %s has not %d chunks", ErrChunk, t.Listener, c.chunks)
	case c.outcome == Broken:
		return 0, fmt.Errorf("%w: %s", ErrBroken, t.s.Keys.Job(t.ID))
	}
	return c.outcome, nil
}

// completion is one call of Complete.
type completion struct {
	task    *Task
	chunk   Chunk  // that comes along
	columns string // of it (JSON)
	chunks  int64
	took    time.Duration

	outcome Outcome
	err     error
}

// maxCompletions bounds how many calls of Complete share a round trip.
const maxCompletions = 256

// completeAll runs the calls of a batch in one round trip: one call of the script for the tasks of one
// listener that have the same columns.
func (s Tasks) completeAll(batches iter.Seq[[]*completion]) {
	for calls := range batches {
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
		var shared [][]*completion
	next:
		for _, c := range calls {
			for i, b := range shared {
				if first := b[0]; len(b) < batchJobs && first.task.Listener == c.task.Listener &&
					first.columns == c.columns && slices.Equal(first.chunk.Names, c.chunk.Names) {
					shared[i] = append(b, c)
					continue next
				}
			}
			shared = append(shared, []*completion{c})
		}
		cmds := make([]redis.Cmder, len(shared))
		for i, b := range shared {
			cmds[i] = s.completeCall(ctx, b)
		}
		err := s.do(ctx, cmds...)
		cancel()
		for i, b := range shared {
			outcomes, failed := outcomesOf(cmds[i], len(b))
			if err != nil {
				failed = err
			}
			for k, c := range b {
				if c.err = failed; failed == nil {
					c.outcome = outcomes[k]
				}
			}
		}
	}
}

func (s Tasks) completeCall(ctx context.Context, batch []*completion) *redis.Cmd {
	first := batch[0]
	listener, names := first.task.Listener, first.chunk.Names
	script := "complete"
	if len(names) == 0 {
		script = "count" // stores nothing, also in a Redis that is full
	}
	keys := append(make([]string, 0, 3+len(batch)), s.Keys.FanIn, s.Keys.FanInLarge, s.Keys.Task(listener))
	args := append(make([]any, 0, 7+len(names)+len(batch)*(7+len(names))),
		len(batch), listener, Group, s.bytes, s.small, first.columns, len(names))
	for _, name := range names {
		args = append(args, job.Field(listener, name, 0))
	}
	for _, c := range batch {
		t := c.task
		keys = append(keys, s.Keys.Job(t.ID))
		var rows any = c.chunk.Rows
		if len(names) == 0 {
			rows = cmp.Or(t.Service, t.writer) // of the chunks, which are stored
		}
		args = append(args, t.ID, t.Attempt, t.Generation, t.Entry.ID, c.chunks, rows, c.took.Milliseconds())
		for _, f := range c.chunk.Fields {
			args = append(args, f)
		}
	}
	return call(ctx, script, keys, args...)
}
