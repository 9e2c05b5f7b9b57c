package dashboard

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
)

// TestErrorsOfServers: only who sees everything learns what a server says.
func TestErrorsOfServers(t *testing.T) {
	t.Parallel()
	d := New(Options{Inspect: &inspect.Inspector{}})
	d.sampler.now.Store(&sample{Number: 7, At: time.Now(), Full: true, Err: errors.New("dial tcp 10.0.0.7:6379")})
	site, err := access.New(report.Site{
		TrustedHeader: report.TrustedHeader{Name: "X-User", Proxies: []string{"192.0.2.1"}},
		Groups: []report.Group{
			{Users: []string{"ann"}, May: []string{report.See}, Own: true}, {Users: []string{"viewer"}, May: []string{report.See}},
		},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, all := range map[string]bool{"ann": false, "viewer": true} {
		r, w := httptest.NewRequestWithContext(t.Context(), "GET", "/reports", nil), httptest.NewRecorder()
		r.Header.Set("X-User", name)
		site.Login("dashboard", d).ServeHTTP(w, r)
		text := w.Body.String()
		if w.Code != 200 || !strings.Contains(text, "Redis or the records do not answer") || strings.Contains(text, "10.0.0.7") != all {
			t.Errorf("%s: %d %s", name, w.Code, text)
		}
	}
}
