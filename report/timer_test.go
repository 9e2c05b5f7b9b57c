package report

import (
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
