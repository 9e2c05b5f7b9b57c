package s3_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/s3"
	"github.com/fanfold/fanfold/sink/s3/s3test"
)

// TestStalledDownload: a store that stops in the middle of an object does not hold a call for ever.
func TestStalledDownload(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	out, network := s.open(t)
	if _, err := commit(t, out, object, small); err != nil {
		t.Fatal(err)
	}
	s3.SetStall(out, 500*time.Millisecond)
	network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil {
			response.Body = stuck{response.Body, r}
		}
		return response, err
	})
	in, err := out.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := io.ReadAll(in); err == nil || !strings.Contains(err.Error(), "no progress") {
		t.Errorf("Read = %v, want that there is no progress", err)
	}
}

type stuck struct {
	io.ReadCloser
	r *http.Request
}

func (s stuck) Read([]byte) (int, error) {
	<-s.r.Context().Done()
	return 0, s.r.Context().Err()
}

// TestSignedURL: anyone can read by the URL, until its time, and a browser saves the file under its name.
func TestSignedURL(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	out, _ := s.open(t)
	until := time.Now().Add(sink.LongestLink)
	if _, err := out.SignedURL(t.Context(), name, until); !errors.Is(err, sink.ErrNoObject) {
		t.Errorf("of an object that does not exist: %v", err)
	}
	if _, err := out.SignedURL(t.Context(), "../x", until); !errors.Is(err, sink.ErrName) {
		t.Errorf("of a bad name: %v", err)
	}
	o := object
	o.SaveAs = "orders.csv"
	if _, err := commit(t, out, o, small); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(link string) (status int, body, disposition string) {
		answer, err := client.Get(link)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text), answer.Header.Get("Content-Disposition")
	}
	link, err := out.SignedURL(t.Context(), name, until)
	if err != nil {
		t.Fatal(err)
	}
	if status, body, disposition := get(link); status != 200 || body != small || disposition != "attachment; filename=orders.csv" {
		t.Errorf("%d, %q, %q", status, body, disposition)
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	if lasts, err := time.ParseDuration(query.Get("X-Amz-Expires") + "s"); err != nil || lasts > sink.LongestLink || lasts < sink.LongestLink-time.Minute {
		t.Errorf("it is valid for %v, %v", lasts, err)
	}
	query.Set("X-Amz-Expires", "9")
	u.RawQuery = query.Encode()
	if status, _, _ := get(u.String()); status != http.StatusForbidden {
		t.Errorf("with another time: %d", status)
	}
	short, err := out.SignedURL(t.Context(), name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for status := 200; status == 200; status, _, _ = get(short) {
		<-time.After(100 * time.Millisecond)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := s3.New("s3://Bucket", s3.Options{}); err == nil || !strings.Contains(err.Error(), "valid bucket name") {
		t.Errorf("a name that is not valid: %v", err)
	}
	if _, err := s3.New("s3://bucket", s3.Options{Endpoint: "http://h/path"}); err == nil {
		t.Error("an endpoint with a path is accepted")
	}
}

// TestCredentials: they come from the configuration, a profile or the environment. To have none is an error that
// says what to set.
func TestCredentials(t *testing.T) {
	fake := s3test.Start(t, bucket)
	files := t.TempDir() + "/credentials"
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN",
		"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", files)
	t.Setenv("AWS_CONFIG_FILE", files+".none")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1") // nothing answers
	try := func(o s3.Options) error {
		o.Endpoint = fake.URL
		out, err := s3.New("s3://reports", o)
		if err != nil {
			return err
		}
		defer out.Close()
		return out.Check(t.Context())
	}
	if err := try(s3.Options{}); !errors.Is(err, sink.ErrRefused) || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without credentials: %v", err)
	}
	if err := try(s3.Options{AccessKey: s3test.AccessKey, SecretKey: "other"}); !errors.Is(err, sink.ErrRefused) {
		t.Errorf("with a wrong key: %v", err)
	}
	if err := try(s3.Options{AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey}); err != nil {
		t.Error(err)
	}
	for set, unset := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY": "AWS_ACCESS_KEY_ID",
	} {
		t.Setenv(set, "one")
		if err := try(s3.Options{}); !errors.Is(err, sink.ErrUnfit) || strings.Count(err.Error(), ": set "+unset+", or remove "+set) != 1 {
			t.Errorf("with %s alone: %v", set, err)
		}
		t.Setenv(set, "")
	}
	profile := "[reports]\naws_access_key_id = " + s3test.AccessKey + "\naws_secret_access_key = " + s3test.SecretKey + "\n"
	if err := os.WriteFile(files, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := try(s3.Options{Profile: "reports"}); err != nil {
		t.Error(err)
	}
	if err := try(s3.Options{Profile: "other"}); err == nil {
		t.Error("a profile that does not exist is accepted")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	t.Setenv("AWS_REGION", "eu-central-1")
	if err := try(s3.Options{}); err != nil {
		t.Error(err)
	}
}

// TestRole: an outage of a role is an error that a later request can mend, and no lack of credentials.
func TestRole(t *testing.T) {
	fake := s3test.Start(t, bucket)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN",
		"AWS_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	var status atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status.Load() != http.StatusOK {
			w.WriteHeader(int(status.Load()))
			return
		}
		switch r.URL.Path {
		case "/latest/api/token":
			_, _ = io.WriteString(w, "token")
		case "/latest/meta-data/iam/security-credentials/":
			_, _ = io.WriteString(w, "writer")
		default: // they expire at once
			_, _ = fmt.Fprintf(w, `{"Code": "Success", "AccessKeyId": %q, "SecretAccessKey": %q, "Expiration": %q}`,
				s3test.AccessKey, s3test.SecretKey, time.Now().Format(time.RFC3339))
		}
	}))
	defer service.Close()
	for variable, without := range map[string]int{ // the status of a machine without a role
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": http.StatusNotFound, "AWS_CONTAINER_CREDENTIALS_FULL_URI": 0,
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")
			t.Setenv(variable, service.URL)
			out, err := s3.New("s3://reports", s3.Options{Endpoint: fake.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			try := func(answer int) error {
				status.Store(int64(answer))
				return out.Check(t.Context())
			}
			if without != 0 {
				if err := try(without); !errors.Is(err, sink.ErrRefused) {
					t.Errorf("without a role: %v", err)
				}
			}
			if err := try(http.StatusServiceUnavailable); err == nil || errors.Is(err, sink.ErrRefused) || !strings.Contains(err.Error(), "of the role: 503") {
				t.Errorf("in an outage: %v", err)
			}
			if err := try(http.StatusOK); err != nil {
				t.Error(err)
			}
			if err := try(http.StatusNotFound); err == nil || errors.Is(err, sink.ErrRefused) {
				t.Errorf("in an outage after the role gave credentials: %v", err)
			}
		})
	}
}
