package s3_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink/s3"
	"github.com/fanfold/fanfold/sink/s3/s3test"
)

// TestEveryCauseHasItsHint: an error of Check says its cause once, and its hint what to correct.
func TestEveryCauseHasItsHint(t *testing.T) {
	t.Parallel()
	fake := s3test.Start(t, bucket)
	answering := func(status int, code string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>the cause</Message></Error>", code)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	for name, c := range map[string]struct {
		bucket, endpoint, secret string
		cause, hint              string
	}{
		"bucket":    {"other", fake.URL, s3test.SecretKey, "NoSuchBucket", "there is no bucket other: create it"},
		"secret":    {bucket, fake.URL, "wrong", "SignatureDoesNotMatch", "correct sink.secret_key"},
		"account":   {bucket, answering(403, "InvalidAccessKeyId"), "x", "the cause", "correct sink.access_key, or set sink.endpoint"},
		"grant":     {bucket, answering(403, "AccessDenied"), "x", "the cause", "the permissions in docs/guides/s3.md on the bucket reports"},
		"too much":  {bucket, strings.Replace(fake.URL, "http:", "https:", 1), "x", "server gave HTTP response", "write http:// in sink.endpoint"},
		"too few":   {bucket, strings.Replace(secure.URL, "https:", "http:", 1), "x", "400 Bad Request", "write https:// in sink.endpoint"},
		"something": {bucket, answering(501, "NotImplemented"), "x", "the cause", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := s3.New(report.SinkURL("s3://"+c.bucket), s3.Options{
				Endpoint: c.endpoint, AccessKey: s3test.AccessKey, SecretKey: report.Secret(c.secret),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			err = s.Check(t.Context())
			if err == nil || strings.Count(err.Error(), c.cause) != 1 {
				t.Errorf("not once %q: %v", c.cause, err)
			}
			if got := s.Hint(err); !strings.Contains(got, c.hint) || c.hint == "" && got != "" {
				t.Errorf("hint %q, want %q", got, c.hint)
			}
		})
	}
}

// TestHintWithoutTheHost: without an endpoint, a name that does not resolve can be one of Amazon that was not meant.
func TestHintWithoutTheHost(t *testing.T) {
	t.Parallel()
	unknown := fmt.Errorf("write: %w", &net.DNSError{Err: "no such host", Name: "reports.s3.amazonaws.com", IsNotFound: true})
	for endpoint, want := range map[string]string{"": "set sink.endpoint if this is not Amazon", "http://nowhere.invalid": "correct the host in sink.endpoint"} {
		s, err := s3.New("s3://reports", s3.Options{Endpoint: endpoint})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got := s.Hint(unknown); !strings.Contains(got, want) || s.Hint(context.Canceled) != "" {
			t.Errorf("hint %q, want %q", got, want)
		}
	}
}
