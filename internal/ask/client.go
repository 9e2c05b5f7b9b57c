package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Client sends requests. It is safe for concurrent use.
type Client struct {
	shared *http.Client
	alone  *http.Client // a new connection per request
}

// New returns a Client that follows at most that many redirects, within a host. It does no I/O.
func New(redirects int) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 8
	alone := transport.Clone()
	alone.DisableKeepAlives = true
	follow := func(next *http.Request, via []*http.Request) error {
		if len(via) > redirects || !SameHost(next.URL, via[0].URL) {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return &Client{shared: &http.Client{Transport: transport, CheckRedirect: follow},
		alone: &http.Client{Transport: alone, CheckRedirect: follow}}
}

// Close closes idle connections.
func (c *Client) Close() {
	c.shared.CloseIdleConnections()
	c.alone.CloseIdleConnections()
}

// SameHost reports whether two URLs have the same scheme and host, and no user.
func SameHost(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host) && a.User == nil && b.User == nil
}

// Request is a request that can be sent.
type Request struct {
	Method   string
	URL      *url.URL
	Header   http.Header
	Body     []byte        // nil: none
	Timeout  time.Duration // for the complete answer
	MaxBytes int64         // maximum size of the answer's body
	Secrets  []string      // values that failures never show
	// Alone sends the request over a new connection. If the service closed a reused one, it would
	// be unknown whether it received the request.
	Alone bool
}

// Answer is a successful response.
type Answer struct {
	Header http.Header
	URL    *url.URL  // after redirects
	Body   io.Reader // ends with io.EOF, ErrTooLong, or a *Failure of kind Broken
	Time   *Patience // the time limit of the request

	timeout time.Duration
	close   func()
}

// Close closes the body.
func (a *Answer) Close() { a.close() }

// ErrTooLong matches the error of a body that exceeds MaxBytes.
var ErrTooLong = errors.New("answer too long")

// tooLong is the error of a body that exceeds that many bytes.
type tooLong int64

func (t tooLong) Error() string        { return fmt.Sprintf("the answer exceeds %d bytes", int64(t)) }
func (t tooLong) Is(target error) bool { return target == ErrTooLong }

var errSlow = errors.New("no complete answer in time")

// Do sends a request. It returns the answer if it is a success; the caller closes it. Otherwise the
// error is a *Failure or, if ctx has ended, its cause.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	limit := NewPatience(ctx, r.Timeout, errSlow)
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(limit.Context(),
		&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(traced, r.Method, r.URL.String(), body)
	if err != nil {
		limit.Stop()
		return nil, &Failure{Kind: Refused, text: "the URL cannot be used with these values"}
	}
	if r.Header != nil {
		request.Header = r.Header
	}
	client := c.shared
	if r.Alone {
		client = c.alone
	}
	response, err := client.Do(request)
	a := &Answer{Time: limit, timeout: r.Timeout, close: limit.Stop}
	if err != nil {
		defer a.close()
		err = a.Err(ctx, err)
		if f := (*Failure)(nil); errors.As(err, &f) && !connected.Load() {
			f.Kind = Unsent
		}
		return nil, err
	}
	a.Header, a.URL = response.Header, response.Request.URL
	a.Body = &limited{from: response.Body, left: r.MaxBytes, max: r.MaxBytes}
	if response.StatusCode == http.StatusSwitchingProtocols {
		a.Body = http.NoBody // the body is the connection: reading it has no time limit
	}
	a.close = func() {
		limit.Stop()
		_ = response.Body.Close()
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return a, nil
	}
	defer a.close()
	return nil, judge(response, a.Body, r.Secrets)
}

// Err converts the error of a request without an answer, or of a body that was not read to its end:
// to the cause of ctx if that has ended, otherwise to a *Failure that says whether the time was
// over.
func (a *Answer) Err(ctx context.Context, err error) error {
	switch f := (*Failure)(nil); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case a.Time.Over():
		return &Failure{Kind: Slow, text: fmt.Sprintf("no complete answer within %s", a.timeout)}
	case errors.As(err, &f):
		return f
	}
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err // the URL may contain long or secret values
	}
	return &Failure{Kind: Broken, err: err}
}

// limited bounds the size of a body, and turns errors of the connection into Failures.
type limited struct {
	from io.Reader
	left int64
	max  int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, tooLong(l.max)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = &Failure{Kind: Broken, text: "the answer broke off", err: err}
	}
	return n, err
}

// HasDotSegment reports whether a part of a value, between slashes of either kind, is . or .. A server,
// or a proxy that decodes %2F, would resolve it to another path.
func HasDotSegment(text string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }),
		func(part string) bool {
			return part == "." || part == ".."
		})
}
