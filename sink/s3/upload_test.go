package s3_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/s3"
	"github.com/fanfold/fanfold/sink/s3/s3test"
	"github.com/fanfold/fanfold/sink/sinktest"
)

var (
	small  = "id\n1\n"
	large  = strings.Repeat("0123456789abcdef", 12<<16) // 12 MiB: three parts
	object = sink.Object{Name: name, ContentType: "text/csv", Metadata: map[string]string{"fanfold-record": "1111"}}
)

// kind names a request.
func kind(r *http.Request) string {
	switch query := r.URL.Query(); {
	case r.Method == http.MethodPost && query.Has("uploads"):
		return "begin"
	case r.Method == http.MethodPost:
		return "complete"
	case r.Method == http.MethodPut && query.Has("uploadId"):
		return "part"
	case r.Method == http.MethodDelete && query.Has("uploadId"):
		return "abort"
	case query.Has("uploads"):
		return "uploads"
	}
	return r.Method
}

// failure is an answer of the store.
func failure(r *http.Request, status int) *http.Response {
	r.Body = nil
	return &http.Response{
		StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}

// commit writes an object.
func commit(t *testing.T, out sink.Sink, o sink.Object, contents string) (sink.Committed, error) {
	t.Helper()
	return begin(t.Context(), t, out, o, contents).Commit()
}

// TestLostAnswers: whichever answer is lost, the object is there once, and whole.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		contents string
		adopted  bool
	}{"PUT": {small, true}, "begin": {large, false}, "part": {large, false}, "complete": {large, true}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			out, network := s.open(t)
			lost := false
			network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
				response, err := next.RoundTrip(r)
				if err != nil || lost || kind(r) != what {
					return response, err
				}
				lost = true
				response.Body.Close()
				return nil, io.ErrUnexpectedEOF
			})
			got, err := commit(t, out, object, test.contents)
			if err != nil || got.Adopted != test.adopted || !lost {
				t.Errorf("Commit = %+v, %v, want adopted: %v", got, err, test.adopted)
			}
			if string(s.read(t, name)) != test.contents {
				t.Error("the object has other bytes")
			}
		})
	}
}

// TestAConflictThatEnds: another write of that name is under way (409), and its object appears a moment later.
func TestAConflictThatEnds(t *testing.T) {
	t.Parallel()
	for _, contents := range []string{small, large} {
		s := newStore(t)
		out, network := s.open(t)
		refusals := 0
		network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			switch what := kind(r); {
			case refusals == 0 && (what == http.MethodPut || what == "complete"):
				refusals++
				return failure(r, http.StatusConflict), nil
			case refusals == 1 && what == http.MethodHead:
				response, err := next.RoundTrip(r) // it is not there yet
				refusals++
				if _, failed := commit(t, out, object, contents); failed != nil {
					t.Error(failed)
				}
				return response, err
			}
			return next.RoundTrip(r)
		})
		if got, err := commit(t, out, object, contents); err != nil || !got.Adopted {
			t.Errorf("Commit = %+v, %v, want adopted", got, err)
		}
		if got := s.list(t); !slices.Equal(got, []string{name}) {
			t.Errorf("the bucket has %q", got)
		}
	}
}

// TestAConflictWithNothing: the outcome is unknown, and the same write again finds out.
func TestAConflictWithNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	out, network := s.open(t)
	network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if kind(r) == http.MethodPut {
			return failure(r, http.StatusConflict), nil
		}
		return next.RoundTrip(r)
	})
	if _, err := commit(t, out, object, small); err == nil || errors.Is(err, sink.ErrConflict) || errors.Is(err, sink.ErrRefused) {
		t.Errorf("Commit = %v", err)
	}
	network.Set(nil)
	if got, err := commit(t, out, object, small); err != nil || got.Adopted {
		t.Errorf("Commit = %+v, %v", got, err)
	}
}

// TestConflictsAnswered409: Amazon S3 answers 409 or 412.
func TestConflictsAnswered409(t *testing.T) {
	t.Parallel()
	fake := s3test.Start(t, bucket)
	fake.AnswersConflict409 = true
	out, _ := fakeStore(t, fake).open(t)
	for _, contents := range []string{small, large} {
		for _, adopted := range []bool{false, true} {
			if got, err := commit(t, out, object, contents); err != nil || got.Adopted != adopted {
				t.Errorf("Commit = %+v, %v, want adopted: %v", got, err, adopted)
			}
		}
		if _, err := commit(t, out, object, "x"+contents[1:]); !errors.Is(err, sink.ErrConflict) {
			t.Errorf("Commit = %v, want ErrConflict", err)
		}
		if err := out.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAStoreThatIgnoresTheCondition is refused, and then nothing is written there.
func TestAStoreThatIgnoresTheCondition(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"PutObject", "CompleteMultipartUpload"} {
		fake := s3test.Start(t, bucket)
		fake.IgnoresOnPut, fake.IgnoresOnComplete = request == "PutObject", request == "CompleteMultipartUpload"
		out, _ := fakeStore(t, fake).open(t)
		err := out.Check(t.Context())
		for _, want := range []string{"If-None-Match", request + ",", "s3://reports/" + prefix, "use a version or a store"} {
			if !errors.Is(err, sink.ErrRefused) || !strings.Contains(err.Error(), want) {
				t.Errorf("Check = %v, want %s", err, want)
			}
		}
		if _, err := out.Create(t.Context(), object); !errors.Is(err, sink.ErrRefused) {
			t.Errorf("Create = %v, want ErrRefused", err)
		}
		if got := fake.Names(); len(got) != 0 {
			t.Errorf("the bucket has %q", got)
		}
		fake.IgnoresOnPut, fake.IgnoresOnComplete = false, false
		if err := out.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := commit(t, out, object, small); err != nil {
			t.Error(err)
		}
	}
}

// TestCreateProvesTheCondition before the first file, if the store was away when Check ran.
func TestCreateProvesTheCondition(t *testing.T) {
	t.Parallel()
	for _, ignores := range []bool{true, false} {
		fake := s3test.Start(t, bucket)
		fake.IgnoresOnComplete = ignores
		of := fakeStore(t, fake)
		network, requests := &sinktest.Network{}, 0
		away := func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			return failure(r, http.StatusTeapot), nil
		}
		out, err := s3.OpenWith("s3://"+report.SinkURL(bucket)+"/"+prefix, of.options, func(t *http.Transport) http.RoundTripper {
			network.Next = t
			return network
		})
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		network.Set(away)
		if err := out.Check(t.Context()); err == nil || errors.Is(err, sink.ErrRefused) {
			t.Errorf("Check = %v, want an outage", err)
		}
		if _, err := out.Create(t.Context(), object); err == nil || errors.Is(err, sink.ErrRefused) {
			t.Errorf("Create = %v, want an outage", err)
		}
		network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			requests++
			return next.RoundTrip(r)
		})
		for first := range 2 {
			requests = 0
			w, err := out.Create(t.Context(), object)
			if ignores != errors.Is(err, sink.ErrUnfit) || !ignores && err != nil {
				t.Errorf("Create = %v", err)
			}
			if (first == 0) != (requests > 0) {
				t.Errorf("Create %d makes %d requests", first, requests)
			}
			if err == nil {
				w.Abort()
			}
		}
		if got := fake.Names(); len(got) != 0 {
			t.Errorf("the bucket has %q", got)
		}
	}
}

// TestAStoreWithoutChecksums: what exists is read to compare it.
func TestAStoreWithoutChecksums(t *testing.T) {
	t.Parallel()
	fake := s3test.Start(t, bucket)
	fake.KeepsNoChecksum = true
	s := fakeStore(t, fake)
	out, network := s.open(t)
	for _, contents := range []string{small, large} {
		for _, adopted := range []bool{false, true} {
			if got, err := commit(t, out, object, contents); err != nil || got.Adopted != adopted {
				t.Errorf("Commit = %+v, %v, want adopted: %v", got, err, adopted)
			}
		}
		if _, err := commit(t, out, object, contents[:len(contents)-1]+"x"); !errors.Is(err, sink.ErrConflict) {
			t.Errorf("Commit = %v, want ErrConflict", err)
		}
		network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return nil, errors.New("cut")
			}
			return next.RoundTrip(r)
		})
		// Unknown is neither.
		ctx := t.Context()
		if _, err := begin(ctx, t, out, object, contents).Commit(); err == nil || errors.Is(err, sink.ErrConflict) {
			t.Errorf("Commit = %v, want that the object cannot be read", err)
		}
		network.Set(nil)
		if err := out.Remove(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTooManyParts: the error names the limit and the remedy, and nothing stays.
func TestTooManyParts(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	out, _ := s.open(t)
	s3.SetMaxParts(out, 2)
	if _, err := commit(t, out, object, large[:2*part]); err != nil {
		t.Fatal(err)
	}
	if err := out.Remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	w, err := out.Create(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, large); !errors.Is(err, sink.ErrTooLarge) {
		t.Error(err)
	}
	_, err = w.Commit()
	for _, want := range []string{"10485760 bytes", "part_size", "file.max_bytes"} {
		if !errors.Is(err, sink.ErrTooLarge) || errors.Is(err, sink.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("Commit = %v, want %s", err, want)
		}
	}
	if got := s.list(t); len(got) != 0 {
		t.Errorf("the bucket has %q", got)
	}
}

// TestStalled: a store that takes a request and never answers does not hold a call for ever.
func TestStalled(t *testing.T) {
	t.Parallel()
	for what, contents := range map[string]string{"PUT": small, "begin": large, "part": large, "complete": large} {
		s := newStore(t)
		out, network := s.open(t)
		s3.SetStall(out, time.Second)
		network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if kind(r) == what {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return next.RoundTrip(r)
		})
		w, err := out.Create(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		_, written := io.WriteString(w, contents)
		if _, err := w.Commit(); err == nil || !strings.Contains(err.Error(), "no progress") {
			t.Errorf("%s: Write = %v, Commit = %v; want that there is no progress", what, written, err)
		}
		if got := s.list(t); len(got) != 0 {
			t.Errorf("%s: the bucket has %q", what, got)
		}
	}
}

// slowBody gives up to 32 KiB of a body every 10 ms.
type slowBody struct{ io.ReadCloser }

func (b slowBody) Read(p []byte) (int, error) {
	<-time.After(10 * time.Millisecond)
	return b.ReadCloser.Read(p[:min(len(p), 32<<10)])
}

// TestSlowButNotStalled: a request may take as long as it likes while it sends its body.
func TestSlowButNotStalled(t *testing.T) {
	t.Parallel()
	for what, contents := range map[string]string{"PUT": large[:part], "part": large[:part+1]} {
		s := newStore(t)
		out, network := s.open(t)
		s3.SetStall(out, 600*time.Millisecond)
		var took time.Duration
		network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if kind(r) == what && r.ContentLength == part {
				defer func(start time.Time) { took = time.Since(start) }(time.Now())
				r.Body = slowBody{r.Body}
			}
			return next.RoundTrip(r)
		})
		if _, err := commit(t, out, object, contents); err != nil || took < 900*time.Millisecond {
			t.Errorf("%s: %v after %v", what, err, took)
		}
	}
}

// TestCheckRefused: an error of Check names the place.
func TestCheckRefused(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"PUT", "HEAD", "GET", "begin", "part", "complete", "abort", "uploads", "DELETE"} {
		s := newStore(t)
		out, network := s.open(t)
		network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if kind(r) == what {
				return failure(r, http.StatusForbidden), nil
			}
			return next.RoundTrip(r)
		})
		err := out.Check(t.Context())
		if what != "abort" && (!errors.Is(err, sink.ErrRefused) || !strings.Contains(err.Error(), "s3://"+s.bucket+"/"+prefix)) {
			t.Errorf("Check without %s = %v, want an error that names the place", what, err)
		}
	}
}

// TestUploadsOfSeveralPages: all uploads that did not end are listed, and removed one by one.
func TestUploadsOfSeveralPages(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	place := s.place(t)
	var left []string
	for range 2*page + 1 {
		begin(t.Context(), t, place.Sink, object, large)
	}
	for f, err := range place.Sink.List(t.Context(), "withdrawals/1111-") {
		if err != nil || f.Object != name || f.Name == f.Object {
			t.Fatal(f, err)
		}
		left = append(left, f.Name)
	}
	if len(left) != 2*page+1 {
		t.Fatalf("List gives %q", left)
	}
	if err := place.Sink.Remove(t.Context(), left[0]); err != nil {
		t.Fatal(err)
	}
	if got := s.list(t); len(got) != 2*page {
		t.Errorf("after Remove of one the bucket has %q", got)
	}
	if err := place.Sink.Remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if got := s.list(t); len(got) != 0 {
		t.Errorf("after Remove the bucket has %q", got)
	}
}
