package process

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// usersFile writes users with the password "<name>-password".
func usersFile(t *testing.T, names ...string) string {
	t.Helper()
	lines := ""
	for _, name := range names {
		h, err := bcrypt.GenerateFromPassword([]byte(name+"-password"), bcrypt.MinCost)
		if err != nil {
			t.Fatal(err)
		}
		lines += name + ":" + string(h) + "\n"
	}
	file := filepath.Join(t.TempDir(), "users.htpasswd")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDashboardOfAnIntruder: a request for another host name, from another site or with another
// method gets no page.
func TestDashboardOfAnIntruder(t *testing.T) {
	t.Parallel()
	p := open(t, "")
	b := browse(t, p)
	ask := func(method, host, site string) (int, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, b.base+"/jobs", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		code, _, header := b.do(r)
		return code, header
	}
	for _, c := range []struct {
		method, host, site string
		want               int
	}{
		{"GET", "", "", 200},
		{"GET", "localhost:1", "", 200},
		{"GET", "evil.example", "", 421},
		{"GET", "127.0.0.1.evil.example", "", 421},
		{"POST", "", "cross-site", 403},
		{"DELETE", "", "", 405},
	} {
		if got, _ := ask(c.method, c.host, c.site); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	_, header := ask("GET", "", "")
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'",
		"X-Content-Type-Options":  "nosniff",
		"Cache-Control":           "no-store",
	} {
		if !strings.Contains(header.Get(name), want) {
			t.Errorf("%s: %q", name, header.Get(name))
		}
	}
	p.HTTP = "0.0.0.0:0"
	_, err := site{p, slog.New(slog.DiscardHandler)}.serve(t.Context())
	if !errors.Is(err, fault.Config) || !strings.Contains(err.Error(), "add http.users_file") {
		t.Error(err)
	}
}

// TestDashboardRoles: without a password no page is served, a viewer cannot change anything, every
// change is logged, and all addresses are below the path of a proxy.
func TestDashboardRoles(t *testing.T) {
	t.Parallel()
	p := open(t, fmt.Sprintf(`http: {url: "https://reports.example.com/fanfold", users_file: %q, groups: {oncall: {users: [oncall], may: [see, download, order, operate]}, readers: {users: ["*"], may: [see, download]}}}`,
		usersFile(t, "oncall", "reader")))
	nobody := browse(t, p)
	reader, oncall, log := nobody.as("reader", "reader-password"), nobody.as("oncall", "oncall-password"), nobody.log
	for _, path := range []string{"/fanfold/", "/fanfold/jobs", "/fanfold/assets/style.css", "/fanfold/live"} {
		if code, _, _ := nobody.ask("GET", path); code != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code, _, _ := reader.ask("GET", "/jobs"); code != http.StatusNotFound {
		t.Errorf("a page beside its path: %d", code)
	}
	_, text, _ := reader.ask("GET", "/fanfold/reports")
	if strings.Contains(text, `method="post"`) || strings.Contains(text, "/pause") || !strings.Contains(text, `href="/fanfold/jobs"`) || !strings.Contains(text, "read only") {
		t.Errorf("a viewer sees %s", text)
	}
	if _, text, _ := oncall.ask("GET", "/fanfold/reports"); !strings.Contains(text, `name="to" value="/reports/slow/pause"`) {
		t.Errorf("an operator sees %s", text)
	}
	nobody.posts("/fanfold/reports/slow/pause", 401, "Log in")
	reader.posts("/fanfold/reports/slow/pause", 403, "You may only read")
	reader.posts("/fanfold/quarantine", 403, "You may only read", "entry", "1-1", "action", "remove")
	code, text, _ := reader.ask("GET", "/fanfold/confirm?to=/quarantine&entry=1-1")
	if code != 403 || !strings.Contains(text, "you lack the right") {
		t.Errorf("a viewer is asked: %d %s", code, text)
	}
	if list, err := p.Inspect.Pauses.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	code, _, header := oncall.ask("POST", "/fanfold/reports/slow/pause")
	if code != http.StatusSeeOther {
		t.Errorf("%d", code)
	}
	if _, text, _ := oncall.ask("GET", header.Get("Location")); !strings.Contains(text, "is paused") {
		t.Error(text)
	}
	oncall.posts("/fanfold/quarantine", 404, "is not in", "entry", "1-1", "action", "remove")
	eventually(t, "the changes are in the log", func() bool {
		return len(log.Lines("msg=change user=oncall")) == 2 && len(log.Lines("path=/reports/slow/pause answer=303")) == 1 &&
			len(log.Lines("msg=change user=reader")) == 2 && len(log.Lines("answer=403")) == 2 &&
			len(log.Lines("path=/quarantine answer=404 entry=1-1 action=remove")) == 1
	})
	first := p.Partitions.First()
	entries, err := first.Entries.First(t.Context(), first.Keys.Audit, 10)
	if err != nil {
		t.Fatal(err)
	}
	var acts []string
	for _, e := range entries {
		f := e.Fields
		acts = append(acts, fmt.Sprintf("%s %s %s %s %q %s", f["who"], f["by"], f["from"], f["act"], f["on"], f["answer"]))
	}
	if want := []string{
		`reader dashboard 127.0.0.1 pause "slow" refused`, `reader dashboard 127.0.0.1 quarantine "" refused`,
		`oncall dashboard 127.0.0.1 pause "report/slow" done`, `oncall dashboard 127.0.0.1 quarantine "" refused`,
	}; !slices.Equal(acts, want) {
		t.Errorf("acts: %q", acts)
	}
	for user, want := range map[*browser]int{&reader: http.StatusForbidden, &oncall: http.StatusOK} {
		if code, text, _ := user.ask("GET", "/fanfold/audit"); code != want || strings.Contains(text, `/audit"`) != (want == 200) {
			t.Errorf("the audit: %d %s", code, text)
		}
	}
	if found := log.Lines("-password"); len(found) > 0 {
		t.Errorf("passwords in the log: %q", found)
	}
}

// TestPublicWithoutLogin: with a public http.url and without a login, only the waiting pages are
// served, because users cannot be identified.
func TestPublicWithoutLogin(t *testing.T) {
	t.Parallel()
	p := open(t, `http: {url: "https://reports.example.com", link_secret: "a key of a test, which nobody needs to guess"}`)
	b := browse(t, p)
	if len(b.log.Lines("serving pages behind links only")) != 1 {
		t.Error("the log does not say so")
	}
	page, err := p.PageURL(t.Context(), insert(t, p), time.Now().Add(time.Hour))
	link, ok := strings.CutPrefix(page, "https://reports.example.com")
	if !ok {
		t.Fatal(page, err)
	}
	for path, want := range map[string]int{
		"/": 404, "/jobs": 404, "/api/v1/reports": 404, "/api/v1": 404, "/r": 404, link: 200,
	} {
		if code, text, _ := b.ask("GET", path); code != want {
			t.Errorf("%s: %d: %.200s", path, code, text)
		}
	}
	b.posts("/reports/slow/pause", 404, "")
}

// TestWaitingPageOfAnIntruder: a link that is forged, truncated, changed, expired or from another
// installation opens no page, and the answer reveals nothing.
func TestWaitingPageOfAnIntruder(t *testing.T) {
	t.Parallel()
	const site = `http: {url: "https://reports.example.com", link_secret: "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}`
	p := open(t, site)
	b := browse(t, p)
	id := insert(t, p)
	link := func(p *Process, valid time.Duration) string {
		t.Helper()
		page, err := p.PageURL(t.Context(), id, time.Now().Add(valid))
		path, ok := strings.CutPrefix(page, "https://reports.example.com")
		if !ok {
			t.Fatal(page, err)
		}
		return path
	}
	var schema string
	if err := p.Rows.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&schema); err != nil {
		t.Fatal(err)
	}
	foreign, ours := link(openOn(t, schema, testmain.Name(t)+"-other", site), time.Hour), link(p, time.Hour)
	token := strings.TrimPrefix(ours, "/r/")
	paths := []string{
		foreign, ours[:len(ours)-1], ours + "A", "/r/" + id, "/r/" + base64.RawURLEncoding.EncodeToString([]byte(id)),
		"/r/", "/r/-/", "/r/-/page.html", "/r/..%2f..%2fetc%2fpasswd", ours + "/../../x", "/r/" + strings.Repeat("A", 5000),
	}
	if swapped := token[:20] + string(token[21]) + string(token[20]) + token[22:]; swapped != token {
		paths = append(paths, "/r/"+swapped)
	}
	for _, path := range paths {
		for _, more := range []string{"", "/file", "/live"} {
			code, text, header := b.ask("GET", path+more)
			if code != http.StatusNotFound && code != http.StatusTemporaryRedirect ||
				strings.Contains(text, ">"+id) || header.Get("Content-Disposition") != "" {
				t.Errorf("%.100s: %d %s", path+more, code, text)
			}
		}
	}
	old := link(p, time.Second)
	eventually(t, "the link has expired", func() bool {
		code, text, _ := b.ask("GET", old)
		return code == http.StatusGone && strings.Contains(text, "This link has expired") && !strings.Contains(text, ">"+id)
	})
	for _, path := range []string{"/file", "/live"} {
		if code, _, _ := b.ask("GET", old+path); code != http.StatusGone {
			t.Errorf("%s: %d", path, code)
		}
	}
	b.posts(ours, http.StatusMethodNotAllowed, "")
	code, text, header := b.ask("GET", ours)
	if code != http.StatusOK || !strings.Contains(text, "Waiting to start") {
		t.Errorf("%d %s", code, text)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'",
		"Referrer-Policy":         "no-referrer",
		"X-Robots-Tag":            "noindex",
		"Cache-Control":           "no-store",
		"X-Content-Type-Options":  "nosniff",
	} {
		if !strings.Contains(header.Get(name), want) {
			t.Errorf("%s: %q", name, header.Get(name))
		}
	}
}

// TestAPIRoles: a viewer cannot change anything, and the addresses in answers begin with http.url.
func TestAPIRoles(t *testing.T) {
	t.Parallel()
	p := open(t, fmt.Sprintf(`http:
  {url: "http://reports.example.com/fanfold", groups: {oncall: {users: [op], may: [see, download, order, operate]}, readers: {users: ["*"], may: [see, download]}}, users_file: %q, link_secret: "0123456789abcdef0123456789abcdef"}`,
		usersFile(t, "op", "reader")))
	nobody := browse(t, p)
	reader, op := nobody.as("reader", "reader-password"), nobody.as("op", "op-password")
	id := insert(t, p)
	const root = "/fanfold/api/v1"
	for _, path := range []string{"/reports/slow/jobs", "/jobs/" + id + "/cancel", "/jobs/" + id + "/retry"} {
		reader.posts(root+path, http.StatusForbidden, "")
		nobody.posts(root+path, http.StatusUnauthorized, "")
	}
	var n int
	row := p.Rows.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM file_download_record WHERE status = 'PENDING'")
	if err := row.Scan(&n); err != nil || n != 1 {
		t.Errorf("%d records are PENDING, %v", n, err)
	}
	if code, text, _ := reader.ask("GET", root+"/audit"); code != http.StatusForbidden {
		t.Errorf("the audit of a viewer: %d %s", code, text)
	}
	if code, text, _ := op.ask("GET", root+"/audit?who=reader"); code != 200 || !strings.Contains(text, `"answer":"refused"`) {
		t.Errorf("the audit: %d %s", code, text)
	}
	code, text, _ := reader.ask("GET", root+"/jobs/"+id+"/file")
	if code != http.StatusConflict || !strings.Contains(text, root+"/jobs/"+id+"/events") {
		t.Errorf("%d %s", code, text)
	}
	code, text, _ = op.ask("POST", root+"/reports/slow/jobs")
	if code != http.StatusCreated || !strings.Contains(text, `"`+root+`/jobs/`) {
		t.Fatalf("%d %s", code, text)
	}
	var made struct{ ID, Page string }
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	token, ok := strings.CutPrefix(made.Page, "http://reports.example.com/fanfold/r/")
	if code, text, _ := nobody.ask("GET", "/fanfold/r/"+token); !ok || code != http.StatusOK || !strings.Contains(text, "<html") {
		t.Errorf("%s: %d %.300s", made.Page, code, text)
	}
}
