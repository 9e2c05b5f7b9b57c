package scheduler

import (
	"context"
	"encoding/json"
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
	"github.com/fanfold/fanfold/report"
)

// maxAnswer is how much of an answer is read. Nothing uses it but the connection, which
// can be used again once its answer was read.
const maxAnswer = 64 << 10

// call sends the request once. It follows no redirects: a request goes where the
// configuration says.
func (t *Timers) call(ctx context.Context, f *firing) error {
	request, err := f.request()
	if err != nil {
		return backoff.Permanent(err)
	}
	return t.send(ctx, request)
}

// send sends a request, and says of an error what follows from it.
func (t *Timers) send(ctx context.Context, request ask.Request) error {
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
func (f *firing) request() (ask.Request, error) {
	address, err := fillURL(f.Call.URL, f.values)
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
		r.Body = []byte(fillBody(f.Call.Body, f.values, r.Header.Get("Content-Type")))
	}
	r.Header.Set("Idempotency-Key", f.id())
	return r, nil
}

// fillURL puts the values into a URL: escaped for its path or its query.
func fillURL(t report.Template, values map[string]string) (string, error) {
	path, query, has := strings.Cut(t.Reveal(), "?")
	var wrong error
	text := report.NewTemplate(path).Fill(values, func(v string) string {
		if ask.HasDotSegment(v) {
			wrong = fmt.Errorf("a value that cannot be used in the path of a URL: %q", v)
		}
		return url.PathEscape(v)
	})
	if has {
		text += "?" + report.NewTemplate(query).Fill(values, url.QueryEscape)
	}
	return text, wrong
}

// fillBody puts the values into a body of this content type: escaped for JSON
// and for forms, otherwise as they are.
func fillBody(t report.Template, values map[string]string, contentType string) string {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	switch kind = strings.TrimSpace(kind); {
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return t.Fill(values, jsonEscape)
	case kind == "application/x-www-form-urlencoded":
		return t.Fill(values, url.QueryEscape)
	}
	return t.Fill(values, nil)
}

// jsonEscape gives what stands between the quotes of a JSON string.
func jsonEscape(value string) string {
	b, err := json.Marshal(value)
	if err != nil {
		return "" // a string can always be marshalled
	}
	return string(b[1 : len(b)-1])
}
