package ask

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Kind is what a failure means.
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

// Failure is what became of a request that has no answer, or one that is no success.
type Failure struct {
	Kind  Kind
	Code  int           // of the answer; 0: there was none
	After time.Duration // for which Retry-After asks, up to an hour; 0: it does not say

	text string
	err  error // nil: none
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

// Unwrap is the error of the network, if there was one.
func (f *Failure) Unwrap() error { return f.err }

// As finds the Failure that an error is of; nil where it is of none.
func As(err error) *Failure {
	f := (*Failure)(nil)
	errors.As(err, &f)
	return f
}

// judge says what an answer means that is no success.
func judge(response *http.Response, body io.Reader, secrets []string) *Failure {
	said, _ := io.ReadAll(io.LimitReader(body, 64<<10)) // a connection whose answer was read can be used again
	f := &Failure{Kind: Refused, Code: response.StatusCode, After: RetryAfter(response.Header, time.Now())}
	f.text = Excerpt([]byte(response.Status), secrets) // which holds what the service likes to say
	if f.Code >= 300 && f.Code < 400 {
		to := "nowhere"
		if at, err := response.Location(); err == nil {
			to = at.Scheme + "://" + at.Host
		}
		f.Kind, f.text = Moved, fmt.Sprintf("%s, a redirect to %s, which is not followed", f.text, to)
		return f
	}
	if more := Excerpt(said, secrets); more != "" {
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

// maxWait bounds what a service can ask for with Retry-After.
const maxWait = time.Hour

// RetryAfter reads the header of that name: seconds, or a date, which is by the clock of
// the service where it tells that. It is 0 where the header does not say, or says now.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxWait)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if its, err := http.ParseTime(header.Get("Date")); err == nil {
		now = its
	}
	return max(0, min(at.Sub(now), maxWait))
}

// excerptBytes is how much of an answer is told.
const excerptBytes = 200

// Excerpt cuts what a service says to one short line, without secrets. Those below 4 bytes
// are words that may be anywhere, and stay.
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
