package gcs_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/option"

	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/gcs"
)

const account = "reports@project.iam.gserviceaccount.example"

// accountKey are the credentials of a service account, and the key in them. Its tokens
// come from that server.
func accountKey(t *testing.T, tokens string) ([]byte, *rsa.PrivateKey) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": account, "private_key_id": "1", "token_uri": tokens,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return data, key
}

// TestSignedURL checks the parts of the URL and its signature, and reads by it.
func TestSignedURL(t *testing.T) {
	t.Parallel()
	service := newService(t)
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token": "x", "token_type": "Bearer", "expires_in": 3600}`)
	}))
	t.Cleanup(tokens.Close)
	credentials, key := accountKey(t, tokens.URL)
	s, err := gcs.New(t.Context(), "gs://"+bucket+"/"+prefix,
		option.WithAuthCredentialsJSON(option.ServiceAccount, credentials),
		option.WithEndpoint("http://"+service.Addr+"/storage/v1/"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	before := time.Now()
	if _, err := s.SignedURL(t.Context(), name, before.Add(time.Minute)); !errors.Is(err, sink.ErrNoObject) {
		t.Fatalf("of an object that is not there: %v", err)
	}
	w, err := s.Create(t.Context(), sink.Object{Name: name, ContentType: "text/csv"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write([]byte("k\r\n1\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	text, err := s.SignedURL(t.Context(), name, before.Add(15*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	signed := q.Get("X-Goog-Date")
	at, err := time.Parse("20060102T150405Z", signed)
	if err != nil || at.Before(before.Add(-2*time.Second)) || at.After(time.Now().Add(2*time.Second)) {
		t.Errorf("signed at %q: %v", signed, err)
	}
	scope := signed[:8] + "/auto/storage/goog4_request"
	for field, want := range map[string]string{
		"X-Goog-Algorithm": "GOOG4-RSA-SHA256", "X-Goog-Credential": account + "/" + scope, "X-Goog-SignedHeaders": "host",
	} {
		if got := q.Get(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if lasts, err := time.ParseDuration(q.Get("X-Goog-Expires") + "s"); err != nil || lasts > 15*time.Minute || lasts < 15*time.Minute-5*time.Second {
		t.Errorf("good for %v, %v", lasts, err)
	}
	if u.Path != "/"+bucket+"/"+prefix+"/"+name || u.Host != service.Addr {
		t.Errorf("%s %s", u.Host, u.Path)
	}
	// Signature V4: of the canonical request, whose query has all parameters but the
	// signature itself. The host is without its port.
	signature, err := hex.DecodeString(q.Get("X-Goog-Signature"))
	if err != nil {
		t.Fatal(err)
	}
	q.Del("X-Goog-Signature")
	query := strings.ReplaceAll(q.Encode(), "+", "%20")
	request := strings.Join([]string{"GET", u.EscapedPath(), query, "host:" + u.Hostname(), "", "host", "UNSIGNED-PAYLOAD"}, "\n")
	hash := sha256.Sum256([]byte(request))
	toSign := sha256.Sum256([]byte(strings.Join([]string{"GOOG4-RSA-SHA256", signed, scope, hex.EncodeToString(hash[:])}, "\n")))
	if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, toSign[:], signature); err != nil {
		t.Errorf("the signature of %s: %v", request, err)
	}
	u.Scheme = "http" // which the fake speaks
	answer, err := service.http.Get(u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || string(got) != "k\r\n1\r\n" {
		t.Errorf("%s: %q, %v", answer.Status, got, err)
	}
	// Without a key nobody signs.
	plain := service.sink(t, http.DefaultTransport.(*http.Transport).Clone())
	if _, err := plain.SignedURL(t.Context(), name, before.Add(time.Minute)); !errors.Is(err, gcs.ErrNoSigner) {
		t.Errorf("without credentials: %v", err)
	}
	if _, err := s.SignedURL(t.Context(), "../x", before.Add(time.Minute)); !errors.Is(err, sink.ErrName) {
		t.Errorf("a bad name: %v", err)
	}
}
