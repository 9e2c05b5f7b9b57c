package gcs_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// faulty answers requests in the service's place. It returns nil, nil where the
// service is to answer.
type faulty struct {
	next  http.RoundTripper
	fault func(r *http.Request) (*http.Response, error)

	mu       sync.Mutex
	requests []string // method and kind
}

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.requests = append(f.requests, kind(r))
	f.mu.Unlock()
	response, err := f.fault(r)
	if response == nil && err == nil {
		return f.next.RoundTrip(r)
	}
	if r.Body != nil {
		r.Body.Close()
	}
	return response, err
}

func (f *faulty) count(kind string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.requests {
		if k == kind {
			n++
		}
	}
	return n
}

// kind names a request: begin, middle and final are those of an upload in
// chunks, single one that has but one request.
func kind(r *http.Request) string {
	content := r.Header.Get("Content-Range")
	switch {
	case r.URL.Query().Get("uploadType") == "multipart":
		return "single"
	case content != "" && strings.HasSuffix(content, "/*"):
		return "middle"
	case content != "":
		return "final"
	case r.URL.Query().Get("uploadType") == "resumable":
		return "begin"
	}
	return r.Method
}

func answer(r *http.Request, code int) *http.Response {
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(`{"error":{"message":"injected"}}`)),
	}
}

// firstOf lets the fault happen to the first n requests of one kind.
func firstOf(n int, what string, fault func(r *http.Request) (*http.Response, error)) func(*http.Request) (*http.Response, error) {
	var mu sync.Mutex
	return func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if kind(r) != what || n == 0 {
			return nil, nil
		}
		n--
		return fault(r)
	}
}

func status(code int) func(r *http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) { return answer(r, code), nil }
}

// lost lets the service do its work and loses its answer.
func lost(s *service, err error) func(r *http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		response, failed := s.http.Transport.RoundTrip(r)
		if failed != nil {
			return nil, failed
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		return nil, err
	}
}
