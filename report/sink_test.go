package report

import (
	"strings"
	"testing"
)

func TestParseSinkURL(t *testing.T) {
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
		want := SinkURL{test.scheme, test.place, test.prefix}
		got, wrong := ParseSinkURL(test.url)
		if wrong != nil || got != want {
			t.Errorf("ParseSinkURL(%q) = %q, %v; want %q", test.url, got, wrong, want)
		}
		if again, wrong := ParseSinkURL(got.String()); wrong != nil || again != want {
			t.Errorf("ParseSinkURL(%q) = %q, %v; want %q", got.String(), again, wrong, want)
		}
	}
}

func TestParseSinkURLRefuses(t *testing.T) {
	t.Parallel()
	for url, reason := range map[string]string{
		"":                      "neither",
		"/var/reports":          "neither",
		"s3://bucket":           "neither",
		"GS://bucket":           "neither",
		"gs:bucket":             "neither",
		"file:/var":             "neither",
		"gs://":                 "the bucket is missing",
		"gs:///x":               "the bucket is missing",
		"gs://x":                "valid bucket name",
		"gs://Bucket":           "valid bucket name",
		"gs://bucket/a//b":      "a segment of the prefix",
		"gs://bucket/../x":      "a segment of the prefix",
		"gs://bucket/x?y":       "not allowed",
		"gs://bucket/x\ny":      "not allowed",
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
		if _, wrong := ParseSinkURL(url); wrong == nil || !strings.Contains(wrong.Message, reason) {
			t.Errorf("ParseSinkURL(%q) = %v, want %q", url, wrong, reason)
		}
	}
}
