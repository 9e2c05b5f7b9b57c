package ask

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Kind says what a failure means.
type Kind int

// The kinds of failures; the package documentation says what each means.
const (
	Unsent Kind = iota + 1
	Slow
	Broken
	Busy
	Failing
	Moved
	Refused
)

// Failure is the outcome of a request without a successful answer.
type Failure struct {
	Kind  Kind
	Code  int           // status of the answer; 0: no answer
	After time.Duration // from Retry-After, at most an hour; 0: not given

	text string
	err  error // of the network; nil: none
}

// Error implements error: one short line without secrets.
func (f *Failure) Error() string {
	switch {
	case f.err == nil:
		return f.text
	case f.text == "":
		return f.err.Error()
	}
	return f.text + ": " + f.err.Error()
}

// Unwrap returns the error of the network, if there was one.
func (f *Failure) Unwrap() error { return f.err }

// As returns the Failure that err wraps, or nil.
func As(err error) *Failure {
	f := (*Failure)(nil)
	errors.As(err, &f)
	return f
}

// judge returns the Failure of an answer that is not a success.
func judge(response *http.Response, body io.Reader, secrets []string) *Failure {
	said, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // a connection can be reused only if the answer was read
	f := &Failure{Kind: Refused, Code: response.StatusCode, After: RetryAfter(response.Header, time.Now())}
	f.text = Excerpt([]byte(response.Status), secrets) // it contains text of the service
	if f.Code >= 300 && f.Code < 400 {
		to := "nowhere"
		if at, err := response.Location(); err == nil {
			to = at.Scheme + "://" + at.Host
		}
		f.Kind, f.text = Moved, fmt.Sprintf("%s, a redirect to %s, which is not followed", f.text, to)
		return f
	}
	// A web page adds nothing to the status. Some APIs send JSON as text/html.
	page := strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") &&
		bytes.HasPrefix(bytes.TrimSpace(said), []byte("<"))
	if more := Excerpt(said, secrets); more != "" && !page {
		f.text += ": " + more
	}
	switch {
	case f.Code == http.StatusTooManyRequests, f.Code == http.StatusServiceUnavailable:
		f.Kind = Busy
	case f.Code >= 500, f.Code == http.StatusRequestTimeout:
		f.Kind = Failing
	}
	return f
}

// maxWait is the maximum delay that a service can request with Retry-After.
const maxWait = time.Hour

// RetryAfter returns the delay that the Retry-After header requests: seconds, or a date by the
// service's clock, if the answer has a Date header. It returns 0 if the header is missing, invalid
// or not in the future.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxWait)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return max(0, min(at.Sub(now), maxWait))
}

// excerptBytes is how much of an answer is shown.
const excerptBytes = 200

// Excerpt shortens a text of the service to one line without secrets. Secrets below 4 bytes are not
// replaced, because they may be part of any word.
func Excerpt(text []byte, secrets []string) string {
	whole := strings.ToValidUTF8(string(text), "\uFFFD")
	for _, secret := range secrets {
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
	}, strings.ToValidUTF8(whole[:min(len(whole), excerptBytes)], ""))
	return strings.TrimSpace(line)
}
