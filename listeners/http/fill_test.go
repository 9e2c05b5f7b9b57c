package http

import (
	"encoding/json"
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
		got, _, err := fillRequest(Request{Path: c.path}, func(string) (any, bool) { return c.value, true })
		if got != c.want || errors.Is(err, errValue) != (c.want == "") {
			t.Errorf("%s with %q: %q, %v", c.path, c.value, got, err)
		}
	}
}

// TestFill: a value stays in its place, whatever is in it.
func TestFill(t *testing.T) {
	t.Parallel()
	evil := `../a?b=c&d#e/"f` + "\r\nX: y"
	values := func(name string) (any, bool) {
		v, ok := map[string]any{
			"evil": evil, "n": int64(-7), "yes": true, "none": nil, "dots": "..", "empty": "",
			"list": []any{int64(1), "a&b"}, "of.ids": []any{json.RawMessage("12345678901234567890"), json.RawMessage(`"x"`)},
			"slash": "a/b?c", "{id}": "a/b", "{key}": "k\"1",
		}[name]
		return v, ok
	}
	for _, c := range []struct {
		request      Request
		target, body string
		refused      bool
	}{
		{Request{Path: "/a:b/:n/%20"}, "/a:b/-7/%20", "", false},
		{Request{Path: "/:slash"}, "/a%2Fb%3Fc", "", false},
		{Request{Path: "/:evil"}, "", "", true},
		{Request{Path: "/x-{id}/{key}"}, "/x-a%2Fb/k%221", "", false},
		{Request{Path: "/:dots/x"}, "", "", true},
		{Request{Path: "/:empty/x"}, "", "", true},
		{Request{Path: "/:none/x"}, "", "", true},
		{Request{Path: "/:unknown"}, "", "", true},
		{Request{Path: "/", Query: []Pair{{Name: "q", Value: ":evil"}, {Name: "a b", Value: "::n"}, {Name: "none", Value: ":none"}, {Name: "l", Value: ":list"}, {Name: "ids", Value: ":of.ids"}, {Name: "y", Value: ":yes"}}},
			"/?q=..%2Fa%3Fb%3Dc%26d%23e%2F%22f%0D%0AX%3A+y&a+b=%3An&l=1&l=a%26b&ids=12345678901234567890&ids=x&y=true", "", false},
		{Request{Path: "/", JSON: map[string]any{"e": ":evil", "in": "not :evil", "l": ":list", "ids": ":of.ids", "n": ":none", "k": "{key}", "c": "::n", "d": []any{json.Number("1.50")}}},
			"/", `{"c":":n","d":[1.50],"e":"../a?b=c&d#e/\"f\r\nX: y","ids":[12345678901234567890,"x"],"in":"not :evil","k":"k\"1","l":[1,"a&b"],"n":null}`, false},
	} {
		target, body, err := fillRequest(c.request, values)
		if (err != nil) != c.refused || err != nil && !errors.Is(err, errValue) || err == nil && target != c.target || string(body) != c.body {
			t.Errorf("%+v: %s %s %v", c.request, target, body, err)
		}
	}
}
