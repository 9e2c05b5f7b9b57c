package scripts

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// Chunk is a part of a task's dataset.
type Chunk struct {
	Number  int64 // from 0, without gaps
	Rows    int64 // as many in every column
	Columns any   // marshals to a JSON array of objects with at least a name
	Names   []string
	Fields  [][]byte // for every name a JSON array of Rows values
}

// sharedBytes is the max size of a chunk that shares a round trip with others.
const sharedBytes = 64 << 10

// Bytes returns the size of the data.
func (c Chunk) Bytes() int64 {
	var n int64
	for _, f := range c.Fields {
		n += int64(len(f))
	}
	return n
}

// args appends field and value of every column.
func (c Chunk) args(args []any, listener string) []any {
	for i, name := range c.Names {
		args = append(args, job.Field(listener, name, c.Number), c.Fields[i])
	}
	return args
}

// Writer identifies this try as the writer of its chunks and segments: Service, or ten letters and digits.
func (t *Task) Writer() string {
	if t.writer == "" {
		t.writer = strings.ToLower(rand.Text()[:10])
	}
	return cmp.Or(t.Service, t.writer)
}

// Append stores a chunk if the task still has this generation: OK, Already, Busy, Gone, or
// TooMuch. The fields must not be changed before it returns, and not at all if it returns
// an error of ctx.
func (t *Task) Append(ctx context.Context, c Chunk) (Outcome, error) {
	columns, err := json.Marshal(c.Columns)
	if err != nil {
		return 0, fmt.Errorf("columns of %s: %w", t.Listener, err)
	}
	args := []any{t.Attempt, t.Listener, t.Generation, t.Writer(), c.Number, c.Rows, columns, t.s.bytes}
	return t.s.outcome(ctx, call(ctx, "append", []string{t.s.Keys.Job(t.ID)}, c.args(args, t.Listener)...))
}

// MaxMissing is how many chunks before a stored one may be missing.
const MaxMissing = 10_000

// Stored says which chunks of a task are stored that arrive in any order.
type Stored struct {
	Chunks int64 // from the first one on, without gap
	Last   int64 // the highest one plus 1
	Total  int64 // how many there are, or -1 if that is not known yet
}

// Store stores a chunk in any order, if the task still has this generation, and renews its
// lease: OK, Busy, Gone, TooMuch, or TooFar if MaxMissing or more chunks before it are missing.
// It returns ErrChunk if the task has segments. The fields must not be changed before it
// returns, and not at all if it returns an error of ctx. It sets Stored.
func (t *Task) Store(ctx context.Context, c Chunk) (Outcome, error) {
	columns, err := json.Marshal(c.Columns)
	if err != nil {
		return 0, fmt.Errorf("columns of %s: %w", t.Listener, err)
	}
	args := []any{t.Attempt, t.Listener, t.Generation, c.Number, c.Rows, columns, t.Lease.Milliseconds(),
		t.s.bytes, MaxMissing}
	return t.s.store(ctx, "store", t, c.args(args, t.Listener))
}

// SetTotal stores how many chunks a task has, before all of them are stored. It works in a full
// Redis, and sets Stored.
func (t *Task) SetTotal(ctx context.Context, chunks int64) (Outcome, error) {
	args := []any{t.Attempt, t.Listener, t.Generation, chunks, "", "", t.Lease.Milliseconds()}
	return t.s.store(ctx, "total", t, args)
}

// store runs a script that stores chunks of a task, or their number.
func (s *conn) store(ctx context.Context, name string, t *Task, args []any) (Outcome, error) {
	outcome, more, err := s.list(ctx, call(ctx, name, []string{s.Keys.Job(t.ID)}, args...))
	t.Stored = Stored{}
	if err == nil && len(more) == 3 {
		t.Stored.Chunks, _ = more[0].(int64)
		t.Stored.Last, _ = more[1].(int64)
		t.Stored.Total, _ = more[2].(int64)
	}
	return outcome, err
}

// ErrNoChunk is returned if the data of a job is not what its state says.
var ErrNoChunk error = final("chunk not found")

// Chunks are those of one dataset in the hash of its job. It is a dataset.Store, and safe for concurrent use.
type Chunks struct {
	folds    Folds
	key      string // of the hash
	listener string
	data     map[string]string // all fields of the job; nil: each chunk is read from Redis
	from     string            // what the field `from` of the hash must say; empty: any
}

// Stored returns the dataset of a listener that lies in Redis.
func (s Folds) Stored(id, listener string) Chunks {
	return Chunks{folds: s, key: s.Keys.Job(id), listener: listener}
}

// Stored returns the dataset of a listener that lies in Redis; Open has read those of a small job.
func (f *Fold) Stored(listener string) Chunks {
	return Chunks{folds: Folds{f.s}, key: f.s.Keys.Job(f.ID), listener: listener, data: f.data}
}

// Get returns some columns of a chunk: for every column a JSON array or a zstd frame of one, which must not be
// changed. It returns ErrNoChunk if one of them does not exist.
func (c Chunks) Get(ctx context.Context, columns []string, chunk int64) ([][]byte, error) {
	if len(columns) == 0 {
		return nil, nil
	}
	names, texts := make([]string, len(columns)), make([]any, len(columns))
	for i, column := range columns {
		names[i] = job.Field(c.listener, column, chunk)
		if text, ok := c.data[names[i]]; ok {
			texts[i] = text
		}
	}
	if c.data == nil {
		args := []any{"hmget", c.key, "from"}
		for _, name := range names {
			args = append(args, name)
		}
		cmd := redis.NewSliceCmd(ctx, args...)
		// A chunk can be large, and takes a round trip of its own.
		if err := c.folds.rdb.Process(ctx, cmd); err != nil {
			return nil, fmt.Errorf("chunk %d of %s: %w", chunk, c.listener, err)
		}
		if texts = cmd.Val()[1:]; c.from != "" && cmd.Val()[0] != c.from {
			return nil, fmt.Errorf("%w: %s was replaced", ErrNoChunk, c.key)
		}
	}
	fields := make([][]byte, len(columns))
	for i, v := range texts {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("%w: %s of %s", ErrNoChunk, names[i], c.key)
		}
		fields[i] = bytesOf(text)
	}
	return fields, nil
}

// bytesOf returns a text without copying it, because a chunk is large.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }
