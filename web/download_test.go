package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
)

const name = "weekly/1111-2-k7m2qx.csv"

// folder returns a directory sink with one file.
func folder(t *testing.T, name, text string) *dir.Sink {
	t.Helper()
	d, err := dir.New(t.TempDir())
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

// found is where a file of this name is.
func found(s sink.Sink, name string) File {
	formats := format.Kinds{format.CSV}
	made, _ := files.Parse(name, formats.Endings())
	return File{Sink: s, Name: name, Made: made, ContentType: formats.ContentType(made.Ending)}
}

// serve starts a server of one file, and returns how Serve ended.
func serve(t *testing.T, s sink.Sink, name string) (url string, ended chan error) {
	t.Helper()
	ended = make(chan error, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := Find(func(ctx context.Context, _, _ string) (File, error) {
			if _, limited := ctx.Deadline(); !limited {
				t.Error("the file is looked for without a limit")
			}
			return found(s, name), nil
		}).Serve(w, r, "1111", "file")
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
	url, ended := serve(t, folder(t, name, text), name)
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
	d := folder(t, name, "x")
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
	find := Find(func(context.Context, string, string) (File, error) { return found(s, name), nil })
	if err := find.Serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), "1111", "gs://b/"+name); err != nil {
		t.Fatal(err)
	}
	if to := w.Header().Get("Location"); w.Code != http.StatusFound || to != "https://storage.example/"+name+"?signature=x&y=z" || w.Body.Len() > 0 {
		t.Errorf("%d %s %s", w.Code, to, w.Body)
	}
	if left := time.Until(s.until); left <= 0 || left > LinkTime {
		t.Errorf("valid for %s", left)
	}
}

// logged wraps a handler as the server does, and returns its log.
func logged(t *testing.T, h http.HandlerFunc) (*httptest.Server, *safeLog) {
	t.Helper()
	log := &safeLog{}
	site, err := access.New(report.Site{}, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(site.Links(h))
	t.Cleanup(server.Close)
	return server, log
}

// safeLog is a log that is read while it is written.
type safeLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *safeLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *safeLog) downloads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), "msg=download user=link")
}

// TestSignedURLsAreLogged: who receives a signed URL can download the file, whatever the method of the request.
func TestSignedURLsAreLogged(t *testing.T) {
	t.Parallel()
	find := Find(func(context.Context, string, string) (File, error) { return found(&signing{}, name), nil })
	server, log := logged(t, func(w http.ResponseWriter, r *http.Request) {
		if err := find.Serve(w, r, "1111", "gs://b/"+name); err != nil {
			t.Error(err)
		}
	})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for i, method := range []string{http.MethodGet, http.MethodHead} {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.Header.Get("Location") == "" || log.downloads() != i+1 {
			t.Errorf("%s: %s, %d lines of a download after %d URLs", method, answer.Status, log.downloads(), i+1)
		}
	}
}

// endless is a sink whose files are sent until the test ends.
type endless struct {
	sink.Sink
	end <-chan struct{}
}

func (e endless) Open(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader(strings.Repeat("x", chunk)), blocks(e.end))), nil
}

type blocks <-chan struct{}

func (b blocks) Read([]byte) (int, error) {
	<-b
	return 0, io.EOF
}

// TestDownloadsAreLoggedAtTheirStart: a process that is killed during a transfer has logged it already. A HEAD
// hands out nothing of the file.
func TestDownloadsAreLoggedAtTheirStart(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	find := Find(func(context.Context, string, string) (File, error) { return found(endless{end: end}, name), nil })
	server, log := logged(t, func(w http.ResponseWriter, r *http.Request) {
		if err := find.Serve(w, r, "1111", "file"); err != nil {
			t.Error(err)
		}
	})
	defer close(end)
	for method, lines := range map[string]int{http.MethodHead: 0, http.MethodGet: 1} {
		before := log.downloads()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if n := log.downloads() - before; n != lines {
			t.Errorf("%s: %d lines when the answer begins", method, n)
		}
	}
}

// TestServeOfAFolder: a directory is refused.
func TestServeOfAFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d, err := dir.New(root)
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

// TestServeNamesTheFile: a browser saves the file under the name in its manifest.
func TestServeNamesTheFile(t *testing.T) {
	t.Parallel()
	d := folder(t, name, "a,b\r\n")
	if err := sink.WriteManifest(t.Context(), d, name, sink.Manifest{SaveAs: "Bücher 2024.csv"}); err != nil {
		t.Fatal(err)
	}
	url, _ := serve(t, d, name)
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	want := "attachment; filename*=utf-8''B%C3%BCcher%202024.csv"
	if got := answer.Header.Get("Content-Disposition"); got != want {
		t.Errorf("Content-Disposition %q, want %q", got, want)
	}
}

// get sends a request with headers in pairs, and returns the status, the headers and the body.
func get(t *testing.T, method, url string, pairs ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// TestServeRanges: a client can ask for the size alone, and for the rest of the file.
func TestServeRanges(t *testing.T) {
	t.Parallel()
	text := "id,name\r\n1,a\r\n2,b\r\n"
	url, _ := serve(t, folder(t, name, text), name)
	head, none := get(t, http.MethodHead, url)
	tag := head.Header.Get("ETag")
	if none != "" || head.ContentLength != int64(len(text)) || head.Header.Get("Accept-Ranges") != "bytes" || tag == "" {
		t.Errorf("HEAD: %q, %v", none, head.Header)
	}
	other := strings.Replace(tag, "1111-2", "1111-3", 1)
	for what, c := range map[string]struct {
		headers []string
		status  int
		text    string
	}{
		"all":              {nil, 200, text},
		"the rest":         {[]string{"Range", "bytes=9-"}, 206, text[9:]},
		"the end":          {[]string{"Range", "bytes=-5"}, 206, text[len(text)-5:]},
		"the same file":    {[]string{"Range", "bytes=9-12", "If-Range", tag}, 206, text[9:13]},
		"of another file":  {[]string{"Range", "bytes=9-12", "If-Range", other}, 200, text},
		"beyond the end":   {[]string{"Range", "bytes=100-"}, 416, "invalid range: failed to overlap\n"},
		"not changed":      {[]string{"If-None-Match", tag}, 304, ""},
		"another expected": {[]string{"If-Match", other}, 412, ""},
	} {
		answer, got := get(t, http.MethodGet, url, c.headers...)
		if answer.StatusCode != c.status || got != c.text || answer.Header.Get("ETag") != tag && c.status != 416 {
			t.Errorf("%s: %s %q, ETag %s; want %d %q", what, answer.Status, got, answer.Header.Get("ETag"), c.status, c.text)
		}
	}
	answer, got := get(t, http.MethodGet, url, "Range", "bytes=0-1,9-11")
	if answer.StatusCode != http.StatusPartialContent || !strings.Contains(got, "\r\n\r\nid\r\n") || !strings.Contains(got, "\r\n\r\n1,a\r\n") {
		t.Errorf("two parts: %s %q", answer.Status, got)
	}
}

// TestServeResumes: a transfer that breaks is continued with the same bytes, as curl -C - and browsers do.
func TestServeResumes(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcde\n", 1<<18) // 4 MiB: more than buffers take
	url, _ := serve(t, folder(t, name, text), name)
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	first, err := io.ReadAll(io.LimitReader(answer.Body, 1_000_003))
	answer.Body.Close() // the connection breaks
	if err != nil {
		t.Fatal(err)
	}
	rest, got := get(t, http.MethodGet, url, "Range", "bytes="+strconv.Itoa(len(first))+"-", "If-Range", answer.Header.Get("ETag"))
	if rest.StatusCode != http.StatusPartialContent || string(first)+got != text {
		t.Errorf("%s, %d and %d bytes", rest.Status, len(first), len(got))
	}
}

// halfSink is a directory whose disk fails in the middle of a file.
type halfSink struct{ sink.Sink }

func (s halfSink) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	in, err := s.Sink.Open(ctx, name)
	return &half{ReadCloser: in, Seeker: in.(io.Seeker)}, err
}

type half struct {
	io.ReadCloser
	io.Seeker
	read int
}

func (h *half) Read(p []byte) (int, error) {
	if h.read >= chunk {
		return 0, errors.New("input/output error")
	}
	n, err := h.ReadCloser.Read(p)
	h.read += n
	return n, err
}

// TestServeAbortsAtAnError: a part that cannot be read to its end is no whole part.
func TestServeAbortsAtAnError(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, halfSink{folder(t, name, strings.Repeat("x", 3*chunk))}, name)
	for _, parts := range []string{"bytes=0-", "bytes=0-9,20-"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Range", parts)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			continue // before the headers arrived
		}
		if n, err := io.Copy(io.Discard, answer.Body); err == nil {
			t.Errorf("%s: %d bytes are taken for the whole part", parts, n)
		}
		answer.Body.Close()
	}
}
