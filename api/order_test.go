package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestOrderLinks: a link is valid for as long as the client says, and a server without pages makes none.
func TestOrderLinks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	answer, text := b.ask("POST", "/order-links", `{"person": "ann"}`)
	var link orderLink
	if err := json.Unmarshal([]byte(text), &link); err != nil || answer.StatusCode != 201 || (time.Until(link.Expires)-time.Hour).Abs() > time.Minute {
		t.Errorf("%d %s %v", answer.StatusCode, text, err)
	}
	o := b.api.o
	o.OrderURL = nil
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Root+"/order-links", strings.NewReader(`{"person": "ann"}`))
	New(o).ServeHTTP(w, r)
	if w.Code != 409 || !strings.Contains(w.Body.String(), "http.link_secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
