package dir_test

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink/dir"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]report.SinkURL{
		"file:///var/reports": "file:///var/reports", "file:///var/reports/": "file:///var/reports",
		"file:///a%20b": "file:///a%20b", "file:///": "file:///",
	} {
		if got, wrong := dir.Kind.Parse(url); wrong != "" || got != want {
			t.Errorf("Parse(%q) = %q, %s; want %q", url, got, wrong, want)
		}
	}
	for url, reason := range map[string]string{
		"":                      "not a file://",
		"/var/reports":          "not a file://",
		"file:/var":             "not a file://",
		"file://host/var":       "a host",
		"file://":               "not absolute",
		"file://var":            "a host",
		"file:///var?x=1":       "a query",
		"file:///var?":          "a query",
		"file:///var#x":         "a query",
		"file:///var#":          "a query",
		"file:///var/../etc":    "a segment of the path",
		"file:///var/%2e%2e/x":  "a segment of the path",
		"file:///var/%zz":       "not a URL",
		"file:///var/%00":       "control",
		"file://user@host/var/": "a host",
	} {
		if _, wrong := dir.Kind.Parse(url); !strings.Contains(wrong, reason) {
			t.Errorf("Parse(%q) = %q, want %q", url, wrong, reason)
		}
	}
}
