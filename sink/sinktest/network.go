package sinktest

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// Network is the way of a sink to its store, on which a test lets requests fail.
type Network struct {
	Next http.RoundTripper

	mu    sync.Mutex
	n     int // requests since Set
	fault Fault
}

// Fault handles the n-th request, from 0, that is on its way to the store. Next is the store.
type Fault func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error)

// Set lets a fault handle all further requests; nil: none fails.
func (n *Network) Set(f Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.n, n.fault = 0, f
}

// RoundTrip implements http.RoundTripper.
func (n *Network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	number, fault := n.n, n.fault
	n.n++
	n.mu.Unlock()
	if fault == nil {
		return n.Next.RoundTrip(r)
	}
	return fault(number, r, n.Next)
}

// answer is that of a store which did not look at the request.
func answer(r *http.Request, status int) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r,
	}, nil
}

// done lets the store do its work, and loses its answer.
func done(r *http.Request, next http.RoundTripper) {
	if response, err := next.RoundTrip(r); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}
