package waiting

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
)

// TestStreamsOfOneRecord: one link cannot use all streams.
func TestStreamsOfOneRecord(t *testing.T) {
	t.Parallel()
	p := New(Options{Seal: sealer(t, key, "abc234", ours), Inspect: &inspect.Inspector{}})
	for range maxStreamsOf {
		if !p.streams.Open("1111") {
			t.Fatal("refused too early")
		}
	}
	w := httptest.NewRecorder()
	link := "/r/" + p.o.Seal.Seal(Pass{ID: "1111", Expires: time.Now().Add(time.Hour)}) + "/live"
	p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, link, nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
