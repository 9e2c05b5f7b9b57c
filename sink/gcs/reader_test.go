package gcs_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/sink/gcs"
)

// TestOpen: a download that is forbidden or stalls ends in an error that names the object.
func TestOpen(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if _, err := begin(t.Context(), t, s.sink(t, s.http.Transport), object, large).Commit(); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		fault func(*http.Request) (*http.Response, error)
		want  string
	}{
		"forbidden": {firstOf(-1, http.MethodGet, status(403)), "403"},
		"silent": {func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, "no progress"},
		"cut": {func(r *http.Request) (*http.Response, error) {
			response, err := s.http.Transport.RoundTrip(r)
			if err == nil {
				half, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
				response.Body.Close()
				response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(half), waits{r}))
			}
			return response, err
		}, "no progress"},
	} {
		out := s.sink(t, &faulty{next: s.http.Transport, fault: c.fault})
		gcs.SetStall(out, 2*time.Second)
		if what == "silent" {
			gcs.SetStall(out, 50*time.Millisecond)
		}
		r, err := out.Open(t.Context(), name)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			err = errors.Join(err, r.Close())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), out.URL(name)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// waits is a body that has no more bytes, and does not end before its request does.
type waits struct{ r *http.Request }

func (w waits) Read([]byte) (int, error) {
	<-w.r.Context().Done()
	return 0, w.r.Context().Err()
}
