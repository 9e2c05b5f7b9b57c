package ask

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

const secret = "s3cret-token"

// asked sends a request to a server with a handler.
func asked(t *testing.T, answer http.HandlerFunc, change func(*Request)) (*Answer, error) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	client := New(1)
	t.Cleanup(client.Close)
	u, err := url.Parse(server.URL + "/key/" + secret)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Method: http.MethodPost, URL: u, Body: []byte("{}"), Header: http.Header{"Authorization": {"Bearer " + secret}}, Timeout: time.Minute, MaxBytes: 1000, Secrets: []string{"Bearer " + secret}}
	if change != nil {
		change(&r)
	}
	return client.Do(t.Context(), r)
}

// TestJudgement: the kind of failure of every answer.
func TestJudgement(t *testing.T) {
	t.Parallel()
	status := func(code int, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   Kind
		after  time.Duration
		text   string
	}{
		"busy":              {status(429, "wait", "Retry-After", "7"), Busy, 7 * time.Second, "429 Too Many Requests: wait"},
		"unavailable":       {status(503, ""), Busy, 0, "503 Service Unavailable"},
		"failing":           {status(500, "no\ndisk\x1b[2J", "Retry-After", "7"), Failing, 7 * time.Second, "500 Internal Server Error: no disk [2J"},
		"slow for the host": {status(408, ""), Failing, 0, "408 Request Timeout"},
		"refused":           {status(404, "not for "+secret), Refused, 0, "404 Not Found: not for ***"},
		"a web page":        {status(404, "<html>Not Found</html>", "Content-Type", "text/html; charset=utf-8"), Refused, 0, "404 Not Found"},
		"JSON as a page":    {status(404, `{"error": "quota"}`, "Content-Type", "text/html"), Refused, 0, `404 Not Found: {"error": "quota"}`},
		"a long text":       {status(400, strings.Repeat("ä", 500)), Refused, 0, "400 Bad Request: " + strings.Repeat("ä", 100)},
		"to another host":   {status(302, "", "Location", "http://127.0.0.1:1/x?y="+secret), Moved, 0, "302 Found, a redirect to http://127.0.0.1:1, which is not followed"},
		"nowhere":           {status(304, ""), Moved, 0, "304 Not Modified, a redirect to nowhere, which is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := asked(t, c.answer, nil)
			f := As(err)
			if f == nil || f.Kind != c.kind || f.After != c.after || f.Error() != c.text || f.Code == 0 {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestRedirects: redirects are followed within the host, up to the limit.
func TestRedirects(t *testing.T) {
	t.Parallel()
	times := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if step := strings.Count(r.URL.Path, "x"); step < n {
				http.Redirect(w, r, "/"+strings.Repeat("x", step+1), http.StatusTemporaryRedirect)
			}
		}
	}
	answer, err := asked(t, times(1), nil)
	if err != nil || answer.URL.Path != "/x" {
		t.Fatalf("%+v %v", answer, err)
	}
	answer.Close()
	if _, err := asked(t, times(2), nil); As(err) == nil || As(err).Kind != Moved {
		t.Errorf("%v", err)
	}
}

// TestNoAnswer: the kind says whether the service may have received the request.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	if _, err := asked(t, nil, func(r *Request) { r.URL.Host = "127.0.0.1:1" }); As(err) == nil || As(err).Kind != Unsent || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
	}
	hang := make(chan struct{})
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}
	if _, err := asked(t, silent, func(r *Request) { r.Timeout = 300 * time.Millisecond }); As(err) == nil || As(err).Kind != Slow || err.Error() != "no complete answer within 300ms" {
		t.Errorf("%v", err)
	}
	close(hang)
	broken := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}
	if _, err := asked(t, broken, nil); As(err) == nil || As(err).Kind != Broken || !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if _, err := asked(t, nil, func(r *Request) { r.Method = "no method" }); As(err) == nil || As(err).Kind != Refused {
		t.Errorf("%v", err)
	}
}

// TestBody: the error says whether a body is too long, broke off, or took too long, or whether the
// caller's context has ended.
func TestBody(t *testing.T) {
	t.Parallel()
	answer, err := asked(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1001)) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if _, err := io.ReadAll(answer.Body); !errors.Is(err, ErrTooLong) || err.Error() != "the answer exceeds 1000 bytes" {
		t.Errorf("%v", err)
	}
	begun := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "x")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	slow, err := asked(t, begun, func(r *Request) { r.Timeout = 200 * time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	_, err = io.ReadAll(slow.Body)
	if f := As(slow.Err(t.Context(), err)); f == nil || f.Kind != Slow {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if err := slow.Err(ended, err); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if f := As(slow.Err(t.Context(), io.ErrClosedPipe)); f.Kind != Slow {
		t.Errorf("%+v", f)
	}
}

// TestSwitchedProtocols: an answer that makes the connection another protocol is an error, which does not wait for the
// end of the connection.
func TestSwitchedProtocols(t *testing.T) {
	t.Parallel()
	_, err := asked(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	}, nil)
	if f := As(err); f == nil || f.Code != http.StatusSwitchingProtocols || f.Kind != Refused {
		t.Errorf("%v", err)
	}
}

// TestPatience: the time limit can be paused.
func TestPatience(t *testing.T) {
	t.Parallel()
	p := NewPatience(t.Context(), 100*time.Millisecond, errSlow)
	defer p.Stop()
	resume := p.Pause()
	<-time.NewTimer(200 * time.Millisecond).C
	if resume(); p.Over() {
		t.Error("the time was over while it was paused")
	}
	p.Restart(100 * time.Millisecond)
	<-p.Context().Done()
	if !p.Over() {
		t.Error(context.Cause(p.Context()))
	}
	unlimited := NewPatience(t.Context(), 0, errSlow)
	defer unlimited.Stop()
	unlimited.Pause()()
	unlimited.Restart(0)
	if <-time.NewTimer(10 * time.Millisecond).C; unlimited.Over() {
		t.Error("no limit is over")
	}
}

// TestRetryAfter: both forms of the header are read.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"7": 7 * time.Second, "0": 0, "999999": time.Hour, "Mon, 01 Jan 2024 00:00:30 GMT": 30 * time.Second,
		"Sun, 31 Dec 2023 23:59:00 GMT": 0, "": 0, "-5": 0, "soon": 0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	// A date is compared with the service's clock, if the answer has one.
	header := http.Header{"Date": {"Mon, 01 Jan 2024 05:00:00 GMT"}, "Retry-After": {"Mon, 01 Jan 2024 05:00:30 GMT"}}
	if got := RetryAfter(header, now); got != 30*time.Second {
		t.Errorf("%v", got)
	}
}
