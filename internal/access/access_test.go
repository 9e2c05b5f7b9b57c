package access

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/fanfold/fanfold/report"
)

func TestLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1:1": true, "127.0.0.1": true, "[::1]:1": true, "[::1]": true, "::1": true, "[::ffff:127.0.0.1]:1": true,
		"0.0.0.0:1": false, "[::]:1": false, "192.0.2.1:1": false, "": false, "localhost:1": false,
	} {
		if Loopback(address) != want {
			t.Errorf("%q: %v", address, !want)
		}
	}
}

func hash(t *testing.T, password string) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(h)
}

// ask sends a request to a site, as from an address to one of this machine.
func ask(t *testing.T, h http.Handler, method, host string, set func(r *http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 80}))
	r := httptest.NewRequestWithContext(ctx, method, "/fanfold/x", nil)
	r.Host, r.RemoteAddr = host, "10.1.1.1:999"
	if set != nil {
		set(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// operated lets oncall do everything, and others see and download.
var operated = []report.Group{{Users: []string{"oncall"}, May: report.Rights}, {Users: []string{"*"}, May: []string{report.See, report.Download}}}

func site(t *testing.T, c report.Site, log *slog.Logger) http.Handler {
	t.Helper()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s, err := New(c, log)
	if err != nil {
		t.Fatal(err)
	}
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Note(r.Context(), "thing", 7)
		w.Header().Set("X-Who", Of(r.Context()).Name)
		w.Header().Set("X-Path", r.URL.Path)
		if Of(r.Context()).Operator() {
			w.Header().Set("X-Operator", "yes")
		}
	})
	return s.Guard(s.Below(s.Login("test", inner)))
}

// TestNames: requests for a foreign name that leads to this machine are refused.
func TestNames(t *testing.T) {
	t.Parallel()
	h := site(t, report.Site{URL: "https://reports.example.com:8443/fanfold"}, nil)
	for host, want := range map[string]int{
		"reports.example.com": 200, "reports.example.com:8443": 200, "REPORTS.example.com": 200, "localhost": 200, "localhost:80": 200, "10.0.0.5:80": 200, "10.0.0.5": 200,
		"": 421, "evil.example": 421, "reports.example.com.evil.example": 421, "10.0.0.6": 421, "127.0.0.1": 421, "[::1]:80": 421,
	} {
		if w := ask(t, h, "GET", host, nil); w.Code != want {
			t.Errorf("%q: %d", host, w.Code)
		}
	}
}

// TestOtherSites: pages of other sites can change and read nothing.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	h := site(t, report.Site{URL: "https://reports.example.com/fanfold"}, nil)
	for _, c := range []struct {
		method string
		header http.Header
		want   int
	}{
		{"POST", nil, 200}, // no browser
		{"POST", http.Header{"Sec-Fetch-Site": {"same-origin"}}, 200},
		{"POST", http.Header{"Sec-Fetch-Site": {"none"}}, 200},
		{"POST", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"POST", http.Header{"Sec-Fetch-Site": {"same-site"}}, 403},
		{"POST", http.Header{"Origin": {"https://evil.example"}}, 403},
		{"POST", http.Header{"Origin": {"null"}}, 403},
		{"POST", http.Header{"Origin": {"https://reports.example.com"}}, 200},
		{"GET", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}}, 200},
		{"GET", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"}}, 403},
	} {
		w := ask(t, h, c.method, "reports.example.com", func(r *http.Request) {
			for name, values := range c.header {
				r.Header[name] = values
			}
		})
		if w.Code != c.want {
			t.Errorf("%+v: %d", c, w.Code)
		}
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%+v: %v", c, w.Header())
		}
	}
}

// TestRoles: who may read, and who may make changes.
func TestRoles(t *testing.T) {
	t.Parallel()
	users := report.Secret("# staff\n\noncall:" + hash(t, "secret") + "\nreader:" + hash(t, "other") + "\n")
	proxied := report.TrustedHeader{Name: "X-Forwarded-User", Proxies: []string{"10.1.1.0/24"}}
	basic := func(name, password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(name, password) }
	}
	says := func(from string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.RemoteAddr, r.Header["X-Forwarded-User"] = from, values }
	}
	login := report.Site{Users: users, Groups: operated}
	proxy := report.Site{TrustedHeader: proxied, Groups: operated}
	both := report.Site{Users: users, TrustedHeader: proxied, Groups: operated}
	for name, c := range map[string]struct {
		site      report.Site
		set       func(*http.Request)
		get, post int
		who       string
	}{
		"no login":             {report.Site{}, nil, 200, 200, ""},
		"read only":            {report.Site{ReadOnly: true}, nil, 200, 403, ""},
		"no user":              {login, nil, 401, 401, ""},
		"operator":             {login, basic("oncall", "secret"), 200, 200, "oncall"},
		"operator, read only":  {report.Site{Users: users, Groups: operated, ReadOnly: true}, basic("oncall", "secret"), 200, 403, "oncall"},
		"viewer":               {login, basic("reader", "other"), 200, 403, "reader"},
		"wrong password":       {login, basic("oncall", "other"), 401, 401, ""},
		"no password":          {login, basic("oncall", ""), 401, 401, ""},
		"unknown":              {login, basic("stranger", "secret"), 401, 401, ""},
		"forged header":        {login, says("10.1.1.1:1", "oncall"), 401, 401, ""},
		"proxy":                {proxy, says("10.1.1.9:1", "oncall"), 200, 200, "oncall"},
		"proxy, viewer":        {proxy, says("10.1.1.9:1", "someone"), 200, 403, "someone"},
		"not the proxy":        {proxy, says("10.1.2.9:1", "oncall"), 401, 401, ""},
		"proxy, mapped":        {proxy, says("[::ffff:10.1.1.9]:1", "oncall"), 200, 200, "oncall"},
		"proxy says nothing":   {proxy, says("10.1.1.9:1"), 401, 401, ""},
		"proxy says two":       {proxy, says("10.1.1.9:1", "someone", "oncall"), 401, 401, ""},
		"proxy says no name":   {proxy, says("10.1.1.9:1", "a\x1b[2Jb"), 401, 401, ""},
		"proxy and users":      {both, basic("oncall", "secret"), 200, 200, "oncall"},
		"users, another proxy": {both, says("10.1.2.9:1", "oncall"), 401, 401, ""},
	} {
		h := site(t, c.site, nil)
		for range 2 { // the second time the password is remembered
			for method, want := range map[string]int{"GET": c.get, "POST": c.post, "DELETE": c.post} {
				w := ask(t, h, method, "localhost", c.set)
				if w.Code != want || want == 200 && w.Header().Get("X-Who") != c.who || want == 200 && (w.Header().Get("X-Operator") == "yes") != (c.post == 200) {
					t.Errorf("%s: %s: %d %v", name, method, w.Code, w.Header())
				}
				if challenge := w.Header().Get("WWW-Authenticate"); (challenge != "") != (w.Code == 401 && c.site.Users != "") {
					t.Errorf("%s: %s: challenge %q", name, method, challenge)
				}
			}
		}
	}
}

// TestAudit: every change is one line in the log, made or refused, and no foreign text breaks the line.
func TestAudit(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, nil))
	h := site(t, report.Site{Users: report.Secret("oncall:" + hash(t, "secret") + "\nreader:" + hash(t, "other")), Groups: operated, URL: "http://x/fanfold"}, log)
	ask(t, h, "GET", "x", func(r *http.Request) { r.SetBasicAuth("oncall", "secret") })
	if out.String() != "" {
		t.Errorf("a line for what changes nothing: %s", out.String())
	}
	w := ask(t, h, "POST", "x", func(r *http.Request) { r.SetBasicAuth("oncall", "secret") })
	if w.Header().Get("X-Path") != "/x" {
		t.Errorf("%v", w.Header())
	}
	ask(t, h, "POST", "x", func(r *http.Request) { r.SetBasicAuth("reader", "other"); r.URL.Path = "/fanfold/x\ny" })
	ask(t, h, "POST", "x", func(r *http.Request) { r.SetBasicAuth("evil\nlevel=INFO", "secret") })
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{
		"msg=change user=oncall from=10.1.1.1 method=POST path=/x answer=200 thing=7",
		"msg=change user=reader from=10.1.1.1 method=POST path=/x?y answer=403",
		`msg="login refused" user="evil?level=INFO" from=10.1.1.1`,
	} {
		if i >= len(lines) || !strings.HasSuffix(lines[i], want) {
			t.Errorf("%d: not %q:\n%s", i, want, out.String())
		}
	}
	if len(lines) != 3 || strings.Contains(out.String(), "secret") {
		t.Errorf("%s", out.String())
	}
}

// TestHugeBodies: bodies that are too long are refused.
func TestHugeBodies(t *testing.T) {
	t.Parallel()
	s, err := New(report.Site{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	h := s.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { failed = r.ParseForm() }))
	r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1/", strings.NewReader("a="+strings.Repeat("x", MaxBody)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if failed == nil || !strings.Contains(failed.Error(), "too large") {
		t.Errorf("%v", failed)
	}
}

// TestGuessing: logins beyond the queue are refused, and a remembered password need not wait.
func TestGuessing(t *testing.T) {
	t.Parallel()
	s, err := New(report.Site{Users: report.Secret("oncall:" + hash(t, "secret"))}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := s.Guard(s.Login("test", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	with := func(password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth("oncall", password) }
	}
	if w := ask(t, h, "GET", "localhost", with("secret")); w.Code != http.StatusOK {
		t.Fatal(w.Code)
	}
	s.users.slot <- struct{}{} // one is being computed
	codes := make(chan int, 2*maxQueue)
	for range 2 * maxQueue {
		go func() { codes <- ask(t, h, "GET", "localhost", with("wrong")).Code }()
	}
	for range maxQueue {
		if code := <-codes; code != http.StatusTooManyRequests {
			t.Errorf("%d", code)
		}
	}
	if w := ask(t, h, "GET", "localhost", with("secret")); w.Code != http.StatusOK {
		t.Errorf("a remembered password: %d", w.Code)
	}
	<-s.users.slot
	for range maxQueue {
		if code := <-codes; code != http.StatusUnauthorized {
			t.Errorf("%d", code)
		}
	}
}

// TestChangesGoOn: a change continues when its client leaves, a request that only reads ends.
func TestChangesGoOn(t *testing.T) {
	t.Parallel()
	s, err := New(report.Site{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]error{"POST": nil, "GET": context.Canceled} {
		ctx, leave := context.WithCancel(t.Context())
		h := s.Login("test", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			leave()
			if _, limited := r.Context().Deadline(); r.Context().Err() != want || method == "POST" && !limited {
				t.Errorf("%s: %v", method, r.Context().Err())
			}
		}))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, method, "/", nil))
	}
}
