package gcs_test

import (
	"bytes"
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

// TestAnswersThatAreLost: the sink looks for the object, also after an error that the client does not repeat.
func TestAnswersThatAreLost(t *testing.T) {
	t.Parallel()
	broken := errors.New("cut in the middle")
	for _, c := range []struct {
		contents, when string
		err            error
	}{
		{small, "single", io.ErrUnexpectedEOF},
		{large, "final", syscall.ECONNRESET},
		{small, "single", broken},
		{large, "final", broken},
	} {
		s := newService(t)
		transport := &faulty{next: s.http.Transport, fault: firstOf(1, c.when, lost(s, c.err))}
		got, err := begin(t.Context(), t, s.sink(t, transport), object, c.contents).Commit()
		if err != nil || !got.Adopted || got.Bytes != int64(len(c.contents)) {
			t.Errorf("%s, %v: Commit = %+v, %v, want adopted", c.when, c.err, got, err)
		}
		if !bytes.Equal(s.read(t, name), []byte(c.contents)) {
			t.Errorf("%s, %v: the object has other bytes", c.when, c.err)
		}
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
