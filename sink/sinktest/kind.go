package sinktest

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// kinds checks that a kind reads the URLs of its sinks, and no others.
func kinds(t *testing.T, kind sink.Kind, p Place) {
	if !strings.HasPrefix(kind.Form, kind.Scheme+"://") {
		t.Errorf("the form %q is not of the scheme %q", kind.Form, kind.Scheme)
	}
	want := report.SinkURL(strings.TrimSuffix(p.Sink.URL(name), "/"+name))
	for _, end := range []string{"", "/", "//"} {
		got, wrong := kind.Parse(string(want) + end)
		if wrong != "" || got != want {
			t.Errorf("Parse(%q) = %q, %s", string(want)+end, got, wrong)
		}
	}
	const secret = "s3cr3t"
	for _, bad := range []string{"", kind.Scheme, kind.Scheme + ":", strings.ToUpper(kind.Scheme) + "://x",
		string(want) + "/../" + secret, string(want) + "/\n" + secret} {
		if got, wrong := kind.Parse(bad); wrong == "" || strings.Contains(wrong, secret) {
			t.Errorf("Parse(%q) = %q, %s", bad, got, wrong)
		}
	}
}
