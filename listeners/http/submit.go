package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// submitAll creates the jobs of all batches.
func (js *jobs) submitAll(ctx context.Context) error {
	for p, err := range js.parts(ctx) {
		if err != nil {
			return err
		}
		if err := js.submit(ctx, p); err != nil {
			return err
		}
	}
	js.memo.All = true
	return js.remember(ctx)
}

// submit creates the job of a batch, unless it exists. It stores in the memo that a request will be
// sent before it sends it, so that after a crash it is known that the job may exist.
func (js *jobs) submit(ctx context.Context, p part) error {
	for len(js.memo.Jobs) <= p.batch {
		js.memo.Jobs = append(js.memo.Jobs, job{})
	}
	j, s := &js.memo.Jobs[p.batch], js.fields.Submit
	if j.ID != "" {
		return nil
	}
	asked, err := js.request(s.Request, p)
	if err != nil {
		return err
	}
	again := j.Asked
	if js.source.idempotent() {
		asked.headers.Set(js.source.api.Idempotency, js.key(p))
	} else if again {
		if err := js.unknown(ctx, j, p); err != nil || j.ID != "" {
			return err
		}
	}
	if !again {
		js.asked = false // a new try keeps the jobs of the batches before
	}
	if err := js.waitForTurn(ctx); err != nil {
		return err // before the memo says that a request was sent
	}
	if !j.Asked {
		j.Asked = true
		if err := js.remember(ctx); err != nil {
			return err
		}
	}
	asked.alone = true
	document, _, err := js.short(ctx, asked)
	switch f := ask.As(err); {
	case err == nil:
	case again && js.keyed() && f != nil && f.Code == http.StatusConflict:
		// The API still works on the first request with this key. Any other 409 is permanent.
		return wait(f, js.source.about(asked, f))
	case again: // an earlier request may have created the job
		return patient(err)
	case refused(err):
		j.Asked = false
		return errors.Join(js.remember(ctx), patient(err))
	case ctx.Err() == nil && s.Unknown.Answer == FailJob:
		return js.doubtful(err)
	default:
		return patient(err)
	}
	id, ok := identity(s.ID.Find(document))
	if !ok {
		return listeners.Permanent(fmt.Errorf("API %s: %s: the answer has no %s, which should be the job's id",
			js.source.api.Name, asked.what, s.ID))
	}
	*j = job{ID: id}
	if err := js.remember(ctx); err != nil {
		js.orphan(ctx, p.batch, err)
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
func (js *jobs) orphan(ctx context.Context, batch int, why error) {
	// A later try finds it by its key.
	if errors.Is(why, listeners.ErrEnded) || errors.Is(why, listeners.ErrTaken) && !js.keyed() {
		_ = js.end(context.WithoutCancel(ctx), js.part(batch))
	}
}

// idempotent reports whether the API recognises repeated requests.
func (s *Source) idempotent() bool {
	name := s.api.Idempotency
	return name != "" && name != report.NotIdempotent
}

// keyed reports whether requests for a job contain the key.
func (js *jobs) keyed() bool {
	return js.source.idempotent() || js.fields.Submit.Unknown.Answer == LookUpJob
}

// unknown handles a request for a job that was sent without an answer.
func (js *jobs) unknown(ctx context.Context, j *job, p part) error {
	s := js.fields.Submit
	switch s.Unknown.Answer {
	case FailJob:
		return js.doubtful(errors.New("the worker died before it got the answer"))
	case LookUpJob:
		id, err := js.lookUp(ctx, p)
		if err != nil || id == "" {
			return patient(err)
		}
		*j = job{ID: id}
		return js.remember(ctx)
	}
	return nil
}

// doubtful returns the error of a job that may exist.
func (js *jobs) doubtful(err error) error {
	return listeners.Permanent(fmt.Errorf("API %s: it is not known whether the job was created: %w; look for the job in the API, and run the record again if the job does not exist or is not needed", js.source.api.Name, err))
}

// lookUp finds a job by its key; empty: there is none.
func (js *jobs) lookUp(ctx context.Context, p part) (id string, err error) {
	look := js.fields.Submit.Unknown.LookUp
	asked, err := js.request(look.Request, p)
	if err == nil {
		err = js.waitForTurn(ctx)
	}
	if err != nil {
		return "", err
	}
	document, _, err := js.short(ctx, asked)
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
		return "", listeners.Permanent(fmt.Errorf("API %s: %s: %s is %s, which is not an id", js.source.api.Name,
			asked.what, look.ID, shown(value)))
	}
	return id, nil
}

// identity returns the text of a job's id.
func identity(value any, ok bool) (string, bool) {
	text, single := scalar(value)
	if _, boolean := value.(bool); !ok || !single || boolean || text == "" || len(text) > 500 {
		return "", false
	}
	return text, true
}
