// Package problems answers: how does an HTTP answer say what is wrong, and what to do?
package problems

import (
	"encoding/json"
	"net/http"
)

// Problem is an error in the form of RFC 9457. It has no type: Code identifies it.
type Problem struct {
	Title      string         `json:"title"` // the text of Status
	Status     int            `json:"status"`
	Code       string         `json:"code"`
	Detail     string         `json:"detail"` // what is wrong
	Remedy     string         `json:"remedy"` // what to do
	Parameters []BadParameter `json:"parameters,omitempty"`
	Expected   *int64         `json:"expected,omitempty"` // number of the next page of rows
}

// BadParameter is a parameter that a report does not accept.
type BadParameter struct {
	Name   string `json:"name"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// Error implements error.
func (p Problem) Error() string { return p.Detail }

// Write answers with the problem.
func (p Problem) Write(w http.ResponseWriter) {
	p.Title = http.StatusText(p.Status)
	text, err := json.Marshal(p)
	if err != nil {
		text = nil // texts can always be marshalled
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "5")
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n'))
}
