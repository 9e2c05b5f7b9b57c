package http

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

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
	r.time = ask.NewPatience(ctx, limit,
		fmt.Errorf("%w after %s: raise the timeout of the listener, or request less from the API", ErrTimeout, limit))
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
	asked  bool          // this try has sent a request
	time   *ask.Patience // of the try
}

// part is what a request is about.
type part struct {
	batch  int    // number of the batch
	values []any  // of the batch; nil: none
	job    string // id of the vendor's job; empty: none
}

// read requests the rows, once for every batch of values.
func (r *reader) read(ctx context.Context) error {
	if r.fields.Submit != nil {
		return r.readJobs(ctx)
	}
	for p, err := range r.parts(ctx) {
		if err != nil {
			return err
		}
		if err := r.readPages(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// parts iterates over the distinct values of an earlier stage in batches of the listener: JSON as it
// was found. A listener that uses no such values has one part.
func (r *reader) parts(ctx context.Context) iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		var p part
		if r.task.Listener.From == nil {
			yield(p, nil)
			return
		}
		_, values := r.task.Distinct(ctx)
		for raw, err := range values {
			if err != nil {
				yield(p, err)
				return
			}
			if p.values = append(p.values, json.RawMessage(slices.Clone(raw))); len(p.values) < r.fields.Batch {
				continue
			}
			if !yield(p, nil) {
				return
			}
			p = part{batch: p.batch + 1}
		}
		if len(p.values) > 0 {
			yield(p, nil)
		}
	}
}

// waitForTurn waits for the end of a pause that the API has asked for, and for the rate limit, before a request.
// Before the first request the patience is short, because a new try loses nothing yet.
func (r *reader) waitForTurn(ctx context.Context) error {
	patience := listeners.PatienceFirst
	if r.asked {
		patience = listeners.PatienceLater
	}
	r.asked = true
	defer r.time.Pause()()
	if err := r.task.Backoff.Wait(ctx, patience, r.source.api.Timeout+trialMargin); err != nil {
		return err
	}
	err := r.task.WaitForRate(ctx, patience)
	if err != nil {
		r.task.Backoff.Failed(ctx, "")
	}
	return err
}

// trialMargin is how much longer than a request the first one after a pause may take, with its wait for the rate limit.
const trialMargin = 10 * time.Second

// do is Source.do, and lets all processes know whether the API takes calls.
func (r *reader) do(ctx context.Context, asked request) (*ask.Answer, error) {
	answer, err := r.source.do(ctx, asked)
	switch f := ask.As(err); {
	case err == nil, f != nil && (f.Kind == ask.Refused || f.Kind == ask.Moved):
		r.task.Backoff.Succeeded(ctx)
	case f != nil && f.Kind == ask.Busy:
		r.task.Backoff.Refused(ctx, cmp.Or(f.After, asked.pause, r.task.Listener.Retry.Outage()), f.Error())
	case f != nil && f.Code != 0:
		r.task.Backoff.Failed(ctx, f.Error())
	default:
		r.task.Backoff.Failed(ctx, "")
	}
	return answer, err
}

// request fills in a request for a part.
func (r *reader) request(of Request, p part) (request, error) {
	what := of.Method + " " + of.Path
	about := p.job != "" && of.UsesName("{id}")
	if about {
		what += " (job " + r.source.shorten(p.job) + ")"
	}
	target, body, err := fillRequest(of, func(name string) (any, bool) { return r.bind(name, p) })
	if err != nil {
		return request{}, listeners.Permanent(fmt.Errorf("API %s: %s: %w", r.source.api.Name, what, err))
	}
	u, err := r.source.target(target)
	return request{what: what, job: about, method: of.Method, url: u, body: body, headers: http.Header{}}, err
}

// bind returns the value for a name in a request.
func (r *reader) bind(name string, p part) (any, bool) {
	if from := r.task.Listener.From; from != nil && name == from.String() {
		return p.values, p.values != nil
	}
	switch name {
	case "{id}":
		return p.job, p.job != ""
	case "{key}":
		return r.key(p), true
	}
	v, ok := r.task.Parameters[name]
	return v, ok
}

// key returns the idempotency key of a part, the same in every try.
func (r *reader) key(p part) string {
	key := fmt.Sprintf("%s%s/%d/%s", r.source.prefix, r.task.ID, r.task.Attempt, r.task.Listener.Name)
	if r.task.Listener.From != nil {
		key += "/" + strconv.Itoa(p.batch)
	}
	return key
}
