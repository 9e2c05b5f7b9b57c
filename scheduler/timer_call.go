package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/cenkalti/backoff/v5"
)

const (
	// answerText is how much of an answer is kept for the story of a failure.
	answerText = 200
	// longestWait bounds what a server can ask for with Retry-After.
	longestWait = time.Hour
)

// newClient returns the client of all calls. It follows no redirects: a request
// goes where the configuration says.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 8
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call sends the request once.
func (t *Timers) call(ctx context.Context, f *firing) error {
	ctx, cancel := context.WithTimeout(ctx, f.Call.Timeout)
	defer cancel()
	request, err := f.request(ctx)
	if err != nil {
		return backoff.Permanent(err)
	}
	response, err := t.client.Do(request)
	if err != nil {
		// The error of the client has the URL in it, which may hold a secret.
		if of := (*url.Error)(nil); errors.As(err, &of) {
			err = of.Err
		}
		return fmt.Errorf("%s %s: %w", f.Call.Method, request.URL.Host, err)
	}
	defer response.Body.Close()
	// A connection whose answer was read can be used again.
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	return judge(response, f.Call.Method+" "+request.URL.Host, text)
}

// request fills the request in.
func (f firing) request(ctx context.Context) (*http.Request, error) {
	address, err := f.Call.URL.FillURL(f.values)
	if err != nil {
		return nil, err
	}
	headers := http.Header{}
	for name, template := range f.Call.Headers {
		value := template.Fill(f.values, nil)
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, errors.New("a line break in header " + name)
		}
		headers.Set(name, value)
	}
	var body io.Reader
	if !f.Call.Body.Empty() {
		if headers.Get("Content-Type") == "" {
			headers.Set("Content-Type", "application/json")
		}
		body = strings.NewReader(f.Call.Body.FillBody(f.values, headers.Get("Content-Type")))
	}
	request, err := http.NewRequestWithContext(ctx, f.Call.Method, address, body)
	if err != nil {
		return nil, errors.New("the URL cannot be used with these values")
	}
	request.Header = headers
	request.Header.Set("Idempotency-Key", f.id())
	return request, nil
}

// judge says whether an answer is a success, or a failure for good, or one for
// now.
func judge(response *http.Response, what string, text []byte) error {
	code := response.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	err := fmt.Errorf("%s: %s: %s", what, response.Status, story(text))
	if code < 500 && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout {
		return backoff.Permanent(err)
	}
	if after, ok := retryAfter(response.Header.Get("Retry-After"), time.Now()); ok {
		return fmt.Errorf("%w; %w", err, &backoff.RetryAfterError{Duration: after})
	}
	return err
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, longestWait), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(at.Sub(now), longestWait)), true
	}
	return 0, false
}

// story cuts an answer to one short line.
func story(text []byte) string {
	line := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(text[:min(len(text), answerText)]), "\uFFFD"))
	return strings.TrimSpace(line)
}
