package download

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/engine/sink"
)

const name = "weekly/1111-2-k7m2qx.csv"

// files returns a directory sink with one file.
func files(t *testing.T, name, text string) *sink.Dir {
	t.Helper()
	d, err := sink.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, err := d.Create(t.Context(), sink.Object{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return d
}

// serve starts a server of one file, and returns how Serve ended.
func serve(t *testing.T, s sink.Sink, name string) (url string, ended chan error) {
	t.Helper()
	ended = make(chan error, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := Serve(w, r, func(ctx context.Context, _, _ string) (sink.Sink, string, error) {
			if _, limited := ctx.Deadline(); !limited {
				t.Error("the file is looked for without a limit")
			}
			return s, name, nil
		}, "1111", "file")
		if ended <- err; err != nil {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, ended
}

func TestServeStreams(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a,b\r\n", 200_000)
	url, ended := serve(t, files(t, name, text), name)
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || string(got) != text || <-ended != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for header, want := range map[string]string{"Content-Type": "text/csv; charset=utf-8", "Content-Disposition": "attachment; filename=weekly-1111.csv", "Cache-Control": "no-store", "Content-Length": strconv.Itoa(len(text))} {
		if got := answer.Header.Get(header); got != want {
			t.Errorf("%s: %q", header, got)
		}
	}
	head, err := http.Head(url)
	if err != nil || head.StatusCode != http.StatusOK || head.Header.Get("Content-Type") != answer.Header.Get("Content-Type") {
		t.Errorf("%v %v", head, err)
	}
}

// TestServeRefuses: files that no job of the record made are refused, and a missing file has its own error.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	d := files(t, name, "x")
	for name, want := range map[string]error{"weekly/2222-2-k7m2qx.csv": nil, "weekly/1111.txt": nil, "weekly/1111-3-k7m2qx.csv": sink.ErrNoObject} {
		url, ended := serve(t, d, name)
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if err := <-ended; answer.StatusCode != http.StatusBadGateway || err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %d %v", name, answer.StatusCode, err)
		}
	}
}

// bucket is a sink that breaks while it is read.
type bucket struct{ sink.Sink }

func (b bucket) Open(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader("half of it"), breaks{})), nil
}

type breaks struct{}

func (breaks) Read([]byte) (int, error) { return 0, errors.New("away") }

// TestServeNeverCutsSilently: a client sees that a file is incomplete.
func TestServeNeverCutsSilently(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, bucket{}, name)
	answer, err := http.Get(url)
	if err != nil {
		return // before the headers arrived
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("%q is taken for the whole file", text)
	}
}

type signing struct {
	sink.Sink
	until time.Time
}

func (s *signing) SignedURL(_ context.Context, name string, until time.Time) (string, error) {
	s.until = until
	return "https://storage.example/" + name + "?signature=x&y=z", nil
}

func TestServeRedirectsToASignedURL(t *testing.T) {
	t.Parallel()
	s := &signing{}
	w := httptest.NewRecorder()
	find := func(context.Context, string, string) (sink.Sink, string, error) { return s, name, nil }
	if err := Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), find, "1111", "gs://b/"+name); err != nil {
		t.Fatal(err)
	}
	if to := w.Header().Get("Location"); w.Code != http.StatusFound || to != "https://storage.example/"+name+"?signature=x&y=z" || w.Body.Len() > 0 {
		t.Errorf("%d %s %s", w.Code, to, w.Body)
	}
	if left := time.Until(s.until); left <= 0 || left > LinkTime {
		t.Errorf("valid for %s", left)
	}
}

// TestServeOfAFolder: a directory is refused.
func TestServeOfAFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, err := sink.NewDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, name), 0o750); err != nil {
		t.Fatal(err)
	}
	url, ended := serve(t, d, name)
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if err := <-ended; err == nil || answer.StatusCode != http.StatusBadGateway {
		t.Errorf("%d %v", answer.StatusCode, err)
	}
}
