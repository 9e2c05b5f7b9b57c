package report

import (
	"errors"
	"testing"
)

// TestPathValuesDoNotClimb: a value is one segment of a path, and leads to no other place
// whoever decodes its slashes.
func TestPathValuesDoNotClimb(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, value, want string // want empty: refused
	}{
		{"/users/:name", "ada", "/users/ada"},
		{"/users/:name", "a/b", "/users/a%2Fb"},
		{"/users/:name", "a..b", "/users/a..b"},
		{"/users/:name", "...", "/users/..."},
		{"/users/:name", "%2e%2e", "/users/%252e%252e"},
		{"/users/:name", ".", ""},
		{"/users/:name", "..", ""},
		{"/users/:name", "../admin", ""},
		{"/users/:name", "a/../../admin", ""},
		{"/users/:name", `..\admin`, ""},
		{"/users/:name", "a/.", ""},
		{"/jobs/{id}", "../admin", ""},
		{"/jobs/{id}", "7/8", "/jobs/7%2F8"},
		{"/jobs/job-{id}", "/../../admin", ""},
	} {
		got, _, err := HTTPRequest{Path: c.path}.Fill(func(string) (any, bool) { return c.value, true })
		if got != c.want || errors.Is(err, ErrValue) != (c.want == "") {
			t.Errorf("%s with %q: %q, %v", c.path, c.value, got, err)
		}
	}
}
