package process

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/order"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web/seal"
)

// sessionSite is a site with users.
func sessionSite(users string) string {
	return fmt.Sprintf(`http: {url: "https://reports.example.com/fanfold", users_file: %q, link_secret: "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk",
  groups: {oncall: {users: [oncall], may: [see, download, order, operate]}, readers: {users: ["*"], may: [see, download]}}}`, users)
}

// send sends a request with headers: names and values.
func (b browser) send(method, path, form string, headers ...string) (int, string, http.Header) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(form))
	if err != nil {
		b.t.Fatal(err)
	}
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return b.do(r)
}

// logIn sends the form, and returns the cookie.
func (b browser) logIn(name string) *http.Cookie {
	b.t.Helper()
	code, text, header := b.send("POST", "/fanfold/login", url.Values{"name": {name}, "password": {name + "-password"}}.Encode())
	set := header.Values("Set-Cookie")
	if code != http.StatusSeeOther || len(set) != 1 {
		b.t.Fatalf("the form: %d %s %q", code, text, set)
	}
	cookie, err := http.ParseSetCookie(set[0])
	if err != nil {
		b.t.Fatal(err)
	}
	return cookie
}

// again makes another process of an installation, with users and another Redis, if it is not empty.
func again(t *testing.T, p *Process, redis, users string) *Process {
	t.Helper()
	schema := rowsOf(t, p, "SELECT DATABASE()")[0]
	return openWith(t, cmp.Or(redis, testmain.SharedRedis(t).URL()), schema, strings.TrimSuffix(p.Config.Keys.Prefix, ":"), sessionSite(users))
}

const page = "text/html,application/xhtml+xml"

// TestSessions: a person logs in with the form, uses pages and the API, and logs out, in all processes.
func TestSessions(t *testing.T) {
	t.Parallel()
	users := usersFile(t, "oncall", "reader")
	p := open(t, sessionSite(users))
	one, two := browse(t, p), browse(t, again(t, p, "", users))

	// A browser is led to the form, and a program is asked for a password.
	code, _, header := one.send("GET", "/fanfold/jobs?status=RUN&q=1", "", "Accept", page)
	if to := header.Get("Location"); code != 303 || to != "/fanfold/login?next=%2Fjobs%3Fstatus%3DRUN%26q%3D1" {
		t.Errorf("a browser: %d %s", code, to)
	}
	code, _, header = one.send("GET", "/fanfold/login", "", "Accept-Language", "de")
	if code != 200 || !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("the form: %d %v", code, header)
	}
	_, text, _ := one.send("GET", "/fanfold/login?next=/jobs%3Fq%3D%22x", "", "Accept-Language", "de")
	for _, want := range []string{`<label for="name">Name`, `<label for="password">Passwort`, `autocomplete="username"`,
		`autocomplete="current-password"`, `value="/jobs?q=&#34;x"`, `href="login/-/style.css"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the form has no %s: %s", want, text)
		}
	}
	if code, _, _ := one.send("GET", "/fanfold/login/-/style.css", ""); code != 200 {
		t.Errorf("its style: %d", code)
	}
	for _, path := range []string{"/fanfold/jobs", "/fanfold/api/v1/reports"} {
		if code, _, header := one.send("GET", path, ""); code != 401 || !strings.HasPrefix(header.Get("WWW-Authenticate"), "Basic") {
			t.Errorf("a program: %s: %d %v", path, code, header)
		}
	}
	if code, _, header := one.send("GET", "/fanfold/live", "", "Sec-Fetch-Mode", "cors"); code != 401 || header.Get("WWW-Authenticate") != "" {
		t.Errorf("a script of a page: %d %v", code, header)
	}
	if code, _, header := one.send("GET", "/fanfold/jobs", "", "Accept", page, "Authorization", "Basic eDp5"); code != 401 || header.Get("WWW-Authenticate") == "" {
		t.Errorf("a wrong password of a browser: %d %v", code, header)
	}
	code, _, header = one.send("POST", "/fanfold/reports/slow/pause", "reason=x", "Accept", page)
	if code != 303 || header.Get("Location") != "/fanfold/login" {
		t.Errorf("an act: %d %v", code, header)
	}

	// A wrong password.
	for _, who := range []string{"oncall", `no"body`} {
		code, text, header = one.send("POST", "/fanfold/login", url.Values{"name": {who}, "password": {"x"}, "next": {"/jobs"}}.Encode())
		if code != 401 || !strings.Contains(text, "The name or the password is wrong") || header.Get("Set-Cookie") != "" ||
			!strings.Contains(text, `name="name" value="`+strings.ReplaceAll(who, `"`, "&#34;")) || !strings.Contains(text, `value="/jobs"`) {
			t.Errorf("a wrong password of %s: %d %s %v", who, code, text, header)
		}
	}
	if len(one.log.Lines("login refused")) != 3 {
		t.Error("wrong passwords are not in the log")
	}

	// The cookie.
	cookie := one.logIn("oncall")
	if c := cookie; c.Name != access.Cookie || c.Path != "/fanfold" || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Domain != "" || c.MaxAge != 12*60*60 {
		t.Errorf("the cookie is %+v", c)
	}
	has := access.Cookie + "=" + cookie.Value
	for _, b := range []browser{one, two} {
		code, text, _ := b.send("GET", "/fanfold/jobs", "", "Accept", page, "Cookie", has)
		if code != 200 || !strings.Contains(text, `action="/fanfold/logout"`) || !strings.Contains(text, "<span>oncall</span>") {
			t.Errorf("a page: %d %s", code, text)
		}
	}
	if _, text, _ := one.as("oncall", "oncall-password").ask("GET", "/fanfold/jobs"); strings.Contains(text, "/logout") {
		t.Error("who has no session can log out")
	}
	path := strings.TrimPrefix(orderPath(t, p, order.Pass{Person: "oncall"}), "/fanfold")
	for with, want := range map[string]bool{has: true, "x=y": false} {
		if code, text, _ := one.send("GET", "/fanfold"+path, "", "Cookie", with); code != 200 || strings.Contains(text, `action="../logout"`) != want {
			t.Errorf("the page to order from, with %s: %d %s", with, code, text)
		}
	}

	// Acts are of this site only, and so is the API.
	for site, want := range map[string]int{"same-origin": 303, "cross-site": 403, "same-site": 403} {
		for _, c := range []struct{ path, form string }{
			{"/fanfold/reports/slow/pause", "reason=x"}, {"/fanfold/login", "name=oncall&password=oncall-password"},
		} {
			if code, text, _ := one.send("POST", c.path, c.form, "Sec-Fetch-Site", site, "Cookie", has); code != want {
				t.Errorf("%s from %s: %d %s", c.path, site, code, text)
			}
		}
	}
	if code, _, _ := one.send("POST", "/fanfold/logout", "", "Sec-Fetch-Site", "cross-site", "Cookie", has); code != 403 {
		t.Errorf("another site logs out: %d", code)
	}
	for site, want := range map[string]int{"same-origin": 200, "same-site": 401, "none": 401, "": 401} {
		code, text, header := one.send("GET", "/fanfold/api/v1/reports", "", "Sec-Fetch-Site", site, "Cookie", has)
		if code != want || header.Get("WWW-Authenticate") != "" {
			t.Errorf("the API from %q: %d %s %v", site, code, text, header)
		}
	}

	// Basic wins over the cookie.
	reader := one.as("reader", "reader-password")
	if _, text, _ := reader.send("GET", "/fanfold/jobs", "", "Cookie", has); !strings.Contains(text, "read only · reader") {
		t.Errorf("Basic and a cookie: %s", text)
	}
	if code, _, header := one.as("reader", "wrong").send("GET", "/fanfold/jobs", "", "Cookie", has); code != 401 || header.Get("WWW-Authenticate") != "" {
		t.Errorf("wrong Basic and a cookie: %d %v", code, header)
	}

	// Logging out. A stream ends, too.
	code, events := one.stream("/fanfold/api/v1/jobs/"+insert(t, p)+"/events", "Sec-Fetch-Site", "same-origin", "Cookie", has)
	if code != 200 {
		t.Fatalf("a stream: %d", code)
	}
	other := two.logIn("oncall")
	code, _, header = one.send("POST", "/fanfold/logout", "", "Sec-Fetch-Site", "same-origin", "Cookie", has)
	if code != 303 || header.Get("Location") != "/fanfold/login" || !strings.Contains(header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logging out: %d %v", code, header)
	}
	for events.Scan() {
	}
	if err := events.Err(); err != nil {
		t.Error("a stream after logging out", err)
	}
	for _, b := range []browser{one, two} {
		if code, _, header := b.send("GET", "/fanfold/jobs", "", "Cookie", has); code != 401 || header.Get("WWW-Authenticate") != "" {
			t.Errorf("after logging out: %d %v", code, header)
		}
		if code, _, _ := b.send("GET", "/fanfold/jobs", "", "Cookie", access.Cookie+"="+other.Value); code != 200 {
			t.Errorf("the other session: %d", code)
		}
	}
	keys := p.Partitions.First().Keys
	for _, key := range []string{keys.Session, keys.EndedSession(cookie.Value[:22])} {
		if ttl := p.Redis.PTTL(t.Context(), key).Val(); ttl < 12*time.Hour || ttl > 12*time.Hour+time.Minute {
			t.Errorf("%s lives for %s", key, ttl)
		}
	}
}

// TestFormLeadsToThisSite: the form leads to paths of this site only.
func TestFormLeadsToThisSite(t *testing.T) {
	t.Parallel()
	b := browse(t, open(t, sessionSite(usersFile(t, "oncall"))))
	for next, want := range map[string]string{
		"": "/", "/jobs": "/jobs", "/jobs?q=a%20b&x=//y": "/jobs?q=a%20b&x=//y", "/reports/a%2Fb": "/reports/a%2Fb",
		"//evil.example": "/", "///evil.example": "/", `/\evil.example`: "/", `\\evil.example`: "/", "https://evil.example": "/", "https:evil.example": "/",
		"javascript:alert(1)": "/", "evil.example": "/", "/\t/evil.example": "/", "/\n/evil.example": "/", "/jobs\r\nX-Evil: 1": "/", " //evil.example": "/", "/%": "/",
		"/..//evil.example": "/", "/../other": "/", "/%2e%2E/other": "/",
	} {
		code, _, header := b.send("POST", "/fanfold/login", url.Values{"name": {"oncall"}, "password": {"oncall-password"}, "next": {next}}.Encode())
		if got := header.Get("Location"); code != 303 || got != "/fanfold"+want || header.Get("X-Evil") != "" {
			t.Errorf("%q: %d %s", next, code, got)
		}
	}
}

// TestForgedSessions: whoever knows the secret in Redis, but not the hash of the password, makes no session. Sessions
// end with their time, their user and the password.
func TestForgedSessions(t *testing.T) {
	t.Parallel()
	users := usersFile(t, "oncall", "reader")
	p := open(t, sessionSite(users))
	b := browse(t, p)
	given := b.logIn("reader").Value
	text, err := os.ReadFile(users)
	if err != nil {
		t.Fatal(err)
	}
	known, err := report.ParseUsers(string(text))
	if err != nil {
		t.Fatal(err)
	}
	forge := func(secret, purpose, hash string, valid time.Duration) string {
		t.Helper()
		const id = "0123456789abcdefghijkl"
		s, err := seal.New(report.Secret(secret), "sessions", report.Keys{})
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, []byte(hash))
		mac.Write([]byte(id))
		return id + "." + s.Seal(purpose+id, time.Now().Add(valid), append(mac.Sum(nil), "reader"...))
	}
	secret := p.Redis.Get(t.Context(), p.Partitions.First().Keys.Session).Val()
	hash := known["reader"]
	const purpose = "fanfold session 1 "
	for what, c := range map[string]struct {
		value string
		want  int
	}{
		"given":                 {given, 200},
		"made like it":          {forge(secret, purpose, hash, time.Hour), 200},
		"with another secret":   {forge(secret+"x", purpose, hash, time.Hour), 401},
		"of another purpose":    {forge(secret, "fanfold order page 1", hash, time.Hour), 401},
		"with another hash":     {forge(secret, purpose, known["oncall"], time.Hour), 401},
		"expired":               {forge(secret, purpose, hash, -time.Second), 401},
		"with another id":       {"0" + given[1:], 401},
		"changed":               {given[:30] + "0" + given[30:], 401},
		"cut":                   {given[:40], 401},
		"a link":                {strings.Repeat("a", 22) + "." + strings.TrimPrefix(orderPath(t, p, order.Pass{Person: "oncall"}), "/fanfold/o/"), 401},
		"empty":                 {"", 401},
		"with a key for an id":  {"../../../../../../../.x", 401},
		"of no characters ever": {strings.Repeat("é", 30), 401},
	} {
		if code, _, _ := b.send("GET", "/fanfold/jobs", "", "Cookie", access.Cookie+"="+c.value); code != c.want {
			t.Errorf("a cookie %s: %d", what, code)
		}
	}
	for what, file := range map[string]string{"the user is removed": usersFile(t, "oncall"), "the password is new": usersFile(t, "oncall", "reader")} {
		later := browse(t, again(t, p, "", file))
		if code, _, _ := later.send("GET", "/fanfold/jobs", "", "Cookie", access.Cookie+"="+given); code != 401 {
			t.Errorf("%s: %d", what, code)
		}
	}
	later := browse(t, again(t, p, "", users))
	if code, _, _ := later.send("GET", "/fanfold/jobs", "", "Cookie", access.Cookie+"="+given); code != 200 {
		t.Errorf("nothing is new: %d", code)
	}
	if err := p.Redis.Del(t.Context(), p.Partitions.First().Keys.Session).Err(); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := later.send("GET", "/fanfold/jobs", "", "Cookie", access.Cookie+"="+given); code != 401 {
		t.Errorf("Redis has lost its memory: %d", code)
	}
}

// TestSessionsWithoutRedis: while nobody knows whether a session has ended, it opens nothing.
func TestSessionsWithoutRedis(t *testing.T) {
	t.Parallel()
	users := usersFile(t, "oncall")
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	b := browse(t, again(t, open(t, sessionSite(users)), server.URL(), users))
	has := access.Cookie + "=" + b.logIn("oncall").Value
	server.Stop()
	for _, c := range []struct{ method, path, form, says string }{
		{"GET", "/fanfold/jobs", "", "Redis does not answer"},
		{"GET", "/fanfold/api/v1/reports", "", "Redis does not answer"},
		{"POST", "/fanfold/reports/slow/pause", "reason=x", "Redis does not answer"},
		{"POST", "/fanfold/logout", "", "We cannot log you in or out"},
		{"POST", "/fanfold/login", "name=oncall&password=oncall-password", "We cannot log you in or out"},
	} {
		code, text, header := b.send(c.method, c.path, c.form, "Accept", page, "Cookie", has, "Sec-Fetch-Site", "same-origin")
		if code != 503 || !strings.Contains(text, c.says) || header.Get("Retry-After") == "" || header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %s %v", c.path, code, text, header)
		}
	}
	if code, _, _ := b.as("oncall", "oncall-password").send("GET", "/fanfold/login", ""); code != 200 {
		t.Errorf("the form: %d", code)
	}
}

// TestNoFormWithoutUsers: who logs in through a proxy only has no form.
func TestNoFormWithoutUsers(t *testing.T) {
	t.Parallel()
	b := browse(t, open(t, `http: {url: "https://reports.example.com/fanfold", trusted_header: {name: X-Forwarded-User, proxies: [127.0.0.1]}}`))
	if code, _, _ := b.send("GET", "/fanfold/login", "", "X-Forwarded-User", "ann"); code != 404 {
		t.Errorf("the form: %d", code)
	}
	if code, _, _ := b.send("POST", "/fanfold/login", "name=a&password=b"); code != 401 {
		t.Errorf("its act: %d", code)
	}
	if code, _, header := b.send("GET", "/fanfold/jobs", "", "Accept", page); code != 401 || header.Get("Location") != "" {
		t.Errorf("a browser: %d %v", code, header)
	}
	if code, _, _ := b.send("GET", "/fanfold/jobs", "", "Accept", page, "X-Forwarded-User", "ann", "Cookie", access.Cookie+"=x"); code != 200 {
		t.Errorf("the proxy's user: %d", code)
	}
}

// TestLoginsAreActs: a login and a logout are in the audit, once each. A wrong password is not.
func TestLoginsAreActs(t *testing.T) {
	t.Parallel()
	p := open(t, sessionSite(usersFile(t, "oncall")))
	b := browse(t, p)
	b.send("POST", "/fanfold/login", url.Values{"name": {"oncall"}, "password": {"wrong"}}.Encode())
	cookie := b.logIn("oncall")
	for range 2 { // the second one has no session
		if code, text, _ := b.send("POST", "/fanfold/logout", "", "Cookie", cookie.String()); code != http.StatusSeeOther {
			t.Errorf("%d %s", code, text)
		}
	}
	first := p.Partitions.First()
	entries, err := first.Entries.First(t.Context(), first.Keys.Audit, 9)
	var acts []string
	for _, e := range entries {
		a := audit.Parse(e.ID, time.Time{}, e.Fields)
		acts = append(acts, fmt.Sprintf("%s %s by %s %s, %s %d %q", a.Who, a.Act, a.By, a.From, a.Answer, a.N, a.On))
	}
	if want := []string{`oncall login by dashboard 127.0.0.1, done 1 ""`, `oncall logout by dashboard 127.0.0.1, done 1 ""`}; err != nil || !slices.Equal(acts, want) {
		t.Errorf("%q, %v", acts, err)
	}
}
