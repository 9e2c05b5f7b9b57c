package sinktest

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// Stored is what a store keeps of an object beside its bytes.
type Stored struct {
	ContentType string
	Disposition string            // Content-Disposition
	Metadata    map[string]string // with names in lower case
}

// bucketURLs checks how the URLs of a kind of buckets are read.
func bucketURLs(t *testing.T, kind sink.Kind) {
	for rest, want := range map[string]string{
		"bucket":                "bucket",
		"bucket/":               "bucket",
		"bucket/reports":        "bucket/reports",
		"bucket/reports/2024//": "bucket/reports/2024",
		"bucket/a b%20c=d":      "bucket/a b%20c=d",
	} {
		want := report.SinkURL(kind.Scheme + "://" + want)
		if got, wrong := kind.Parse(kind.Scheme + "://" + rest); wrong != "" || got != want {
			t.Errorf("Parse(%q) = %q, %s; want %q", rest, got, wrong, want)
		}
	}
	for rest, reason := range map[string]string{
		"":               "not a " + kind.Scheme + "://",
		":bucket":        "not a " + kind.Scheme + "://",
		"x://bucket":     "not a " + kind.Scheme + "://",
		"://":            "the bucket is missing",
		":///x":          "the bucket is missing",
		"://x":           "valid bucket name",
		"://Bucket":      "valid bucket name",
		"://bucket/a//b": "a segment of the prefix",
		"://bucket/../x": "a segment of the prefix",
		"://bucket//x":   "a segment of the prefix",
		"://bucket/x?y":  "not allowed",
		"://bucket/x\ny": "not allowed",
	} {
		if got, wrong := kind.Parse(kind.Scheme + rest); !strings.Contains(wrong, reason) {
			t.Errorf("Parse(%q) = %q, %q; want %q", kind.Scheme+rest, got, wrong, reason)
		}
	}
}

// keepsMetadata: an object keeps its type, its metadata and the name under which browsers save it, and is not adopted
// with other metadata.
func keepsMetadata(t *testing.T, p Place) {
	o := object(name)
	o.SaveAs = "Bücher 1.csv"
	commitAs := func(o sink.Object, contents string) error {
		w, err := p.Sink.Create(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Abort()
		if _, err := io.WriteString(w, contents); err != nil {
			t.Fatal(err)
		}
		_, err = w.Commit()
		return err
	}
	for _, contents := range sizes() {
		if err := commitAs(o, contents); err != nil {
			t.Fatal(err)
		}
		got := p.Stored(t, name)
		if got.ContentType != o.ContentType || !maps.Equal(got.Metadata, o.Metadata) {
			t.Errorf("it has type %q and metadata %v", got.ContentType, got.Metadata)
		}
		if want := "attachment; filename*=utf-8''B%C3%BCcher%201.csv"; got.Disposition != want {
			t.Errorf("it has the Content-Disposition %q, want %q", got.Disposition, want)
		}
		for _, metadata := range []map[string]string{
			nil, {"fanfold-record": "2222", "fanfold-attempt": "1"},
			{"fanfold-record": "1111", "fanfold-attempt": "1", "more": "x"},
		} {
			other := o
			other.Metadata = metadata
			err := commitAs(other, contents)
			if !errors.Is(err, sink.ErrConflict) || !strings.Contains(err.Error(), "record 1111") {
				t.Errorf("Commit with %v = %v, want ErrConflict", metadata, err)
			}
		}
		remove(t, p, name)
	}
}

// damagedRead: bytes that changed on their way end in an error that names the object.
func damagedRead(t *testing.T, p Place) {
	for size, contents := range sizes() {
		put(t, p, name, contents)
		p.Network.Set(func(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err == nil && len(text) > 0 {
				text[len(text)/2] ^= 1
			}
			response.Body = io.NopCloser(bytes.NewReader(text))
			return response, err
		})
		in, err := p.Sink.Open(t.Context(), name)
		if err == nil {
			_, err = io.Copy(io.Discard, in)
			err = errors.Join(err, in.Close())
		}
		if err == nil || !strings.Contains(err.Error(), p.Sink.URL(name)) {
			t.Errorf("%s: %v, want an error that names the object", size, err)
		}
		p.Network.Set(nil)
		remove(t, p, name)
	}
}

// refusedAtEachRequest: a refusal fails the write, and nothing is left.
func refusedAtEachRequest(t *testing.T, p Place) {
	eachRequest(t, p, func(t *testing.T, k int, contents string) (made bool) {
		p.Network.Set(func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if n == k {
				made = true
				return answer(r, http.StatusForbidden)
			}
			return next.RoundTrip(r)
		})
		if _, err := write(t.Context(), p, name, contents); errors.Is(err, sink.ErrRefused) != made {
			t.Errorf("Commit = %v, refused: %v", err, made)
		}
		p.Network.Set(nil)
		if made {
			wantList(t, p)
		} else {
			remove(t, p, name)
		}
		return made
	})
}
