package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cenkalti/backoff/v5"

	"github.com/fanfold/fanfold/internal/ask"
)

// maxAnswer is how much of an answer is read. Nothing uses it but the connection, which
// can be used again once its answer was read.
const maxAnswer = 64 << 10

// call sends the request once. It follows no redirects: a request goes where the
// configuration says.
func (t *Timers) call(ctx context.Context, f firing) error {
	request, err := f.request()
	if err != nil {
		return backoff.Permanent(err)
	}
	answer, err := t.client.Do(ctx, request)
	if err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
		answer.Close()
		return nil
	}
	failure := ask.As(err)
	if failure == nil {
		return err // of ctx
	}
	err = fmt.Errorf("%s %s: %w", request.Method, request.URL.Host, err)
	switch {
	case failure.Kind == ask.Refused, failure.Kind == ask.Moved:
		return backoff.Permanent(err)
	case failure.After > 0:
		return fmt.Errorf("%w; %w", err, &backoff.RetryAfterError{Duration: failure.After})
	}
	return err
}

// request fills the request in.
func (f firing) request() (ask.Request, error) {
	address, err := f.Call.URL.FillURL(f.values)
	if err != nil {
		return ask.Request{}, err
	}
	r := ask.Request{Method: f.Call.Method, Header: http.Header{}, Timeout: f.Call.Timeout, MaxBytes: 2 * maxAnswer}
	if r.URL, err = url.Parse(address); err != nil {
		return r, errors.New("the URL cannot be used with these values")
	}
	for _, name := range slices.Sorted(maps.Keys(f.Call.Headers)) {
		value := f.Call.Headers[name].Fill(f.values, nil)
		if strings.ContainsAny(value, "\r\n\x00") {
			return r, errors.New("a line break in header " + name)
		}
		r.Header.Set(name, value)
		r.Secrets = append(r.Secrets, value)
	}
	if !f.Call.Body.Empty() {
		if r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", "application/json")
		}
		r.Body = []byte(f.Call.Body.FillBody(f.values, r.Header.Get("Content-Type")))
	}
	r.Header.Set("Idempotency-Key", f.id())
	return r, nil
}
