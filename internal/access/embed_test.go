package access

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// sharing is a site that the pages of admin.example.com may show in frames, and whose API they may call.
var sharing = report.Site{
	URL: "https://reports.example.com/fanfold", FrameAncestors: []string{"https://admin.example.com"}, CORS: []string{"https://admin.example.com"},
}

// askFrom sends a request that a page has made, or the browser for it, with headers in pairs.
func askFrom(t *testing.T, c report.Site, method, path string, pairs ...string) *httptest.ResponseRecorder {
	t.Helper()
	s, err := New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	r.Host = "reports.example.com"
	for i := 0; i+1 < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	w := httptest.NewRecorder()
	s.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Passed", "yes") })).ServeHTTP(w, r)
	return w
}

// TestFrames: only pages behind links can be shown in a frame, and only by pages of http.frame_ancestors.
func TestFrames(t *testing.T) {
	t.Parallel()
	const listed = "frame-ancestors https://admin.example.com"
	for path, want := range map[string]string{
		"/fanfold/r/TOKEN": listed, "/fanfold/o/TOKEN/reports/x": listed,
		"/fanfold/": "frame-ancestors 'none'", "/fanfold/jobs": "frame-ancestors 'none'", "/fanfold/order": "frame-ancestors 'none'",
		"/fanfold/api/v1/reports": "frame-ancestors 'none'", "/fanfold/jobs/r/": "frame-ancestors 'none'", "/fanfold/reports": "frame-ancestors 'none'",
		"/fanfoldr/": "frame-ancestors 'none'", "/fanfold": "frame-ancestors 'none'",
	} {
		w := askFrom(t, sharing, "GET", path, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe")
		if got := w.Header().Get("Content-Security-Policy"); !strings.HasSuffix(got, want) || strings.Count(got, "frame-ancestors") != 1 {
			t.Errorf("%s: %s", path, got)
		}
		if got := askFrom(t, report.Site{URL: sharing.URL}, "GET", path).Header().Get("Content-Security-Policy"); !strings.HasSuffix(got, "frame-ancestors 'none'") {
			t.Errorf("%s, without frame_ancestors: %s", path, got)
		}
	}
	// Another site cannot send a form of a page behind a link.
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://admin.example.com"}} {
		if w := askFrom(t, sharing, "POST", "/fanfold/o/TOKEN/reports/x", append(header, "Sec-Fetch-Mode", "navigate")...); w.Code != 403 {
			t.Errorf("%v: %d", header, w.Code)
		}
	}
}

// TestEmbedScript: pages of other sites load the script, and nothing else.
func TestEmbedScript(t *testing.T) {
	t.Parallel()
	load := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}
	for path, want := range map[string]int{
		"/fanfold/embed.js": 200, "/fanfold/embed.js/x": 403, "/fanfold/assets/live.js": 403, "/fanfold/o/-/frame.js": 403, "/embed.jsx": 403,
	} {
		w := askFrom(t, sharing, "GET", path, load...)
		if shared := w.Header().Get("Cross-Origin-Resource-Policy") == "cross-origin"; w.Code != want || shared != (want == 200) {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	if w := askFrom(t, report.Site{URL: sharing.URL}, "GET", "/fanfold/embed.js", load...); w.Code != 403 {
		t.Errorf("without frame_ancestors: %d", w.Code)
	}
}

// TestCORS: a page of http.cors calls the API, without cookies; a page of another origin gets nothing.
func TestCORS(t *testing.T) {
	t.Parallel()
	const api, admin = "/fanfold/api/v1/reports/x/jobs", "https://admin.example.com"
	cross := func(origin string, more ...string) []string {
		return append([]string{"Origin", origin, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, more...)
	}
	for name, c := range map[string]struct {
		method, path string
		header       []string
		code         int
		passed       bool
	}{
		"preflight":               {"OPTIONS", api, cross(admin, "Access-Control-Request-Method", "POST"), 204, false},
		"read":                    {"GET", api, cross(admin), 200, true},
		"create":                  {"POST", api, cross(admin, "Content-Type", "application/json; charset=utf-8"), 200, true},
		"create, without JSON":    {"POST", api, cross(admin, "Content-Type", "text/plain"), 403, false},
		"create, without a type":  {"POST", api, cross(admin), 403, false},
		"with a cookie":           {"GET", api, cross(admin, "Cookie", "session=1"), 403, false},
		"create, with a cookie":   {"POST", api, cross(admin, "Cookie", "session=1", "Content-Type", "application/json"), 403, false},
		"the dashboard":           {"POST", "/fanfold/reports/x/run", cross(admin, "Content-Type", "application/json"), 403, false},
		"a page behind a link":    {"GET", "/fanfold/r/TOKEN/file", cross(admin), 403, false},
		"preflight, another site": {"OPTIONS", api, cross("https://evil.example", "Access-Control-Request-Method", "POST"), 403, false},
		"read, another site":      {"GET", api, cross("https://evil.example"), 403, false},
		"create, another site":    {"POST", api, cross("https://evil.example", "Content-Type", "application/json"), 403, false},
		"another scheme":          {"GET", api, cross("http://admin.example.com"), 403, false},
		"another port":            {"GET", api, cross("https://admin.example.com:444"), 403, false},
		"a longer name":           {"GET", api, cross("https://admin.example.com.evil.example"), 403, false},
		"a page without origin":   {"GET", api, cross("null"), 403, false},
	} {
		w := askFrom(t, sharing, c.method, c.path, c.header...)
		h, allowed := w.Header(), ""
		if c.passed || c.code == 204 {
			allowed = admin
		}
		if w.Code != c.code || (h.Get("X-Passed") == "yes") != c.passed || h.Get("Access-Control-Allow-Origin") != allowed || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %v", name, w.Code, h)
		}
		if strings.HasPrefix(c.path, "/fanfold/api/") && h.Get("Vary") != "Origin" {
			t.Errorf("%s: a cache may give the answer to another origin", name)
		}
		if w := askFrom(t, report.Site{URL: sharing.URL}, c.method, c.path, c.header...); w.Header().Get("Access-Control-Allow-Origin") != "" || w.Code != 403 {
			t.Errorf("%s, without cors: %d %v", name, w.Code, w.Header())
		}
	}
	w := askFrom(t, sharing, "OPTIONS", api, cross(admin, "Access-Control-Request-Method", "POST")...)
	if got := w.Header().Get("Access-Control-Allow-Headers"); got != "Authorization, Content-Type, Idempotency-Key" {
		t.Errorf("the headers %s", got)
	}
}
