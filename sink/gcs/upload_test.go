package gcs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/api/googleapi"

	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/gcs"
)

var (
	small  = "id\n1\n"
	large  = strings.Repeat("0123456789abcdef", 9<<16) // 9 MiB: three chunks
	object = sink.Object{Name: name, ContentType: "text/csv", Metadata: map[string]string{"fanfold-record": "1111"}}
)

func TestUploadSurvives(t *testing.T) {
	t.Parallel()
	// An error that the client does not repeat, so that the sink has to look.
	broken := errors.New("cut in the middle")
	for test, f := range map[string]struct {
		contents, when string
		times          int
		lost           error // of the answer; nil where the answer is 503 and nothing was done
		adopted        bool
	}{
		"503 for a small object":    {small, "single", 2, nil, false},
		"503 at the begin":          {large, "begin", 2, nil, false},
		"503 in the middle":         {large, "middle", 2, nil, false},
		"503 at the end":            {large, "final", 2, nil, false},
		"reset of a small object":   {small, "single", 1, io.ErrUnexpectedEOF, true},
		"reset at the end":          {large, "final", 1, syscall.ECONNRESET, true},
		"answer lost, small object": {small, "single", 1, broken, true},
		"answer lost at the end":    {large, "final", 1, broken, true},
	} {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			fault := status(503)
			if f.lost != nil {
				fault = lost(s, f.lost)
			}
			transport := &faulty{next: s.http.Transport, fault: firstOf(f.times, f.when, fault)}
			got, err := begin(t.Context(), t, s.sink(t, transport), object, f.contents).Commit()
			if err != nil {
				t.Fatal(err)
			}
			if got.Adopted != f.adopted || got.Bytes != int64(len(f.contents)) {
				t.Errorf("Commit = %+v, want adopted %v", got, f.adopted)
			}
			if !bytes.Equal(s.read(t, name), []byte(f.contents)) {
				t.Error("the object has other bytes")
			}
		})
	}
}

// The real service says so when an upload in chunks begins, the fake only at its
// end: either way the bytes that are not sent must be counted.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"begin", "middle", "final"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			if _, err := begin(t.Context(), t, s.sink(t, s.http.Transport), object, large).Commit(); err != nil {
				t.Fatal(err)
			}
			for _, test := range []struct {
				contents string
				want     error
			}{{large, nil}, {large[1:] + "x", sink.ErrConflict}} {
				transport := &faulty{next: s.http.Transport, fault: firstOf(1, when, status(412))}
				w := begin(t.Context(), t, s.sink(t, transport), object, "")
				for rest := test.contents; rest != ""; rest = rest[min(len(rest), 64<<10):] {
					if _, err := io.WriteString(w, rest[:min(len(rest), 64<<10)]); err != nil {
						t.Fatal(err)
					}
				}
				got, err := w.Commit()
				if !errors.Is(err, test.want) || got.Adopted != (test.want == nil) {
					t.Fatalf("Commit = %+v, %v; want %v", got, err, test.want)
				}
				if n := transport.count(when); n != 1 {
					t.Errorf("%d requests of kind %s, want 1", n, when)
				}
			}
			if !bytes.Equal(s.read(t, name), []byte(large)) {
				t.Error("the object was changed")
			}
		})
	}
}

// 412 and nothing there: it was removed meanwhile. Who asks again finds out.
func TestTakenAndGone(t *testing.T) {
	t.Parallel()
	s := newService(t)
	transport := &faulty{next: s.http.Transport, fault: firstOf(1, "single", status(412))}
	_, err := begin(t.Context(), t, s.sink(t, transport), object, small).Commit()
	var answered *googleapi.Error
	if !errors.As(err, &answered) || answered.Code != 412 || errors.Is(err, sink.ErrConflict) {
		t.Fatalf("Commit = %v, want the 412", err)
	}
	if got := s.list(t); len(got) != 0 {
		t.Fatalf("the bucket has %q", got)
	}
}

func TestOtherMetadataConflicts(t *testing.T) {
	t.Parallel()
	s := newService(t)
	out := s.sink(t, s.http.Transport)
	if _, err := begin(t.Context(), t, out, object, small).Commit(); err != nil {
		t.Fatal(err)
	}
	for _, metadata := range []map[string]string{nil, {"fanfold-record": "2222"}, {"fanfold-record": "1111", "more": ""}} {
		other := object
		other.Metadata = metadata
		if _, err := begin(t.Context(), t, out, other, small).Commit(); !errors.Is(err, sink.ErrConflict) {
			t.Errorf("Commit with %v = %v, want ErrConflict", metadata, err)
		}
	}
}

// A refusal in the middle fails the write, and nothing cut off is published.
func TestRefusedUpload(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"begin", "middle", "final"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			transport := &faulty{next: s.http.Transport, fault: firstOf(-1, when, status(403))}
			w, err := s.sink(t, transport).Create(t.Context(), object)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(w.Abort)
			_, written := io.WriteString(w, large)
			_, err = w.Commit()
			var answered *googleapi.Error
			if !errors.As(err, &answered) || answered.Code != 403 {
				t.Fatalf("Commit = %v, want the 403", err)
			}
			if written != nil && !errors.As(written, &answered) {
				t.Fatalf("Write = %v, want the 403", written)
			}
			if n := transport.count("final"); when != "final" && n != 0 {
				t.Errorf("%d final requests after the refusal", n)
			}
			if got := s.list(t); len(got) != 0 {
				t.Fatalf("the bucket has %q", got)
			}
		})
	}
}

// Neither the commit nor the look was answered: the outcome is unknown, and the
// same object again finds out.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := newService(t)
	cut := errors.New("cut")
	blind := func(r *http.Request) (*http.Response, error) {
		if kind(r) == "single" {
			return lost(s, cut)(r)
		}
		return nil, cut
	}
	_, err := begin(t.Context(), t, s.sink(t, &faulty{next: s.http.Transport, fault: blind}), object, small).Commit()
	if !errors.Is(err, cut) || errors.Is(err, sink.ErrConflict) {
		t.Fatalf("Commit = %v, want the cut", err)
	}
	again, err := begin(t.Context(), t, s.sink(t, s.http.Transport), object, small).Commit()
	if err != nil || !again.Adopted {
		t.Fatalf("Commit = %+v, %v; want adopted", again, err)
	}
}

// What the service says it stored is compared with what was sent, and a damaged
// object is removed.
func TestDamagedUpload(t *testing.T) {
	t.Parallel()
	s := newService(t)
	damaged := func(r *http.Request) (*http.Response, error) {
		if kind(r) != "single" {
			return nil, nil
		}
		response, err := s.http.Transport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		var attrs map[string]any
		if err := json.NewDecoder(response.Body).Decode(&attrs); err != nil {
			return nil, err
		}
		attrs["crc32c"] = "AAAAAA=="
		data, err := json.Marshal(attrs)
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		return response, err
	}
	out := s.sink(t, &faulty{next: s.http.Transport, fault: damaged})
	if _, err := begin(t.Context(), t, out, object, small).Commit(); err == nil || !strings.Contains(err.Error(), "other bytes") {
		t.Fatalf("Commit = %v, want an error about other bytes", err)
	}
	if got := s.list(t); len(got) != 0 {
		t.Fatalf("the bucket has %q", got)
	}
}

// An outage lasts until ctx ends, and no longer.
func TestOutageEndsWithContext(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for what, contents := range map[string]string{"single": small, "begin": large, "final": large} {
		ctx, cancel := context.WithCancel(t.Context())
		away := func(r *http.Request) (*http.Response, error) {
			if kind(r) != what {
				return nil, nil
			}
			cancel()
			return answer(r, 503), nil
		}
		w, err := s.sink(t, &faulty{next: s.http.Transport, fault: away}).Create(ctx, object)
		if err != nil {
			t.Fatal(err)
		}
		_, written := io.WriteString(w, contents)
		if _, err := w.Commit(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Write = %v, Commit = %v; want Canceled", what, written, err)
		}
	}
	if got := s.list(t); len(got) != 0 {
		t.Fatalf("the bucket has %q", got)
	}
}

// A service that takes a request and never answers does not hold a call for ever.
func TestStalled(t *testing.T) {
	t.Parallel()
	s := newService(t)
	silent := func(r *http.Request) (*http.Response, error) {
		if kind(r) == http.MethodGet {
			return nil, nil
		}
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	for _, contents := range []string{small, large} {
		out := s.sink(t, &faulty{next: s.http.Transport, fault: silent})
		gcs.SetStall(out, 50*time.Millisecond)
		w, err := out.Create(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		_, written := io.WriteString(w, contents)
		if _, err := w.Commit(); err == nil || !strings.Contains(err.Error(), "no progress") {
			t.Errorf("Write = %v, Commit = %v; want that there is no progress", written, err)
		}
	}
}

func TestCheckRefused(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"single", http.MethodGet, http.MethodDelete} {
		s := newService(t)
		out := s.sink(t, &faulty{next: s.http.Transport, fault: firstOf(-1, what, status(403))})
		err := out.Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), "gs://reports/"+prefix) {
			t.Errorf("Check without %s = %v, want an error that names the place", what, err)
		}
		if got := s.list(t); what != http.MethodDelete && len(got) != 0 {
			t.Errorf("after Check the bucket has %q", got)
		}
	}
}
