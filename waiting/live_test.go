package waiting

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestStreamsOfOneRecord: one link cannot use all streams.
func TestStreamsOfOneRecord(t *testing.T) {
	t.Parallel()
	p := New(Options{Seal: sealer(t, key, "abc234", ours)})
	for range maxStreamsOf {
		if !p.streams.open("1111") {
			t.Fatal("refused too early")
		}
	}
	w := httptest.NewRecorder()
	link := "/r/" + p.o.Seal.Seal(Pass{ID: "1111", Expires: time.Now().Add(time.Hour)}) + "/live"
	p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, link, nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !p.streams.open("2222") {
		t.Error("another record has no stream")
	}
	p.streams.close("1111")
	if !p.streams.open("1111") {
		t.Error("a stream that has ended counts")
	}
	for range maxStreamsOf {
		p.streams.close("1111")
	}
	p.streams.close("2222")
	if len(p.streams.of) > 0 || p.streams.all != 0 {
		t.Errorf("%+v", p.streams.of)
	}
	for i := range maxStreams {
		if !p.streams.open(string(rune('a' + i))) {
			t.Fatal(i)
		}
	}
	if p.streams.open("3333") {
		t.Error("too many streams in all")
	}
}
