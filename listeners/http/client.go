package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/fanfold/fanfold/listeners"
)

const (
	// storyBytes is how much of an answer is told where it is an error.
	storyBytes = 200
	// longestWait bounds what an API can ask for with Retry-After.
	longestWait = time.Hour
)

// request is one that is ready to go.
type request struct {
	what    string // for messages: the method, the path as it is configured, and the job that it is about
	job     bool   // it is about a job
	method  string
	url     *url.URL
	body    []byte // JSON; nil: none
	headers http.Header
	// alone keeps it from a connection that the API may have closed: whether that has
	// taken it would not be known.
	alone bool
}

// answer is a success, whose body is read within the time and the bytes that the API
// has.
type answer struct {
	header http.Header
	url    *url.URL // after redirects
	body   io.Reader
	time   *patience
	close  func()
}

// later is an answer that asks for another try, after a while.
type later struct {
	error
	after time.Duration // 0: it does not say
}

func (l later) Unwrap() error { return l.error }

// unsent marks an error of a request that nobody has got.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// answered marks an error that the API itself has answered with.
type answered struct {
	error
	said  error // the same without what to do
	code  int
	after time.Duration // for which Retry-After asks; 0: it does not say
}

func (a answered) Unwrap() error { return a.error }

// redirect follows a redirect within the host, as often as it may.
func (s *Source) redirect(next *http.Request, via []*http.Request) error {
	if len(via) > s.api.Redirects || !sameHost(next.URL, via[0].URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// sameHost tells whether requests to both go to the same place.
func sameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) && a.User == nil && b.User == nil
}

// target makes the URL of what is below the API's.
func (s *Source) target(below string) (*url.URL, error) {
	base, err := url.Parse(s.api.URL)
	if err != nil {
		return nil, errors.New("the url of the API is none")
	}
	whole, err := url.Parse(s.api.URL + below)
	if err != nil || !sameHost(whole, base) {
		return nil, listeners.Permanent(errors.New("the URL cannot be used with these values"))
	}
	return whole, nil
}

// do sends a request. Its answer is a success, and is closed by the caller.
func (s *Source) do(parent context.Context, r request) (*answer, error) {
	limit := newPatience(parent, s.api.Timeout, errSlow)
	var connected atomic.Bool
	ctx := httptrace.WithClientTrace(limit.ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	fail := func(err error) (*answer, error) {
		limit.stop()
		return nil, err
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	asked, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), body)
	if err != nil {
		return fail(listeners.Permanent(errors.New("the URL cannot be used with these values")))
	}
	asked.Header.Set("Accept", "application/json")
	asked.Header.Set("User-Agent", "fanfold")
	if r.body != nil {
		asked.Header.Set("Content-Type", "application/json")
	}
	for name, value := range s.api.Headers {
		asked.Header.Set(name, value.Reveal())
	}
	for name, values := range r.headers {
		asked.Header[name] = values
	}
	client := s.client
	if r.alone {
		client = s.alone
	}
	response, err := client.Do(asked)
	if err != nil {
		err = s.explain(parent, limit, r, err)
		if parent.Err() == nil && !connected.Load() {
			err = unsent{listeners.Outage(err)}
		}
		return fail(err)
	}
	limited := &limitedReader{from: response.Body, left: s.api.MaxBytes, most: s.api.MaxBytes, what: "API " + s.api.Name + ": " + r.what}
	a := &answer{header: response.Header, url: asked.URL, body: limited, time: limit, close: func() {
		limit.stop()
		_ = response.Body.Close()
	}}
	if response.Request != nil {
		a.url = response.Request.URL
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return a, nil
	}
	defer a.close()
	text, _ := io.ReadAll(io.LimitReader(limited, 64<<10))
	after, _ := retryAfter(response.Header, time.Now())
	said := s.said(r, response, text)
	return nil, answered{s.judge(r, response, said, after), said, response.StatusCode, after}
}

// explain makes the error of a request that has no answer.
func (s *Source) explain(parent context.Context, limit *patience, r request, err error) error {
	if parent.Err() != nil {
		return context.Cause(parent)
	}
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err // the URL may have values in it that are long
	}
	if limit.over() {
		return fmt.Errorf("API %s: %s: no whole answer within %s", s.api.Name, r.what, s.api.Timeout)
	}
	return fmt.Errorf("API %s: %s: %w", s.api.Name, r.what, err)
}

// said is what an API answers that is no success.
func (s *Source) said(r request, response *http.Response, text []byte) error {
	story := s.story([]byte(response.Status)) // which holds what the API likes to say
	if more := s.story(text); more != "" {
		story += ": " + more
	}
	return fmt.Errorf("API %s: %s: %s", s.api.Name, r.what, story)
}

// judge says what an answer means that is no success.
func (s *Source) judge(r request, response *http.Response, err error, after time.Duration) error {
	code := response.StatusCode
	switch {
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return later{err, after}
	case code >= 500, code == http.StatusRequestTimeout:
		return err
	case code >= 300 && code < 400:
		to := "nowhere"
		if at, locationErr := response.Location(); locationErr == nil {
			to = at.Scheme + "://" + at.Host
		}
		return listeners.Permanent(fmt.Errorf("API %s: %s: %s, a redirect to %s, which is not followed: correct url or path, or allow it with redirects (never to another host)",
			s.api.Name, r.what, s.story([]byte(response.Status)), to))
	}
	return listeners.Permanent(fmt.Errorf("%w; %s", err, remedy(code, r.job)))
}

// remedy says what to do about an answer that would come again, to a request that is
// about a job or not.
func remedy(code int, job bool) string {
	switch {
	case code == http.StatusUnauthorized:
		return "correct the headers of the API"
	case code == http.StatusForbidden:
		return "correct the headers of the API, or have it allow this to its user"
	case (code == http.StatusNotFound || code == http.StatusGone) && job:
		return "correct the path, or run the record again if the API has forgotten the job"
	case code == http.StatusNotFound, code == http.StatusGone:
		return "correct the url of the API, or the path"
	}
	return "correct what the listener asks for"
}

// patient is the error of a task for an answer that asks for another try.
func (s *Source) patient(err error) error {
	var l later
	switch {
	case !errors.As(err, &l):
		return err
	case l.after > 0:
		return listeners.Wait(l.after, l.error.Error())
	}
	return listeners.Outage(l.error)
}

// retryAfter reads the header of that name: seconds, or a date, which is by the clock of
// the API.
func retryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, longestWait), true
	}
	if at, err := http.ParseTime(text); err == nil {
		if its, err := http.ParseTime(header.Get("Date")); err == nil {
			now = its
		}
		return max(0, min(at.Sub(now), longestWait)), true
	}
	return 0, false
}

// story cuts an answer to one short line, without what is secret.
func (s *Source) story(text []byte) string {
	whole := strings.ToValidUTF8(string(text), "\uFFFD")
	for _, value := range s.api.Headers {
		secret := value.Reveal()
		if _, token, two := strings.Cut(secret, " "); two && len(token) >= 4 {
			whole = strings.ReplaceAll(whole, token, "***") // Bearer, Basic …
		}
		if len(secret) >= 4 {
			whole = strings.ReplaceAll(whole, secret, "***")
		}
	}
	line := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(whole[:min(len(whole), storyBytes)], ""))
	return strings.TrimSpace(line)
}

// limitedReader is an error after the most that it may read.
type limitedReader struct {
	from io.Reader
	left int64
	most int64
	what string // for messages
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, listeners.Permanent(fmt.Errorf("%s: an answer of more than %d bytes: raise max_bytes of the API, or ask for smaller pages", l.what, l.most))
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%s: the answer broke off: %w", l.what, err)
	}
	return n, err
}
