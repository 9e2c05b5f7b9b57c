package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/step"
)

// tokenOf is the token of a listener in overHTTP.
func tokenOf(listener string) string { return "token-of-" + listener + strings.Repeat("x", 32) }

// overHTTP are reports with external listeners whose workers use HTTP.
var overHTTP = fmt.Sprintf(`
  scored:
    parameters: {from: date}
    retry: {retries: 5, delay: 100ms}
    listeners:
      shop.users: {database: db, query: "SELECT user_id, name FROM users WHERE since >= :from ORDER BY user_id"}
      vendor.scores:
        {after: shop.users, kind: external, columns: [user_id, {name: score, type: decimal}], silence: 2s, token: %q}
    join: {key: user_id}
  other: {listeners: {other.scores: {kind: external, columns: [k], token: %q}}}
`, tokenOf("vendor.scores"), tokenOf("other.scores"))

// claimed is the answer to a claim.
type claimed struct {
	Task, ID, Report string
	Attempt          int64
	Parameters       struct{ From string }
	Columns          []struct{ Name, Type string }
	Silence          int64 `json:"silence_ms"`
	Segments         string
	Values           []struct {
		Listener string
		Columns  []string
		Pages    int
		URL      string
	}
}

// remote is a worker over HTTP.
type remote struct {
	web
	base, token string
}

// newRemote starts a stack with the reports and these users, and a worker with the token of vendor.scores.
func newRemote(t *testing.T, users int, more ...string) (*stack, remote) {
	t.Helper()
	return newRemoteOf(t, overHTTP, users, more...)
}

// newRemoteOf is newRemote with these reports.
func newRemoteOf(t *testing.T, reports string, users int, more ...string) (*stack, remote) {
	t.Helper()
	s := newStackAlone(t, nil, reports, more...)
	s.Records.Exec("CREATE TABLE users (user_id INT PRIMARY KEY, name VARCHAR(20), since DATE)")
	s.Records.Exec(fmt.Sprintf("INSERT INTO users SELECT seq, CONCAT('user ', seq), '2024-01-01' FROM seq_1_to_%d", users))
	base, _ := s.browse()
	return s, remote{s.web, base, tokenOf("vendor.scores")}
}

// ask sends a request to a path. The status is 0 if there is no whole answer.
func (r remote) ask(method, path, body string) (int, string) {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("Authorization", "Bearer "+r.token)
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// want is ask for an answer with this status.
func (r remote) want(status int, method, path, body string) string {
	r.Helper()
	got, text := r.ask(method, path, body)
	if got != status {
		r.Fatalf("%s %s: %d, not %d: %s", method, path, got, status, text)
	}
	return text
}

// claim claims the next task of vendor.scores.
func (r remote) claim() claimed {
	r.Helper()
	var c claimed
	if err := json.Unmarshal([]byte(r.want(200, "POST", "/api/v1/tasks/vendor.scores/claim?wait=20s", "")), &c); err != nil {
		r.Fatal(err)
	}
	return c
}

// pages returns the pages of the rows of a task.
func (r remote) pages(c claimed, size int) (all []string) {
	r.Helper()
	var rows []string
	for page := range c.Values[0].Pages {
		var users []int
		if err := json.Unmarshal([]byte(r.want(200, "GET", fmt.Sprintf("%s/user_id/%d", c.Values[0].URL, page), "")), &users); err != nil {
			r.Fatal(err)
		}
		for _, u := range users {
			rows = append(rows, fmt.Sprintf(`[%d,"%.2f"]`, u, float64(u)*1.5))
		}
	}
	for len(rows) > 0 {
		n := min(size, len(rows))
		all = append(all, "["+strings.Join(rows[:n], ",")+"]")
		rows = rows[n:]
	}
	return all
}

// TestWorkerOverHTTP: a worker claims a task, reads values of an earlier stage, sends pages and ends the task.
func TestWorkerOverHTTP(t *testing.T) {
	t.Parallel()
	s, r := newRemote(t, 12_345, "limits: {redis_compression: zstd}")
	if text := r.want(204, "POST", "/api/v1/tasks/vendor.scores/claim", ""); text != "" {
		t.Error(text)
	}
	id := s.Records.Insert("scored", `{"from": "2024-01-01"}`)
	s.Jobs.Push(id)
	c := r.claim()
	if c.ID != id || c.Attempt != 1 || c.Report != "scored" || c.Parameters.From != "2024-01-01" || c.Silence != 2000 ||
		fmt.Sprint(c.Columns) != "[{user_id text} {score decimal}]" || c.Values[0].Listener != "shop.users" ||
		fmt.Sprint(c.Values[0].Columns) != "[user_id name]" || c.Values[0].Pages < 2 {
		t.Errorf("%+v", c)
	}
	if out, _ := s.fanfold("why", id); !strings.Contains(out, "with worker http-") {
		t.Errorf("why says %s", out)
	}
	r.want(404, "GET", c.Values[0].URL+"/user_id/99", "")
	r.want(404, "GET", c.Values[0].URL+"/none/0", "")

	// Tokens: none, a wrong one, and that of another listener.
	other := r
	for token, status := range map[string]int{"": 401, "wrong": 401, tokenOf("other.scores"): 403} {
		other.token = token
		for _, path := range []string{c.Task + "/alive", c.Task + "/done", "/api/v1/tasks/vendor.scores/claim"} {
			if text := other.want(status, "POST", path, "{}"); !strings.Contains(text, `"code":"token"`) {
				t.Error(text)
			}
		}
		other.want(status, "PUT", c.Task+"/rows/0", "[]")
		other.want(status, "GET", c.Values[0].URL+"/user_id/0", "")
	}
	other.token = tokenOf("other.scores")
	forged := strings.Replace(c.Task, "vendor.scores", "other.scores", 1)
	other.want(410, "PUT", forged+"/rows/0", "[]")
	r.want(410, "PUT", c.Task+"x/rows/0", "[]") // another worker
	r.want(404, "PUT", "/api/v1/tasks/x/rows/0", "[]")

	pages := r.pages(c, 5000)
	if len(pages) != 3 {
		t.Fatalf("%d pages", len(pages))
	}
	expect := func(text string, page int) {
		t.Helper()
		if !strings.Contains(text, fmt.Sprintf(`"code":"page"`)) || !strings.Contains(text, fmt.Sprintf(`"expected":%d`, page)) {
			t.Error(text)
		}
	}
	expect(r.want(409, "PUT", c.Task+"/rows/1", pages[1]), 0)
	r.want(204, "PUT", c.Task+"/rows/0", pages[0])
	r.want(204, "PUT", c.Task+"/rows/0", pages[0])
	r.want(204, "POST", c.Task+"/alive", "")
	r.want(204, "PUT", c.Task+"/rows/1", pages[1])
	expect(r.want(409, "PUT", c.Task+"/rows/3", pages[2]), 2)
	expect(r.want(409, "POST", c.Task+"/done", `{"pages": 3}`), 2)
	expect(r.want(409, "POST", c.Task+"/done", `{"pages": 1}`), 2)
	r.want(413, "PUT", c.Task+"/rows/2", "["+strings.Repeat(" ", 1<<20)+"]")
	r.want(422, "PUT", c.Task+"/rows/x", pages[2])
	r.want(422, "POST", c.Task+"/done", `{}`)
	r.want(400, "POST", c.Task+"/done", `{`)
	r.want(204, "PUT", c.Task+"/rows/2", pages[2])
	r.want(204, "POST", c.Task+"/done", `{"pages": 3}`)
	s.wantScores(s.Jobs.Wait(id)[0])
	r.want(410, "PUT", c.Task+"/rows/3", pages[2])
	r.want(410, "POST", c.Task+"/alive", "")
	r.want(410, "GET", c.Values[0].URL+"/user_id/0", "")
	if n := s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Quarantined).Val(); n != 0 {
		t.Errorf("%d entries in the quarantine", n)
	}
}

// TestWorkerOverHTTPIsFenced: a worker that fell silent, whose job was cancelled, or whose rows are not valid has no
// effect any more, and its answers say why.
func TestWorkerOverHTTPIsFenced(t *testing.T) {
	t.Parallel()
	s, r := newRemote(t, 10)
	gone := func(c claimed, reason string) {
		t.Helper()
		for _, text := range []string{
			r.want(410, "PUT", c.Task+"/rows/0", `[[1,9]]`), r.want(410, "POST", c.Task+"/alive", ""),
			r.want(410, "POST", c.Task+"/done", `{"pages": 0}`), r.want(410, "GET", c.Values[0].URL+"/user_id/0", ""),
		} {
			if !strings.Contains(text, reason) {
				t.Errorf("%s does not say %q", text, reason)
			}
		}
	}
	push := func() string {
		t.Helper()
		id := s.Records.Insert("scored", `{"from": "2024-01-01"}`)
		s.Jobs.Push(id)
		return id
	}

	id := push()
	dead := r.claim()
	r.want(204, "PUT", dead.Task+"/rows/0", `[[1,"0"],[2,"0"]]`)
	next := r.claim() // after the silence
	if next.ID != id || next.Task == dead.Task {
		t.Errorf("%+v", next)
	}
	gone(dead, "another worker has the task")
	r.want(410, "POST", dead.Task+"/failed", `{"error": "late", "permanent": true}`)
	r.want(204, "POST", next.Task+"/failed", `{"error": "the vendor is closed"}`)
	r.want(204, "POST", next.Task+"/failed", `{"error": "the answer was lost"}`)
	gone(next, "task") // given up, or taken by another
	next = r.claim()
	for i, page := range r.pages(next, 4) {
		r.want(204, "PUT", fmt.Sprint(next.Task, "/rows/", i), page)
	}
	r.want(204, "POST", next.Task+"/done", `{"pages": 3}`)
	s.wantScores(s.Jobs.Wait(id)[0])
	gone(next, "task")

	id = push()
	c := r.claim()
	if out, code := s.fanfold("cancel", id); code != exitOK {
		t.Fatal(out)
	}
	gone(c, "job")

	id = push()
	c = r.claim()
	r.want(204, "POST", c.Task+"/failed", `{"error": "no such vendor", "permanent": true}`)
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Failed || !strings.Contains(v.Error, "no such vendor") {
		t.Errorf("%s %s", v.Status, v.Error)
	}

	id = push()
	c = r.claim()
	if text := r.want(422, "PUT", c.Task+"/rows/0", `[[1,"a"]]`); !strings.Contains(text, "rows number 0") {
		t.Error(text)
	}
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Failed || !strings.Contains(v.Error, "rows number 0") {
		t.Errorf("%s %s", v.Status, v.Error)
	}
}

// balance returns the URL of a proxy for several addresses: requests take turns, and pass over those that do not
// answer.
func balance(t *testing.T, addresses []string) string {
	var turn atomic.Int64
	dial := func(ctx context.Context, network, _ string) (to net.Conn, err error) {
		first := int(turn.Add(1))
		for i := range addresses {
			if to, err = new(net.Dialer).DialContext(ctx, network, addresses[(first+i)%len(addresses)]); err == nil {
				break
			}
		}
		return to, err
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		ErrorLog:  log.New(io.Discard, "", 0),
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http", Host: "localhost"}) },
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// TestExternalExampleOverHTTP runs the worker of examples/external/php as TestExternalExamples does.
func TestExternalExampleOverHTTP(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("../../../examples/external/php/worker.php")
	if err != nil {
		t.Fatal(err)
	}
	read(t, file) // go test caches results, and does not see what the program reads
	if _, err := exec.LookPath("php"); err != nil {
		t.Skip("no php: apt-get install php-cli")
	}
	s := newStackAlone(t, nil, overHTTP, "limits: {redis_compression: zstd, lease: 2s, recover_after: 1s}")
	s.Records.Exec("CREATE TABLE users (user_id INT PRIMARY KEY, name VARCHAR(20), since DATE)")
	s.Records.Exec("INSERT INTO users SELECT seq, CONCAT('user ', seq), '2024-01-01' FROM seq_1_to_20000")
	addresses := []string{e2e.Address(t), e2e.Address(t)}
	serve := func() *exec.Cmd {
		s.process("-c", s.File, "serve", "--http", addresses[0])
		return s.process("-c", s.File, "serve", "--http", addresses[1])
	}
	address := balance(t, addresses)
	s.outlives(serve, func() *exec.Cmd {
		return s.run([]string{"SCORES_TOKEN=" + tokenOf("vendor.scores")}, "php", file, address)
	})
}

// TestGuideToHTTPWorkers runs the requests of docs/guides/http-workers.md.
func TestGuideToHTTPWorkers(t *testing.T) {
	t.Parallel()
	const page = "docs/guides/http-workers.md"
	_, reports, _ := strings.Cut(fenced(t, page, "yaml")[0], "reports:\n")
	token := strings.Repeat("t", 32)
	reports = strings.NewReplacer("${SCORES_TOKEN}", token, "database: user", "database: db", "FROM shop.users", "FROM users").Replace(reports)
	s := newStack(t, "\n"+reports)
	s.Records.Exec("CREATE TABLE users (user_id INT PRIMARY KEY, since DATE)")
	s.Records.Exec("INSERT INTO users VALUES (1, '2024-01-01')")
	base, _ := s.browse()
	id := s.Records.Insert("scored-users", `{"from": "2024-01-01"}`)
	s.Jobs.Push(id)
	all := strings.ReplaceAll(strings.Join(fenced(t, page, "sh"), "\n"), "http://127.0.0.1:8080", base)
	c := exec.CommandContext(t.Context(), "sh", "-euc", all)
	c.Env = append(os.Environ(), "SCORES_TOKEN="+token)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != "user_id,score\r\n1,12.50\r\n" {
		t.Errorf("%q: %s", got, out)
	}
	// The answer in the reference has the form that the server gives.
	var want, got map[string]any
	claim, _, _ := strings.Cut(string(out), "\n")
	if err := errors.Join(json.Unmarshal([]byte(fenced(t, "docs/reference/worker-api.md", "json")[0]), &want), json.Unmarshal([]byte(claim), &got)); err != nil {
		t.Fatal(err)
	}
	if keys := func(of map[string]any) []string { return slices.Sorted(maps.Keys(of)) }; !slices.Equal(keys(want), keys(got)) {
		t.Errorf("the answer is %s", claim)
	}
}

// TestWorkersOverHTTPDie: workers are killed, repeat requests and lose answers, and processes are killed behind the
// one address. Every file is whole.
func TestWorkersOverHTTPDie(t *testing.T) {
	t.Parallel()
	const users, jobs = 1000, 12
	s := newStackAlone(t, nil, overHTTP, "limits: {lease: 2s, recover_after: 1s}")
	s.Records.Exec("CREATE TABLE users (user_id INT PRIMARY KEY, name VARCHAR(20), since DATE)")
	s.Records.Exec(fmt.Sprintf("INSERT INTO users SELECT seq, CONCAT('user ', seq), '2024-01-01' FROM seq_1_to_%d", users))
	s.process("-c", s.File, "serve")
	var addresses []string
	var apis []*exec.Cmd
	for range 2 {
		addresses = append(addresses, e2e.Address(t))
		apis = append(apis, s.process("-c", s.File, "serve", "--roles", "engine", "--http", addresses[len(addresses)-1]))
	}
	address := balance(t, addresses)
	r := remote{s.web, address, tokenOf("vendor.scores")}
	var ids []string
	for range jobs {
		ids = append(ids, s.Records.Insert("scored", `{"from": "2024-01-01"}`))
	}
	s.Jobs.Push(ids...)

	var left atomic.Int64 // workers that may still die
	left.Store(8)
	stop := make(chan struct{})
	var workers sync.WaitGroup
	for n := range 3 {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		workers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					r.work(random, &left)
				}
			}
		})
	}
	s.Eventually("the work has begun", func() bool { return left.Load() < 7 })
	kill(t, apis[0])
	s.process("-c", s.File, "serve", "--roles", "engine", "--http", addresses[0])
	for _, v := range s.Jobs.Wait(ids...) {
		s.wantScores(v)
	}
	close(stop)
	workers.Wait()
	if n := s.Redis.XLen(t.Context(), s.Partitions.First().Keys.Quarantined).Val(); n != 0 {
		t.Errorf("%d entries in the quarantine", n)
	}
}

// work works on a task, if there is one, and now and then dies.
func (r remote) work(random *rand.Rand, left *atomic.Int64) {
	// insist repeats a request while the server is away.
	insist := func(method, path, body string) (int, string) {
		for {
			status, text := r.ask(method, path, body)
			if status != 0 && status < 500 && status != http.StatusTooManyRequests {
				return status, text
			}
			if step.Wait(r.Context(), 50*time.Millisecond) != nil {
				return http.StatusGone, ""
			}
		}
	}
	status, text := r.ask("POST", "/api/v1/tasks/vendor.scores/claim?wait=200ms", "")
	var c claimed
	if status != http.StatusOK || json.Unmarshal([]byte(text), &c) != nil {
		return
	}
	status, text = insist("GET", c.Values[0].URL+"/user_id/0", "")
	var users []int
	if status != http.StatusOK || json.Unmarshal([]byte(text), &users) != nil {
		return
	}
	page := 0
	for ; len(users) > 0; page++ {
		n := min(len(users), 150)
		var rows []string
		for _, u := range users[:n] {
			rows = append(rows, fmt.Sprintf(`[%d,"%.2f"]`, u, float64(u)*1.5))
		}
		users = users[n:]
		for range 1 + random.IntN(2) { // the answer of the first is lost
			if status, _ := insist("PUT", fmt.Sprint(c.Task, "/rows/", page), "["+strings.Join(rows, ",")+"]"); status != http.StatusNoContent {
				return
			}
		}
		if random.IntN(8) == 0 && left.Add(-1) >= 0 {
			return // it dies
		}
	}
	if random.IntN(8) == 0 && left.Add(-1) >= 0 {
		insist("POST", c.Task+"/failed", `{"error": "not today"}`)
		return
	}
	insist("POST", c.Task+"/done", fmt.Sprintf(`{"pages": %d}`, page))
}
