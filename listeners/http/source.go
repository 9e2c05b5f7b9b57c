package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Source reads from one API. It is safe for concurrent use.
type Source struct {
	api     report.API
	prefix  string
	client  *ask.Client
	secrets []string // of the headers
}

var _ listeners.Connection = (*Source)(nil)

// New returns the source of an API. prefix is the prefix of the idempotency keys of this installation.
// It does no I/O. Close ends its connections.
func New(api report.API, prefix string) *Source {
	s := &Source{api: api, prefix: prefix, client: ask.New(api.Redirects)}
	for _, value := range api.Headers {
		s.secrets = append(s.secrets, value.Reveal())
	}
	return s
}

// Close closes the idle connections.
func (s *Source) Close() error {
	s.client.Close()
	return nil
}

// ErrTimeout is the error of a task that exceeded the timeout of its listener.
var ErrTimeout = errors.New("timed out")

// Read implements listeners.Source.
func (s *Source) Read(ctx context.Context, task listeners.Task, out *listeners.Writer) error {
	f, ok := task.Listener.Own.(*Fields)
	if !ok {
		return listeners.Permanent(fmt.Errorf("listener %s has no requests", task.Listener.Name))
	}
	if task.Begin != nil {
		task.Begin()
	}
	r := &reader{source: s, task: task, fields: f, rows: newRows(task.Listener, f, out)}
	limit := task.Listener.Timeout
	r.time = ask.NewPatience(ctx, limit, fmt.Errorf("%w after %s: raise the timeout of the listener, or request less from the API", ErrTimeout, limit))
	defer r.time.Stop()
	ctx = r.time.Context()
	err := r.read(ctx)
	if err == nil {
		return r.rows.end()
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrTimeout) {
		return cause
	}
	return err
}

// reader reads the rows of one task.
type reader struct {
	source *Source
	task   listeners.Task
	fields *Fields // of its listener
	rows   *rows
	values []any         // the batch of an earlier stage
	batch  int           // its number
	memo   *memo         // nil without jobs
	asked  bool          // this try has sent a request
	time   *ask.Patience // of the try; nil: no limit
}

// read requests the rows, once for every batch of values.
func (r *reader) read(ctx context.Context) error {
	if r.fields.Submit != nil {
		return r.job(ctx)
	}
	if r.task.Listener.From == nil {
		return r.pages(ctx)
	}
	for batch, err := range r.batches(ctx) {
		if err != nil {
			return err
		}
		r.values = batch
		if err := r.pages(ctx); err != nil {
			return err
		}
	}
	return nil
}

// batches iterates over the distinct values of an earlier stage in lists of the listener's
// batch: JSON as it was found.
func (r *reader) batches(ctx context.Context) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		var batch []any
		_, values := r.task.Distinct(ctx)
		for raw, err := range values {
			if err != nil {
				yield(nil, err)
				return
			}
			if batch = append(batch, json.RawMessage(slices.Clone(raw))); len(batch) < r.fields.Batch {
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

// waitForRate waits for the rate limit before a request. Before the first request the patience is
// short, because a new try loses nothing yet.
func (r *reader) waitForRate(ctx context.Context) error {
	patience := listeners.PatienceFirst
	if r.asked {
		patience = listeners.PatienceLater
	}
	r.asked = true
	defer r.time.Pause()()
	return r.task.WaitForRate(ctx, patience)
}

// bind returns the value for a name in a request.
func (r *reader) bind(name string) (any, bool) {
	if from := r.task.Listener.From; from != nil && name == from.String() {
		return r.values, r.values != nil
	}
	switch name {
	case "{id}":
		return r.memo.Jobs[r.batch].ID, r.memo.Jobs[r.batch].ID != ""
	case "{key}":
		return r.key(), true
	}
	v, ok := r.task.Parameters[name]
	return v, ok
}
