package browser

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/redis/go-redis/v9"
	"golang.org/x/crypto/bcrypt"

	"github.com/fanfold/fanfold/internal/testenv"
)

// patience is how long a page may take to show an expected text.
const patience = 60 * time.Second

// site is a running fanfold serve with private servers.
type site struct {
	t      *testing.T
	base   string // http://127.0.0.1:port
	admin  string // localhost:port, where an admin page may be, which may show pages behind links
	binary string
	config string
	db     *sql.DB
	redis  *redis.Client
}

const configuration = `
redis: %s
databases: {db: {dsn: "%s"}}
records: {database: db}
sink: file://%s/files
limits: {shutdown_timeout: 1s}
lanes: {by: gate, running: 20}
http: {url: "%s", link_secret: "a key of a test, which nobody needs to guess", users_file: users, groups: {oncall: {users: [oncall], may: [see, download, order, operate]}, readers: {users: ["*"], may: [see, download]}}, cancel: true,
  frame_ancestors: ["http://%s"]}
timers: {reminder: {key: "reminder-{id}", append: {stream: reminders, fields: {id: "{id}"}}}}
reports:
  tagged-withdrawals:
    parameters: {gate: {type: string, default: none, description: Gate}}
    listeners: {plt_fund.vs_withdraw: {database: db, query: "SELECT 1 AS user_id, '7.50' AS amount, GET_LOCK(:gate, 600) + RELEASE_LOCK(:gate) AS v"}, plt_user.tags: {database: db, query: "SELECT 1 AS user_id, 'vip' AS tag"}}
    join: {key: user_id}
    file: {columns: [user_id, tag, amount]}
  shop-sales:
    label: Sales of my shop
    description: Every sale with its customer, the newest first
    parameters:
      gate: {type: string, default: none, description: Gate}
      from: {type: date, default: today-30d, description: First day}
      size: {type: integer, minimum: "1", maximum: "1000", description: Number of sales}
      kinds: {list: true, options: [food, toys, books], default: [food, toys], description: Kinds of goods}
      paid: {type: boolean, default: null, description: Paid}
    listeners:
      sales: {database: db, query: "SELECT 1 AS sale, :from AS day, :size AS size, :paid AS paid, GET_LOCK(:gate, 600) + RELEASE_LOCK(:gate) AS v FROM dual WHERE 'food' IN (:kinds)"}
      customers: {database: db, query: "SELECT 1 AS sale, 'ann' AS customer"}
    join: {key: sale}
    file: {columns: [sale, day, size, customer]}
  payments:
    retry: {retries: 0}
    listeners: {plt_pay.payments: {database: db, query: "SELECT k FROM payments"}}
`

// binary is fanfold, built from this tree.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fanfold-browser-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "fanfold")
	code := 1
	// go run caches what it links, unlike go build.
	if out, err := exec.Command("go", "run", "-C", "../..", "-exec", "cp", "-tags", "disable_grpc_modules", "./cmd/fanfold", binary).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s", err, out)
	} else {
		code = max(m.Run(), unchecked())
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// start starts the servers and fanfold serve.
func start(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	mariadb, err := testenv.StartDatabase(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mariadb.Stop)
	db, err := mariadb.Open("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := &site{t: t, binary: binary, config: filepath.Join(dir, "fanfold.yaml"), db: db, redis: server.Client()}
	t.Cleanup(func() { _ = s.redis.Close() })
	s.exec("CREATE DATABASE company")
	users := ""
	for _, name := range []string{"oncall", "reader"} {
		hash, err := bcrypt.GenerateFromPassword([]byte(name), bcrypt.MinCost)
		if err != nil {
			t.Fatal(err)
		}
		users += name + ":" + string(hash) + "\n"
	}
	at := free(t)
	s.base = "http://" + at
	s.admin = strings.Replace(free(t), "127.0.0.1", "localhost", 1)
	for name, text := range map[string]string{"users": users, "fanfold.yaml": fmt.Sprintf(configuration, server.URL(), mariadb.DSN("company"), dir, s.base, s.admin)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.fanfold("migrate")
	serve := exec.Command(s.binary, "-c", s.config, "serve", "--http", at)
	var log bytes.Buffer
	serve.Stdout, serve.Stderr = &log, &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		_ = serve.Wait()
		if t.Failed() {
			t.Logf("serve: %s", log.String())
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get(s.base + "/")
		if err == nil {
			_ = answer.Body.Close()
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// free returns an address of this machine at which nothing listens, and which no other test takes.
func free(t *testing.T) string {
	t.Helper()
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

func (s *site) exec(query string, args ...any) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), query, args...); err != nil {
		s.t.Fatal(err)
	}
}

// shut blocks the query of the job with this gate until open is called.
func (s *site) shut(gate string) (open func()) {
	s.t.Helper()
	conn, err := s.db.Conn(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	do := func(query string) {
		s.t.Helper()
		if _, err := conn.ExecContext(s.t.Context(), query, gate); err != nil {
			s.t.Fatal(err)
		}
	}
	do("DO GET_LOCK(?, 10)")
	return func() {
		do("DO RELEASE_LOCK(?)")
		_ = conn.Close()
	}
}

// fanfold runs a command and returns what it prints.
func (s *site) fanfold(args ...string) string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), s.binary, append([]string{"-c", s.config}, args...)...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		s.t.Fatalf("fanfold %s: %v: %s", strings.Join(args, " "), err, failed.Stderr)
	} else if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// run pushes a record, and returns its id.
func (s *site) run(report string, parameters ...string) string {
	s.t.Helper()
	args := []string{"run", report, "-o", "json"}
	for _, p := range parameters {
		args = append(args, "--param", p)
	}
	var ids []string
	if err := json.Unmarshal([]byte(s.fanfold(args...)), &ids); err != nil || len(ids) != 1 {
		s.t.Fatal(err, ids)
	}
	return ids[0]
}

// chromium starts Chromium.
func chromium(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("disable-gpu", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium (apt-get install chromium): %v", err)
	}
	return ctx
}

// tab is a page of Chromium.
type tab struct {
	t   *testing.T
	ctx context.Context
	s   *site
}

// tab opens a tab, logged in as a user; empty: without a login.
func (s *site) tab(t *testing.T, browser context.Context, user string) tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*patience)
	t.Cleanup(cancel)
	b := tab{t, ctx, s}
	headers := network.Headers{}
	if user != "" {
		headers["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+user))
	}
	if err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("the page's script: %v", e.ExceptionDetails)
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(displays[0].width, displays[0].height))
	call(b, network.Enable, network.EnableParams{})
	call(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: headers})
	return b
}

func (b tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// call sends a command of the protocol.
func call[P, R any](b tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// eval runs a script and returns its result; it awaits a promise.
func eval[T any](b tab, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

func (b tab) click(selector chromedp.CSS) {
	b.t.Helper()
	b.do(chromedp.Click(selector))
}

// sees waits for a text, without loading the page again.
func (b tab) sees(text string) {
	b.t.Helper()
	has := chromedp.Evaluate[bool](fmt.Sprintf("document.body?.innerText.includes(%q) ?? false", text))
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		// It fails while another page takes the place of this one.
		if seen, err := chromedp.Run(b.ctx, has); err == nil && seen {
			return
		}
	}
	b.t.Fatalf("no %q in %s", text, b.text())
}

func (b tab) text() string {
	b.t.Helper()
	return eval[string](b, "location.href + '\\n' + document.body.innerText")
}

func (b tab) goTo(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.s.base + path))
}

// displays are the colour schemes and sizes in which check tests a page.
var displays = []struct {
	name, scheme  string
	width, height int64
}{
	{"light", "light", 1280, 900}, {"dark", "dark", 1280, 900},
	{"phone", "light", 390, 844}, {"phone-dark", "dark", 390, 844},
	{"wide", "light", 1920, 1080}, {"wide-dark", "dark", 1920, 1080},
}

// violation is an error that axe-core has found.
type violation struct {
	ID, Help string
	Nodes    []struct{ HTML, FailureSummary string }
}

// check proves on all displays that a page has no accessibility error, and that it fits.
// With FANFOLD_PICTURES it writes a picture of every display into that folder.
func (b tab) check(name string) {
	b.t.Helper()
	axe, err := os.ReadFile(os.Getenv("FANFOLD_AXE"))
	if err != nil {
		b.t.Fatalf("axe-core: %v: make test installs it, and sets FANFOLD_AXE", err)
	}
	if text := b.text(); strings.Contains(text, "NaN") || strings.Contains(text, "<nil>") || strings.Contains(text, "%!") {
		b.t.Errorf("%s: %s", name, text)
	}
	checked.Store(eval[string](b, "location.pathname"), true)
	b.do(chromedp.Evaluate[chromedp.Void](string(axe)))
	for _, display := range displays {
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: display.scheme}}})
		b.do(chromedp.EmulateViewport(display.width, display.height))
		errs := eval[[]violation](b, "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
		for _, e := range errs {
			for _, n := range e.Nodes {
				b.t.Errorf("%s, %s: %s (%s): %s\n%s", name, display.name, e.Help, e.ID, n.HTML, n.FailureSummary)
			}
		}
		for _, one := range eval[[]string](b, misfits) {
			b.t.Errorf("%s, %s: %s", name, display.name, one)
		}
		if to := os.Getenv("FANFOLD_PICTURES"); to != "" {
			b.do(chromedp.Evaluate[chromedp.Void]("scrollTo(0, 0)"))
			picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				b.t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(to, name+"-"+display.name+".png"), picture, 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	b.do(chromedp.EmulateViewport(displays[0].width, displays[0].height))
}

// downloads clicks, and proves that a file with a text is downloaded.
func (b tab) downloads(selector, want string) {
	b.t.Helper()
	dir := b.t.TempDir()
	if _, err := chromedp.CallBrowser(b.ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: dir}); err != nil {
		b.t.Fatal(err)
	}
	eval[bool](b, fmt.Sprintf("document.querySelector(%q).click(), true", selector))
	var files []string
	for deadline := time.Now().Add(patience); len(files) == 0 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		files, _ = filepath.Glob(filepath.Join(dir, "*.csv"))
	}
	if len(files) != 1 {
		b.t.Fatalf("downloaded: %v; %s", files, b.text())
	}
	text, err := os.ReadFile(files[0])
	if err != nil || string(text) != want {
		b.t.Errorf("%q %v", text, err)
	}
}

// TestDashboard uses the dashboard as an operator, and as a viewer who may change nothing.
func TestDashboard(t *testing.T) {
	t.Parallel()
	s, browser := start(t), chromium(t)
	oncall := s.tab(t, browser, "oncall")

	// Live progress: the page is loaded once.
	open := s.shut("first")
	id := s.run("tagged-withdrawals", "gate=first")
	oncall.goTo("/jobs/" + id)
	oncall.sees("running")
	eval[bool](oncall, "window.loadedOnce = true")
	oncall.sees("1s") // in its picture, the query has been running for seconds
	oncall.check("job-running")
	open()
	oncall.sees("SUCCESS")
	if !eval[bool](oncall, "window.loadedOnce === true") {
		t.Error("the page was loaded again")
	}
	// The picture of its plan has the rows of the listeners and of the fold, and its steps those of the manifest.
	oncall.click("#steps-tagged-withdrawals summary")
	oncall.sees("→ 1 row, in memory")
	if rows := eval[string](oncall, "[...document.querySelectorAll('.plan .rows')].map(e => e.textContent).join()"); rows != "1,1,1" {
		t.Errorf("the arrows have the rows %s", rows)
	}
	// Redis knows its steps no more: the timeline is that of the manifest.
	if bars := eval[int](oncall, "document.querySelectorAll('.timeline rect.done').length"); bars < 1 {
		t.Errorf("the timeline has %d bars", bars)
	}
	oncall.sees("waited 0s, took")
	oncall.check("job-done")

	// A group of dead jobs runs again after its table was created.
	for range 3 {
		s.run("payments")
	}
	oncall.goTo("/dead")
	oncall.sees("3 ×")
	oncall.check("dead")
	oncall.click("#groups tbody th a")
	oncall.sees("All groups")
	oncall.check("dead-group")
	oncall.goTo("/dead")
	s.exec("CREATE TABLE company.payments (k INT)")
	oncall.click("button[value='/dead/retry']")
	oncall.sees("Each job starts its next attempt")
	oncall.check("confirm")
	oncall.click("button[value='yes']")
	oncall.sees("3 jobs run again")
	oncall.sees("There are no dead jobs.")

	// While updates are paused, the page does not change.
	oncall.goTo("/jobs")
	oncall.sees("No job is in this view.")
	oncall.click("#pause")
	open = s.shut("second")
	s.run("tagged-withdrawals", "gate=second")
	watching := s.tab(t, browser, "reader")
	watching.goTo("/jobs")
	watching.sees("It waits for plt_fund.vs_withdraw: its query has been running for")
	watching.check("jobs")

	// The keyboard sorts a table, and searches.
	watching.do(chromedp.Focus(chromedp.CSS("thead a[href*='-data']")), chromedp.KeyEvent("\r"))
	watching.sees("Data")
	if sorted := eval[string](watching, "location.search + document.querySelector('[aria-sort]').getAttribute('aria-sort')"); sorted != "?sort=-datadescending" {
		t.Errorf("the table is sorted by %s", sorted)
	}
	if at := eval[string](watching, "getComputedStyle(document.querySelector('thead th')).position"); at != "sticky" {
		t.Errorf("the head is %s", at)
	}
	watching.do(chromedp.Click(chromedp.CSS("#view-running summary")), chromedp.Click(chromedp.CSS("#view-running input[value='listeners']")))
	watching.goTo("/jobs?" + eval[string](watching, "new URLSearchParams(new FormData(document.querySelector('#view-running form'))).toString()"))
	if heads := eval[string](watching, "[...document.querySelectorAll('thead th')].map(h => h.textContent).join()"); heads != "Job,Report,Done,Data,Deadline in,Why it is not done" {
		t.Errorf("the columns %s", heads)
	}
	search := func(text string) {
		t.Helper()
		const press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))"
		if at := eval[string](watching, press+", document.activeElement.id"); at != "search" {
			t.Errorf("/ moves the focus to %q", at)
		}
		watching.do(chromedp.KeyEvent(text + "\r"))
	}
	search("tagged")
	watching.sees("Kind")
	watching.check("search")
	eval[bool](watching, "document.activeElement.blur(), document.getElementById('search').value = '', true")
	search("plt_user.tags")
	watching.sees("Only plt_user.tags")
	watching.goTo("/jobs")
	watching.sees("It waits for plt_fund.vs_withdraw: its query has been running for")
	if text := oncall.text(); strings.Contains(text, "vs_withdraw") {
		t.Errorf("a page whose updates are paused was updated: %s", text)
	}
	oncall.sees("Paused since")
	oncall.goTo("/listeners") // a pause lasts over pages
	oncall.sees("Resume updates")
	oncall.goTo("/jobs")
	oncall.click("#pause")
	oncall.sees("vs_withdraw")

	// A click into a table keeps it up to date, and the focus in it. A selection holds it, and it says so.
	left := func() string {
		t.Helper()
		return eval[string](oncall, "document.querySelector('#rows tbody td:last-child').textContent")
	}
	changes := func(what string) {
		t.Helper()
		for before, deadline := left(), time.Now().Add(patience); left() == before; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the table does not change after %s", what)
			}
		}
	}
	oncall.click("#rows tbody td.number")
	changes("a click")
	if !eval[bool](oncall, "document.activeElement.matches('#rows .scroll')") {
		t.Error("the table has lost the focus")
	}
	eval[bool](oncall, "getSelection().selectAllChildren(document.querySelector('#rows tbody th')), true")
	oncall.sees("a text on it is selected")
	held := left()
	if text := oncall.text(); !regexp.MustCompile(`Paused since \d\d:\d\d:\d\d: a text`).MatchString(text) || left() != held {
		t.Errorf("a held table says %s", text)
	}
	oncall.click("#resume")
	changes("the selection was given up")
	if eval[bool](oncall, "!document.getElementById('held').hidden") {
		t.Error("it still says that it is paused")
	}
	// Selected rows hold their table. Paused listeners are resumed by Undo.
	oncall.goTo("/listeners")
	oncall.click("input[name=row][value='plt_pay.payments']")
	oncall.sees("a form on it has changed fields")
	oncall.click("button[value='listeners/pause']")
	oncall.sees("Pause: 1 listener?")
	oncall.check("select")
	oncall.click("button[value='yes']")
	oncall.sees("1 listener done")
	oncall.check("changed")
	oncall.click("main .notice button")
	oncall.sees("Resume 1 listener: started.")
	open()

	// An update does not replace a form while it is filled in.
	oncall.goTo("/reports")
	oncall.do(chromedp.Click(chromedp.CSS("#run-tagged-withdrawals summary")), chromedp.SendKeys(chromedp.CSS("#p-tagged-withdrawals-gate"), "third"))
	oncall.check("reports")
	if code := eval[int](oncall, "fetch('/reports/payments/pause', {method: 'POST'}).then(r => r.status)"); code != http.StatusOK {
		t.Errorf("a pause: %d", code)
	}
	watching.goTo("/reports")
	watching.sees("paused")
	oncall.click("#run-tagged-withdrawals button")
	oncall.sees("was inserted and pushed")

	s.fanfold("timer", "set", "reminder-7", "--in", "2h")
	if err := s.redis.ZAdd(t.Context(), "fanfold:delayed", redis.Z{Score: float64(time.Now().Add(3 * time.Hour).UnixMilli()), Member: "77"}).Err(); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"/": "every listener has workers", "/listeners": "plt_fund.vs_withdraw", "/due": "reminder-7", "/records": "SUCCESS"} {
		oncall.goTo(path)
		oncall.sees(text)
		oncall.check(map[string]string{"/": "overview", "/listeners": "listeners", "/due": "due", "/records": "records"}[path])
	}

	if err := s.redis.XAdd(t.Context(), &redis.XAddArgs{Stream: "fanfold:quarantine", Values: []string{"stream", "fanfold:jobs", "entry", "1700000000000-0", "reason", "no record with this id was found", "fields", "id=999999"}}).Err(); err != nil {
		t.Fatal(err)
	}
	oncall.goTo("/quarantine")
	oncall.sees("no record with this id was found")
	oncall.check("quarantine")
	oncall.click("button[value='/quarantine']")
	oncall.sees("is removed from the quarantine")
	oncall.click("button[value='yes']")
	oncall.sees("No entry is quarantined.")

	// A viewer has no buttons, and is refused without them.
	watching.goTo("/listeners")
	buttons := eval[int](watching, "document.querySelectorAll('main form[method=post]').length")
	code := eval[int](watching, "fetch('/listeners/plt_user.tags/pause', {method: 'POST'}).then(r => r.status)")
	if buttons != 0 || code != http.StatusForbidden {
		t.Errorf("%d buttons, and %d", buttons, code)
	}
}

// TestWaitingPage follows the person who waits, from the queue to the downloaded file. There is no login:
// the link is the permission.
func TestWaitingPage(t *testing.T) {
	t.Parallel()
	s, browser := start(t), chromium(t)
	person := s.tab(t, browser, "")

	open := s.shut("first")
	s.exec(`INSERT INTO company.file_download_record (id, report, parameters) VALUES (41, 'tagged-withdrawals', '{"gate": "first"}')`)
	const id = "41"
	address, ok := strings.CutPrefix(s.fanfold("url", "--page", id), s.base)
	if !ok || !strings.HasPrefix(address, "/r/") {
		t.Fatal(address)
	}
	person.goTo(address)
	person.sees("Waiting")
	person.check("waiting")
	eval[bool](person, "window.loadedOnce = true")
	s.fanfold("submit", id)
	person.sees("In progress")
	person.sees("1 of 2 parts are ready.")
	if title := eval[string](person, "document.title"); title != "In progress · tagged-withdrawals · first" {
		t.Error(title)
	}
	if bar := eval[float64](person, "document.querySelector('progress').position"); bar != 0.5 {
		t.Errorf("the bar of 1 of 2 parts is at %v", bar)
	}
	person.check("waiting-running")
	// The person asks for a notice, and looks at another page meanwhile.
	eval[bool](person, `window.told = [], window.Notification = class {
		static requestPermission () { return Promise.resolve('granted') }
		constructor (title) { told.push(title) } }, true`)
	person.do(chromedp.Focus(chromedp.CSS("button.notice")), chromedp.KeyEvent(kb.Enter))
	person.check("waiting-notice")
	eval[bool](person, `Object.defineProperty(document, 'hidden', {value: true}), document.dispatchEvent(new Event('visibilitychange'))`)
	open()
	person.sees("Download")
	if told := eval[string](person, "told.join()"); told != "Ready · tagged-withdrawals · first" {
		t.Errorf("told %q", told)
	}
	if eval[bool](person, "document.querySelector('button.notice') !== null") {
		t.Error("the button is left")
	}
	if !eval[bool](person, "window.loadedOnce === true") {
		t.Error("the page was loaded again")
	}
	person.check("waiting-ready")

	// A click downloads the file.
	person.downloads(`a[href$='/file'], form button`, "user_id,tag,amount\r\n1,vip,7.50\r\n")

	// In another language, with the keyboard: the person cancels a report.
	s.exec(`INSERT INTO company.file_download_record (id, report, parameters) VALUES (42, 'tagged-withdrawals', '{"gate": "second"}')`)
	defer s.shut("second")()
	s.fanfold("submit", "42")
	person.goTo(strings.TrimPrefix(s.fanfold("url", "--page", "42"), s.base) + "?lang=zh")
	person.sees("2 个部分中已完成 1 个。")
	if zone := eval[string](person, "document.querySelector('#until time').textContent"); strings.Contains(zone, "UTC") || !strings.Contains(zone, "年") {
		t.Errorf("not the local time: %s", zone)
	}
	person.check("waiting-running-zh")
	person.do(chromedp.Focus(chromedp.CSS("#cancel a")), chromedp.KeyEvent(kb.Enter))
	person.sees("要取消此报表吗？")
	person.check("waiting-cancel-zh")
	person.do(chromedp.Focus(chromedp.CSS("#cancel button")), chromedp.KeyEvent(kb.Enter))
	person.sees("已取消")

	// What can go wrong, and a link that is not one.
	failed := s.run("payments")
	person.goTo(strings.TrimPrefix(s.fanfold("url", "--page", failed), s.base))
	person.sees("could not be made")
	if text := person.text(); strings.Contains(text, "company.payments") {
		t.Errorf("the person sees what the database said: %s", text)
	}
	person.check("waiting-failed")
	person.goTo(address[:len(address)-2])
	person.sees("link")
	person.check("waiting-forged")
}
