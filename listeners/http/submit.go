package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// submitAll creates the jobs of all batches.
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

// submit creates the job of a batch, unless it exists. It stores in the memo that a request will be
// sent before it sends it, so that after a crash it is known that the job may exist.
func (r *reader) submit(ctx context.Context, batch int) error {
	for len(r.memo.Jobs) <= batch {
		r.memo.Jobs = append(r.memo.Jobs, job{})
	}
	j, s := &r.memo.Jobs[batch], r.fields.Submit
	r.batch = batch
	if j.ID != "" {
		return nil
	}
	asked, err := r.request(s.Request)
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
		r.asked = false // a new try keeps the jobs of the batches before
	}
	if err := r.waitForRate(ctx); err != nil {
		return err // before the memo says that a request was sent
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
		// The API still works on the first request with this key. Any other 409 is permanent.
		return wait(f, r.source.about(asked, f))
	case again: // an earlier request may have created the job
		return r.source.patient(err)
	case refused(err):
		j.Asked = false
		return errors.Join(r.remember(ctx), r.source.patient(err))
	case ctx.Err() == nil && s.Unknown.Answer == FailJob:
		return r.doubtful(err)
	default:
		return r.source.patient(err)
	}
	id, ok := identity(s.ID.Find(document))
	if !ok {
		return listeners.Permanent(fmt.Errorf("API %s: %s: the answer has no %s, which should be the job's id", r.source.api.Name, asked.what, s.ID))
	}
	*j = job{ID: id}
	if err := r.remember(ctx); err != nil {
		r.orphan(ctx, err)
		return err
	}
	return nil
}

// refused reports whether an error of submit proves that no job was created. A 503 without Retry-After
// does not: it may come from a gateway that lost its connection to the API.
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

// orphan cancels a job that was created, but not stored in the memo, if no later try can find it.
func (r *reader) orphan(ctx context.Context, why error) {
	// A later try finds it by its key.
	if errors.Is(why, listeners.ErrEnded) || errors.Is(why, listeners.ErrTaken) && !r.keyed() {
		_ = r.source.end(context.WithoutCancel(ctx), r)
	}
}

// idempotent reports whether the API recognises repeated requests.
func (r *reader) idempotent() bool {
	name := r.source.api.Idempotency
	return name != "" && name != report.NotIdempotent
}

// keyed reports whether requests for a job contain the key.
func (r *reader) keyed() bool {
	return r.idempotent() || r.fields.Submit.Unknown.Answer == LookUpJob
}

// unknown handles a request for a job that was sent without an answer.
func (r *reader) unknown(ctx context.Context, j *job) error {
	s := r.fields.Submit
	switch s.Unknown.Answer {
	case FailJob:
		return r.doubtful(errors.New("the worker died before it got the answer"))
	case LookUpJob:
		id, err := r.lookUp(ctx)
		if err != nil || id == "" {
			return r.source.patient(err)
		}
		*j = job{ID: id}
		return r.remember(ctx)
	}
	return nil
}

// doubtful returns the error of a job that may exist.
func (r *reader) doubtful(err error) error {
	return listeners.Permanent(fmt.Errorf("API %s: it is not known whether the job was created: %w; look for the job in the API, and run the record again if the job does not exist or is not needed", r.source.api.Name, err))
}

// lookUp finds a job by its key; empty: there is none.
func (r *reader) lookUp(ctx context.Context) (id string, err error) {
	look := r.fields.Submit.Unknown.LookUp
	asked, err := r.request(look.Request)
	if err == nil {
		err = r.waitForRate(ctx)
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
		return "", listeners.Permanent(fmt.Errorf("API %s: %s: %s is %s, which is not an id", r.source.api.Name, asked.what, look.ID, shown(value)))
	}
	return id, nil
}

// key returns the idempotency key of a batch, the same in every try.
func (r *reader) key() string {
	key := fmt.Sprintf("%s%s/%d/%s", r.source.prefix, r.task.ID, r.task.Attempt, r.task.Listener.Name)
	if r.task.Listener.From != nil {
		key += "/" + strconv.Itoa(r.batch)
	}
	return key
}

// identity returns the text of a job's id.
func identity(value any, ok bool) (string, bool) {
	text, single := scalar(value)
	if _, boolean := value.(bool); !ok || !single || boolean || text == "" || len(text) > 500 {
		return "", false
	}
	return text, true
}
