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

// pageOf returns a page as a user sees it: ann sees only her own records, viewer all, and keeper their rows, too.
func pageOf(t *testing.T, d *Dashboard, user, path string) (code int, text string) {
	t.Helper()
	site, err := access.New(report.Site{
		TrustedHeader: report.TrustedHeader{Name: "X-User", Proxies: []string{"192.0.2.1"}},
		Groups: []report.Group{
			{Users: []string{"ann"}, May: []string{report.See}, Own: true}, {Users: []string{"viewer"}, May: []string{report.See}},
			{Users: []string{"keeper"}, May: []string{report.Download}},
		},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r, w := httptest.NewRequestWithContext(t.Context(), "GET", path, nil), httptest.NewRecorder()
	r.Header.Set("X-User", user)
	site.Login("dashboard", d).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestErrorsOfServers: only who sees everything learns what a server says.
func TestErrorsOfServers(t *testing.T) {
	t.Parallel()
	d := New(Options{Inspect: &inspect.Inspector{}})
	d.sampler.now.Store(&sample{Number: 7, At: time.Now(), Full: true, Err: errors.New("dial tcp 10.0.0.7:6379")})
	for name, all := range map[string]bool{"ann": false, "viewer": true} {
		code, text := pageOf(t, d, name, "/reports")
		if code != 200 || !strings.Contains(text, "Redis or the records do not answer") || strings.Contains(text, "10.0.0.7") != all {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
}

// TestSearchOfRows: quarantined entries have rows, which only who may download all of them can search.
func TestSearchOfRows(t *testing.T) {
	t.Parallel()
	d := New(Options{Inspect: &inspect.Inspector{}})
	entry := inspect.Quarantined{Entry: "17-1", Reason: "too large", Fields: "name=Jane Doe"}
	d.sampler.now.Store(&sample{Number: 7, At: time.Now(), Full: true, Quarantined: []inspect.Quarantined{entry}})
	for name, found := range map[string]bool{"viewer": false, "keeper": true} {
		code, text := pageOf(t, d, name, "/search?q=jane+doe")
		if code != 200 || strings.Contains(text, "17-1") != found {
			t.Errorf("%s: %d %s", name, code, text)
		}
		if _, text := pageOf(t, d, name, "/search?q=too+large"); !strings.Contains(text, "17-1") {
			t.Errorf("%s finds no reason: %s", name, text)
		}
	}
}
