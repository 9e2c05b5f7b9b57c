package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/trace"
)

// request is a complete request.
type request struct {
	what    string // for messages: the method, the configured path, and the vendor's job
	job     bool   // it is about a vendor's job
	method  string
	url     *url.URL
	body    []byte // JSON; nil: none
	headers http.Header
	// alone uses a new connection. On an idle one that the API has closed it would not be known
	// whether the API got the request.
	alone bool
	// pause is for how long nobody calls the API if it refuses this request and does not say how long; 0: as after an
	// outage
	pause time.Duration
}

// target makes a URL below that of the API.
func (s *Source) target(below string) (*url.URL, error) {
	base, err := url.Parse(s.api.URL)
	if err != nil {
		return nil, errors.New("the url of the API is not valid")
	}
	whole, err := url.Parse(s.api.URL + below)
	if err != nil || !ask.SameHost(whole, base) {
		return nil, listeners.Permanent(errors.New("the URL cannot be used with these values"))
	}
	return whole, nil
}

// do sends a request and returns a successful answer, which the caller closes. Otherwise its error has
// an *ask.Failure.
func (s *Source) do(ctx context.Context, r request) (*ask.Answer, error) {
	headers := http.Header{"Accept": {"application/json"}, "User-Agent": {"fanfold"}}
	if r.body != nil {
		headers.Set("Content-Type", "application/json")
	}
	for name, value := range s.api.Headers {
		headers.Set(name, value.Reveal())
	}
	for name, values := range r.headers {
		headers[name] = values
	}
	trace.Inject(ctx, headers)
	answer, err := s.client.Do(ctx, ask.Request{
		Method: r.method, URL: r.url, Header: headers, Body: r.body, Alone: r.alone,
		Timeout: s.api.Timeout, MaxBytes: s.api.MaxBytes, Secrets: s.secrets,
	})
	if err != nil {
		return nil, s.judge(r, err)
	}
	return answer, nil
}

// about adds the request to an error.
func (s *Source) about(r request, err error) error {
	return fmt.Errorf("API %s: %s: %w", s.api.Name, r.what, err)
}

// judge converts the error of a request to the error of a task.
func (s *Source) judge(r request, err error) error {
	f := ask.As(err)
	if f == nil {
		return err // of ctx
	}
	switch f.Kind {
	case ask.Unsent:
		return listeners.Outage(s.about(r, f))
	case ask.Moved:
		return listeners.Permanent(fmt.Errorf("%w: correct url or path, or allow it with redirects (never to another host)", s.about(r, f)))
	case ask.Refused:
		return listeners.Permanent(fmt.Errorf("%w; %s", s.about(r, f), remedy(f.Code, r.job)))
	}
	return s.about(r, f)
}

// unread returns the error of an answer that could not be read completely.
func (s *Source) unread(ctx context.Context, r request, answer *ask.Answer, err error) error {
	if errors.Is(err, ask.ErrTooLong) {
		return listeners.Permanent(fmt.Errorf("%w: raise max_bytes of the API, or request smaller pages",
			s.about(r, err)))
	}
	if err = answer.Err(ctx, err); ctx.Err() != nil {
		return err
	}
	return s.about(r, err)
}

// remedy returns the remedy for a status that every try would repeat; job: the request is about a
// vendor's job.
func remedy(code int, job bool) string {
	switch {
	case code == http.StatusUnauthorized:
		return "correct the headers of the API"
	case code == http.StatusForbidden:
		return "correct the headers of the API, or allow this to their user in the API"
	case (code == http.StatusNotFound || code == http.StatusGone) && job:
		return "correct the path, or run the record again if the API has forgotten the job"
	case code == http.StatusNotFound, code == http.StatusGone:
		return "correct the url of the API, or the path"
	}
	return "correct the request of the listener"
}

// patient returns the error of a task for a busy API.
func patient(err error) error {
	if f := ask.As(err); f != nil && f.Kind == ask.Busy {
		return wait(f, err)
	}
	return err
}

// wait returns a Wait until the time that the API names, or else an Outage.
func wait(f *ask.Failure, err error) error {
	switch {
	case f.After == 0:
		return listeners.Outage(err)
	case f.Kind == ask.Busy:
		return listeners.Busy(f.After, err.Error())
	}
	return listeners.Wait(f.After, err.Error()) // it works on an earlier request
}

// excerpt cuts a text of an API to one short line without secrets.
func (s *Source) excerpt(text string) string { return ask.Excerpt([]byte(text), s.secrets) }

// shorten is excerpt for the id of a job.
func (s *Source) shorten(id string) string { return report.ShortenTo(s.excerpt(id), 100) }

// Reach checks that the API's name resolves, that its host accepts connections, and for https that
// its certificate is valid. It sends no request. If there is a proxy, it connects to the proxy.
func (s *Source) Reach(ctx context.Context) error {
	u, err := url.Parse(s.api.URL)
	if err != nil {
		return fmt.Errorf("API %s: its url is not valid", s.api.Name)
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && proxy != nil {
		u = &url.URL{Scheme: "http", Host: proxy.Host}
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	dial := (&net.Dialer{}).DialContext
	if u.Scheme == "https" {
		dial = (&tls.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("API %s: %w", s.api.Name, err)
	}
	return conn.Close()
}

// shortAnswer is the maximum size of answers that are read into memory.
const shortAnswer = 1 << 20

// short sends a request and reads its answer into memory. An empty answer is null.
func (r *reader) short(ctx context.Context, asked request) (document any, header http.Header, err error) {
	s := r.source
	a, err := r.do(ctx, asked)
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
		return nil, nil, listeners.Permanent(fmt.Errorf("API %s: %s: the answer has more than %d bytes", s.api.Name,
			asked.what, shortAnswer))
	case len(text) == 0:
		return nil, a.Header, nil
	}
	document, err = whole(text)
	if err != nil {
		return nil, nil, fmt.Errorf("API %s: %s: %w", s.api.Name, asked.what, err)
	}
	return document, a.Header, nil
}
