package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// memo is what a task knows of its jobs, over all of its tries.
type memo struct {
	Started int64 `json:"started"`       // Unix ms of the first try
	All     bool  `json:"all,omitempty"` // every batch has its job
	Jobs    []job `json:"jobs"`          // of each batch
}

// job is one of the API's.
type job struct {
	ID    string `json:"id,omitempty"`
	Asked bool   `json:"asked,omitempty"` // a request for it may be on its way: whether there is one is not known
	Done  bool   `json:"done,omitempty"`
}

// shortAnswer bounds the answers that are held whole.
const shortAnswer = 1 << 20

// errTotal is the cause of a task whose total is over.
var errTotal = errors.New("the total of the listener is over")

// job does a task whose rows a job of the API makes.
func (r *reader) job(ctx context.Context) error {
	l := r.task.Listener
	m := memo{Started: time.Now().UnixMilli()}
	if r.task.Memo != nil {
		if err := json.Unmarshal(r.task.Memo, &m); err != nil {
			return listeners.Permanent(fmt.Errorf("what an earlier try has remembered: %w", err))
		}
	}
	r.memo = &m
	ctx, cancel := context.WithDeadlineCause(ctx, time.UnixMilli(m.Started).Add(l.HTTP.Total), errTotal)
	defer cancel()
	err := r.jobs(ctx)
	if errors.Is(context.Cause(ctx), errTotal) && err != nil && !listeners.Lost(err) {
		r.abandon(ctx)
		return r.over(err)
	}
	return err
}

// over is the error of a task whose total is over, with what happened last.
func (r *reader) over(err error) error {
	l, last := r.task.Listener, r.task.Before
	if !errors.Is(err, errTotal) {
		last = err.Error()
	}
	if last = strings.TrimPrefix(strings.TrimPrefix(last, "waits for "), "API "+l.Source+": "); last != "" {
		last = "; at last: " + last
	}
	return listeners.Permanent(fmt.Errorf("API %s: not done within %s, the total of the listener: raise it, or ask for less%s", l.Source, l.HTTP.Total, last))
}

// abandon ends the jobs that are not done, as far as that can be done.
func (r *reader) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	for i, j := range r.memo.Jobs {
		if r.batch = i; j.ID != "" && !j.Done {
			_ = r.source.end(ctx, r)
		}
	}
}

// abandonTime bounds how long that takes.
const abandonTime = 10 * time.Second

// jobs makes the jobs that are not made yet, looks at those that are not done, and
// reads their rows once all are.
func (r *reader) jobs(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if !r.memo.All {
		if err := r.submitAll(ctx); err != nil {
			return err
		}
	}
	if err := r.look(ctx); err != nil {
		return err
	}
	r.values = nil
	for i := range r.memo.Jobs {
		r.batch = i
		if err := r.pages(ctx); err != nil {
			return err
		}
	}
	return nil
}

// submitAll makes the jobs of all batches.
func (r *reader) submitAll(ctx context.Context) error {
	if r.task.Listener.From == nil {
		if err := r.submit(ctx, 0); err != nil {
			return err
		}
	} else {
		i := 0
		for batch, err := range r.batches(ctx) {
			if err != nil {
				return err
			}
			r.values = batch
			if err := r.submit(ctx, i); err != nil {
				return err
			}
			i++
		}
	}
	r.memo.All = true
	return r.remember(ctx)
}

// remember stores the memo.
func (r *reader) remember(ctx context.Context) error {
	text, err := json.Marshal(r.memo)
	if err != nil {
		return listeners.Permanent(err)
	}
	if len(text) > mostMemo {
		return listeners.Permanent(fmt.Errorf("more jobs at API %s than can be remembered (%d): raise the batch of the listener", r.task.Listener.Source, len(r.memo.Jobs)))
	}
	return r.task.Remember(ctx, text)
}

// mostMemo leaves room for what a Runner adds.
const mostMemo = 60 << 10

// submit makes the job of a batch, unless it is there. That a request goes out is
// remembered before it does: whoever comes after a crash knows that there may be a job.
func (r *reader) submit(ctx context.Context, batch int) error {
	for len(r.memo.Jobs) <= batch {
		r.memo.Jobs = append(r.memo.Jobs, job{})
	}
	j, s := &r.memo.Jobs[batch], r.task.Listener.HTTP.Submit
	r.batch = batch
	if j.ID != "" {
		return nil
	}
	asked, err := r.request(s.HTTPRequest)
	if err != nil {
		return err
	}
	again := j.Asked
	if r.idempotent() {
		asked.headers.Set(r.source.api.Idempotency, r.key())
	} else if again {
		if err := r.unknown(ctx, j); err != nil || j.ID != "" {
			return err
		}
	}
	if !again {
		r.asked = false // what the batches before this one have is not lost
	}
	if err := r.turn(ctx); err != nil {
		return err // before it is stored that a request goes out
	}
	if !j.Asked {
		j.Asked = true
		if err := r.remember(ctx); err != nil {
			return err
		}
	}
	asked.alone = true
	document, _, err := r.source.short(ctx, asked)
	switch f := ask.As(err); {
	case err == nil:
	case again && r.keyed() && f != nil && f.Code == http.StatusConflict:
		// It still works on the first request of this key. Any other 409 is for good.
		return wait(f, r.source.about(asked, f))
	case again: // whatever became of this one, there may be the job of an earlier one
		return r.source.patient(err)
	case refused(err):
		j.Asked = false
		return errors.Join(r.remember(ctx), r.source.patient(err))
	case ctx.Err() == nil && s.Unknown.Answer == report.FailJob:
		return r.doubtful(err)
	default:
		return r.source.patient(err)
	}
	id, ok := identity(s.ID.Find(document))
	if !ok {
		return listeners.Permanent(fmt.Errorf("API %s: %s: the answer has no %s, which is to be the job's id", r.source.api.Name, asked.what, s.ID))
	}
	*j = job{ID: id}
	if err := r.remember(ctx); err != nil {
		r.orphan(ctx, err)
		return err
	}
	return nil
}

// refused tells whether an error of submit says for certain that no job was made. A 503
// that does not say when to come again does not: it may be that of a gateway whose
// connection to the API broke off.
func refused(err error) bool {
	f := ask.As(err)
	if f == nil {
		return false
	}
	switch f.Kind {
	case ask.Unsent, ask.Moved, ask.Refused:
		return true
	case ask.Busy:
		return f.Code == http.StatusTooManyRequests || f.After > 0
	}
	return false
}

// orphan ends a job that was made, but not remembered, where nobody else finds it.
func (r *reader) orphan(ctx context.Context, why error) {
	// By its key whoever has the task now finds it.
	if errors.Is(why, listeners.ErrEnded) || errors.Is(why, listeners.ErrTaken) && !r.keyed() {
		_ = r.source.end(context.WithoutCancel(ctx), r)
	}
}

// idempotent tells whether the API tells a request from its repetition.
func (r *reader) idempotent() bool {
	name := r.source.api.Idempotency
	return name != "" && name != report.NotIdempotent
}

// keyed tells whether the API has got the key with a request for a job.
func (r *reader) keyed() bool {
	return r.idempotent() || r.task.Listener.HTTP.Submit.Unknown.Answer == report.LookUpJob
}

// unknown decides what comes where a request for a job went out, and its answer did
// not come back.
func (r *reader) unknown(ctx context.Context, j *job) error {
	s := r.task.Listener.HTTP.Submit
	switch s.Unknown.Answer {
	case report.FailJob:
		return r.doubtful(errors.New("the worker that asked for it did not live to hear the answer"))
	case report.LookUpJob:
		id, err := r.lookUp(ctx)
		if err != nil || id == "" {
			return r.source.patient(err)
		}
		*j = job{ID: id}
		return r.remember(ctx)
	}
	return nil
}

// doubtful is the error of a job of which nobody knows whether it is there.
func (r *reader) doubtful(err error) error {
	return listeners.Permanent(fmt.Errorf("API %s: it is not known whether the job was made: %w; look for it there, and run the record again if it is not needed", r.source.api.Name, err))
}

// lookUp finds a job by its key; empty where there is none.
func (r *reader) lookUp(ctx context.Context) (id string, err error) {
	look := r.task.Listener.HTTP.Submit.Unknown.LookUp
	asked, err := r.request(look.HTTPRequest)
	if err == nil {
		err = r.turn(ctx)
	}
	if err != nil {
		return "", err
	}
	document, _, err := r.source.short(ctx, asked)
	if f := ask.As(err); f != nil && f.Code == http.StatusNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	value, ok := look.ID.Find(document)
	if !ok || value == nil {
		return "", nil
	}
	if id, ok = identity(value, true); !ok {
		return "", listeners.Permanent(fmt.Errorf("API %s: %s: %s is %s, which is no id", r.source.api.Name, asked.what, look.ID, shown(value)))
	}
	return id, nil
}

// look looks at the jobs that are not done. It is a Wait while there is one.
func (r *reader) look(ctx context.Context) error {
	p := r.task.Listener.HTTP.Poll
	var open []string
	wait, changed := p.Every, false
	for i := range r.memo.Jobs {
		if r.memo.Jobs[i].Done {
			continue
		}
		r.batch = i
		asked, err := r.request(p.HTTPRequest)
		if err != nil {
			return err
		}
		if err := r.turn(ctx); err != nil {
			return err
		}
		document, header, err := r.source.short(ctx, asked)
		if err != nil {
			if changed {
				err = errors.Join(r.remember(ctx), err)
			}
			return r.source.patient(err)
		}
		value, _ := p.Status.Find(document)
		status, ok := scalar(value)
		switch {
		case !ok:
			return listeners.Permanent(fmt.Errorf("API %s: %s: %s is %s, which is no status", r.source.api.Name, asked.what, p.Status, shown(value)))
		case slices.Contains(p.Done, status):
			r.memo.Jobs[i].Done, changed = true, true
		case slices.Contains(p.Failed, status):
			return listeners.Permanent(r.failed(status, document))
		case len(p.Working) > 0 && !slices.Contains(p.Working, status):
			return listeners.Permanent(fmt.Errorf("API %s: job %s: %s is %s, which is in none of done, failed and working: add it to one of them",
				r.source.api.Name, r.name(), p.Status, shown(value)))
		default:
			open = append(open, fmt.Sprintf("job %s is %s", r.name(), shown(value)))
			wait = max(wait, ask.RetryAfter(header, time.Now()))
		}
	}
	if changed {
		if err := r.remember(ctx); err != nil {
			return err
		}
	}
	if len(open) == 0 {
		return nil
	}
	what := fmt.Sprintf("API %s: %s", r.source.api.Name, open[0])
	if n := len(open); n > 1 {
		what += fmt.Sprintf(", and %d more", n-1)
	}
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)+time.Millisecond)
	}
	return listeners.Wait(wait, what)
}

// failed says why a job has failed.
func (r *reader) failed(status string, document any) error {
	why := ""
	if value, ok := r.task.Listener.HTTP.Poll.Error.Find(document); ok && value != nil {
		text, single := scalar(value)
		if !single {
			text = shown(value)
		}
		why = ": " + r.source.excerpt(text)
	}
	return fmt.Errorf("API %s: job %s is %s%s", r.source.api.Name, r.name(), status, why)
}

// request fills in a request of the job that is worked on.
func (r *reader) request(of report.HTTPRequest) (request, error) {
	what := of.Method + " " + of.Path
	about := of.UsesName("{id}") && r.memo != nil
	if about {
		what += " (job " + r.name() + ")"
	}
	target, body, err := fillRequest(of, r.bind)
	if err != nil {
		return request{}, listeners.Permanent(fmt.Errorf("API %s: %s: %w", r.source.api.Name, what, err))
	}
	u, err := r.source.target(target)
	return request{what: what, job: about, method: of.Method, url: u, body: body, headers: http.Header{}}, err
}

// name is the id of the job that is worked on, for people: one short line.
func (r *reader) name() string {
	text := r.source.excerpt(r.memo.Jobs[r.batch].ID)
	if len(text) > nameBytes {
		text = strings.ToValidUTF8(text[:nameBytes], "") + "…"
	}
	return text
}

// nameBytes is how much of an id is told.
const nameBytes = 100

// key is the same in every try of a batch.
func (r *reader) key() string {
	key := fmt.Sprintf("%s%s/%d/%s", r.source.prefix, r.task.ID, r.task.Attempt, r.task.Listener.Name)
	if r.task.Listener.From != nil {
		key += "/" + strconv.Itoa(r.batch)
	}
	return key
}

// identity is the text of a job's id.
func identity(value any, ok bool) (string, bool) {
	text, single := scalar(value)
	if _, boolean := value.(bool); !ok || !single || boolean || text == "" || len(text) > 500 {
		return "", false
	}
	return text, true
}

// short sends a request whose answer is held whole. Nothing at all is null.
func (s *Source) short(ctx context.Context, asked request) (document any, header http.Header, err error) {
	a, err := s.do(ctx, asked)
	if err != nil {
		return nil, nil, err
	}
	defer a.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, shortAnswer+1))
	switch {
	case err != nil:
		return nil, nil, s.unread(ctx, asked, a, cut(err))
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case len(text) > shortAnswer:
		return nil, nil, listeners.Permanent(fmt.Errorf("API %s: %s: an answer of more than %d bytes, which is none to this question", s.api.Name, asked.what, shortAnswer))
	case len(text) == 0:
		return nil, a.Header, nil
	}
	document, err = whole(text)
	if err != nil {
		return nil, nil, fmt.Errorf("API %s: %s: %w", s.api.Name, asked.what, err)
	}
	return document, a.Header, nil
}
