package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatternMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          map[string]string // nil: no match
	}{
		{"send_message-{user}-{type}", "send_message-42-welcome", map[string]string{"user": "42", "type": "welcome"}},
		{"send_message-{user}-{type}", "send_message-42-welcome-back", map[string]string{"user": "42", "type": "welcome-back"}},
		{"send_message-{user}-{type}", "send_message-42", nil},
		{"send_message-{user}-{type}", "send_message--welcome", nil},
		{"send_message-{user}-{type}", "xsend_message-42-welcome", nil},
		{"weekly", "weekly", map[string]string{}},
		{"weekly", "weekly2", nil},
		{"a.c-{x}", "abc-1", nil},
		{"{x}-end", "a-b-end", map[string]string{"x": "a-b"}},
		{"{a}:{b}", "1:2:3", map[string]string{"a": "1:2", "b": "3"}},
	} {
		p, err := ParsePattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := p.Match(c.name)
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (c.want != nil) {
			t.Errorf("%s, %s: %v %s", c.pattern, c.name, ok, diff)
		}
	}
	for _, bad := range []string{"", "a{x}{y}", "{x}-{x}", "a b{x}", "a{", "a}", "a{1}", "ä{x}", strings.Repeat("a", 201)} {
		if _, err := ParsePattern(bad); err == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

// TestValuesCannotLeaveTheirPlace: what stands in a timer's name is foreign.
func TestValuesCannotLeaveTheirPlace(t *testing.T) {
	t.Parallel()
	hostile := map[string]string{"v": `a"b\c/d?e&f=g#h%i`}
	u, err := NewTemplate("http://h/x/{v}/y?q={v}&z=1").FillURL(hostile)
	if want := "http://h/x/a%22b%5Cc%2Fd%3Fe&f=g%23h%25i/y?q=a%22b%5Cc%2Fd%3Fe%26f%3Dg%23h%25i&z=1"; err != nil || u != want {
		t.Errorf("%s %v", u, err)
	}
	for _, v := range []string{".", "..", "../x", "a/../b", `..\x`} {
		if _, err := NewTemplate("http://h/{v}/y").FillURL(map[string]string{"v": v}); !errors.Is(err, ErrValue) {
			t.Errorf("%s: %v", v, err)
		}
	}
	body := NewTemplate(`{"a":"{v}","n":{"m":1}}`).FillBody(hostile, "application/json; charset=utf-8")
	var back struct {
		A string         `json:"a"`
		N map[string]int `json:"n"`
	}
	if err := json.Unmarshal([]byte(body), &back); err != nil || back.A != hostile["v"] || back.N["m"] != 1 {
		t.Errorf("%s %v", body, err)
	}
	if got := NewTemplate("a={v}").FillBody(hostile, "application/x-www-form-urlencoded"); strings.Contains(got, "&") {
		t.Error(got)
	}
	// A value that looks like a placeholder is not filled again.
	if got := NewTemplate("{a}{b}").Fill(map[string]string{"a": "{b}", "b": "x"}, nil); got != "{b}x" {
		t.Error(got)
	}
	if got := fmt.Sprintf("%v %+v %#v", NewTemplate("secret"), struct{ T Template }{NewTemplate("secret")}, NewTemplate("secret")); strings.Contains(got, "secret") {
		t.Error(got)
	}
}
