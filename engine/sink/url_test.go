package sink_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/engine/sink"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ url, scheme, place, prefix string }{
		{"gs://bucket", "gs", "bucket", ""},
		{"gs://bucket/", "gs", "bucket", ""},
		{"gs://bucket/reports", "gs", "bucket", "reports"},
		{"gs://bucket/reports/2024//", "gs", "bucket", "reports/2024"},
		{"gs://bucket/a b%20c=d", "gs", "bucket", "a b%20c=d"},
		{"file:///var/reports", "file", "/var/reports", ""},
		{"file:///var/reports/", "file", "/var/reports", ""},
		{"file:///a%20b", "file", "/a b", ""},
		{"file:///", "file", "/", ""},
	} {
		scheme, place, prefix, err := sink.ParseURL(test.url)
		if err != nil || scheme != test.scheme || place != test.place || prefix != test.prefix {
			t.Errorf("ParseURL(%q) = %q, %q, %q, %v; want %q, %q, %q",
				test.url, scheme, place, prefix, err, test.scheme, test.place, test.prefix)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	t.Parallel()
	for url, reason := range map[string]string{
		"":                      "neither",
		"/var/reports":          "neither",
		"s3://bucket":           "neither",
		"GS://bucket":           "neither",
		"gs:bucket":             "neither",
		"file:/var":             "neither",
		"gs://":                 "no bucket",
		"gs:///x":               "no bucket",
		"gs://bucket/a//b":      `the part ""`,
		"gs://bucket/../x":      `the part ".."`,
		"gs://bucket/x?y":       "not allowed",
		"gs://bucket/x\ny":      "not allowed",
		"file://host/var":       "a host",
		"file://":               "not absolute",
		"file://var":            "a host",
		"file:///var?x=1":       "a query",
		"file:///var?":          "a query",
		"file:///var#x":         "a query",
		"file:///var#":          "a query",
		"file:///var/../etc":    `the part ".."`,
		"file:///var/%2e%2e/x":  `the part ".."`,
		"file:///var/%zz":       "not a URL",
		"file:///var/%00":       "control",
		"file://user@host/var/": "a host",
	} {
		_, _, _, err := sink.ParseURL(url)
		if !errors.Is(err, sink.ErrURL) || !strings.Contains(err.Error(), reason) {
			t.Errorf("ParseURL(%q) = %v, want ErrURL with %q", url, err, reason)
		}
	}
}
