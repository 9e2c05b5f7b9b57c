package worker

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/spool"
)

func TestMain(m *testing.M) { testmain.Main(m) }

var update = flag.Bool("update", false, "write the golden files anew")

// partitions is the number of partitions of a bundle.
const partitions = 2

// bundle is a Handler, without the other roles.
type bundle struct {
	*testing.T
	h      *Handler
	url    string
	client *redis.Client
	all    scripts.Partitions
	report *report.Report
	root   string // of the spool
	reads  func() // is called before a segment is read
}

// watchedSink calls the bundle before it opens an object.
type watchedSink struct {
	sink.Sink
	b *bundle
}

func (s watchedSink) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	s.b.reads()
	return s.Sink.Open(ctx, name)
}

// setup makes a Handler with partitions on a Redis; nil: the shared one.
func setup(t *testing.T, server *testenv.Redis) *bundle {
	t.Helper()
	if server == nil {
		server = testmain.SharedRedis(t)
	}
	b := &bundle{T: t, client: server.Client(), report: &report.Report{Name: "r", Stages: []report.Stage{{Listeners: []report.Listener{{
		Name: "a", Kind: report.External, Columns: []string{"c"}, Types: []report.Kind{report.KindInteger},
		Retry: report.Retry{Retries: 3, Delay: time.Second}, Timeout: time.Minute, Silence: time.Minute,
	}}}}}}
	t.Cleanup(func() { _ = b.client.Close() })
	b.root, b.reads = t.TempDir(), func() {}
	place, err := dir.New(b.root)
	b.ok(err)
	name := testmain.Name(t)
	keys := report.Keys{Prefix: name + ":", Hash: name + "-"}.Partitions(report.Redis{Partitions: partitions})
	var runners []*listeners.Runner
	for _, k := range keys {
		b.all = append(b.all, scripts.New(scripts.Options{Redis: b.client, Keys: k, Shared: keys[0]}))
	}
	for _, s := range b.all {
		r, err := listeners.New(listeners.Options{
			Redis: b.client, Scripts: s, Partitions: b.all, Reports: map[string]*report.Report{"r": b.report}, Consumer: "c",
			Limits: report.Limits{Lease: time.Second}, Spool: spool.New(spool.Options{Sink: watchedSink{place, b}, Tag: "abc234"}),
		})
		b.ok(err)
		runners = append(runners, r)
		b.ok(b.client.XGroupCreateMkStream(t.Context(), s.Keys.Task("a"), scripts.Group, "0").Err())
	}
	b.h = New(Options{
		Desk: listeners.NewDesk(runners), Tokens: map[string][]string{"a": {"old", "new"}, "b": {"other"}}, Root: "/api/v1",
	})
	site := httptest.NewServer(http.StripPrefix("/api/v1", b.h))
	t.Cleanup(site.Close)
	b.url = site.URL
	return b
}

func (b *bundle) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// start starts a job of the report.
func (b *bundle) start(id string) {
	b.Helper()
	plan := scripts.Plan{Report: "r", Definition: b.report.Hash(), Timeout: time.Hour, Listeners: "a"}
	outcomes, err := b.all.Of(id).Jobs.Start(b.Context(), "", scripts.Start{ID: id, Attempt: 1, Parameters: []byte("{}"), Plan: plan})
	if err != nil || outcomes[0] != scripts.OK {
		b.Fatal(outcomes, err)
	}
}

// ask sends a request with a token.
func (b *bundle) ask(ctx context.Context, token, method, path, body string) (*http.Response, string) {
	b.Helper()
	r, err := http.NewRequestWithContext(ctx, method, b.url+path, strings.NewReader(body))
	b.ok(err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return &http.Response{}, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	b.ok(err)
	return answer, string(text)
}

// want is ask with a valid token for an answer with this status.
func (b *bundle) want(status int, method, path, body string) string {
	b.Helper()
	answer, text := b.ask(b.Context(), "new", method, path, body)
	if answer.StatusCode != status {
		b.Fatalf("%s %s: %d, not %d: %s", method, path, answer.StatusCode, status, text)
	}
	return text
}

// claim claims a task, which must exist.
func (b *bundle) claim() (c Claimed) {
	b.Helper()
	b.ok(json.Unmarshal([]byte(b.want(200, "POST", "/api/v1/tasks/a/claim?wait=10s", "")), &c))
	return c
}

// volatile are the parts of an address that no two runs have in common.
var volatile = regexp.MustCompile(`~\d+-\d+~http-\w+|\d{13}-0|\{?Test\w+[^ "]*:task:a`)

// TestProblems: what every wrong request is answered.
func TestProblems(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.start("1")
	task := b.claim().Task
	b.want(204, "PUT", task+"/rows/0", "[[1]]")
	long := "[[" + strings.Repeat(" ", listeners.MaxPage) + "1]]"
	var got strings.Builder
	for _, c := range []struct{ what, token, method, path, body string }{
		{"no token", "", "POST", task + "/alive", ""},
		{"a wrong token", "olde", "POST", task + "/alive", ""},
		{"the token of another listener", "other", "POST", task + "/alive", ""},
		{"no such listener", "new", "POST", "/api/v1/tasks/none/claim", ""},
		{"a wait that is too long", "new", "POST", "/api/v1/tasks/a/claim?wait=1h", ""},
		{"no task", "new", "POST", "/api/v1/tasks/a~1~1/alive", ""},
		{"another method", "new", "GET", task + "/done", ""},
		{"another worker", "new", "POST", task + "x/alive", ""},
		{"another attempt", "new", "POST", strings.Replace(task, "a~1~1~", "a~1~2~", 1) + "/alive", ""},
		{"another job", "new", "POST", strings.Replace(task, "a~1~1~", "a~2~1~", 1) + "/alive", ""},
		{"a gap", "new", "PUT", task + "/rows/2", "[[1]]"},
		{"a number that is none", "new", "PUT", task + "/rows/-1", "[[1]]"},
		{"a page that is too large", "new", "PUT", task + "/rows/1", long},
		{"an end before the last page", "new", "POST", task + "/done", `{"pages": 2}`},
		{"an end without pages", "new", "POST", task + "/done", `{}`},
		{"a segment without a URL", "new", "PUT", task + "/segments/1", `{}`},
		{"a segment that is no JSON", "new", "PUT", task + "/segments/1", `url`},
		{"a segment that comes early", "new", "PUT", task + "/segments/2", `{"url": "x"}`},
		{"an end that is no JSON", "new", "POST", task + "/done", `pages=1`},
		{"no such values", "new", "GET", task + "/values/a/c/0", ""},
		{"a failure that is no JSON", "new", "POST", task + "/failed", `error`},
		{"rows of another type", "new", "PUT", task + "/rows/1", `[["x"]]`},
		{"after that", "new", "PUT", task + "/rows/1", `[[1]]`},
	} {
		answer, text := b.ask(t.Context(), c.token, c.method, c.path, c.body)
		if answer.Header.Get("Content-Type") != "application/problem+json" || answer.Header.Get("Cache-Control") != "no-store" ||
			(answer.StatusCode == 401) != (answer.Header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s: %v", c.what, answer.Header)
		}
		fmt.Fprintf(&got, "== %s\n%d %s", c.what, answer.StatusCode, volatile.ReplaceAllString(text, "…"))
	}
	const file = "testdata/problems.golden"
	if *update {
		b.ok(os.WriteFile(file, []byte(got.String()), 0o600))
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got.String() {
		t.Errorf("%v: not %s:\n%s", err, file, got.String())
	}
}

// segment writes a segment of a worker, of one row.
func (b *bundle) segment(c Claimed, row string) (body string) {
	b.Helper()
	encoder, err := zstd.NewWriter(nil)
	b.ok(err)
	text := encoder.EncodeAll([]byte("["+row+"]"), nil)
	index := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	text = append(text, "\x50\x2a\x4d\x18\x18\x00\x00\x00FANFOLD1\x01\x00\x00\x00\x01\x00\x00\x00"...)
	text = append(append(text, index...), 0x18, 0, 0, 0)
	path, ok := strings.CutPrefix(c.Segments, "file://")
	if !ok || !strings.HasPrefix(path, b.root+"/r/"+c.ID+"-1-abc234=a=0-") {
		b.Fatal(c.Segments)
	}
	b.ok(os.MkdirAll(b.root+"/r", 0o700))
	b.ok(os.WriteFile(path+"0.zst", text, 0o600))
	return fmt.Sprintf(`{"url": "%s0.zst"}`, c.Segments)
}

// TestSegments: their worker need not send anything while one is read, and loses its task to no other.
func TestSegments(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.start("1")
	c := b.claim()
	body := b.segment(c, "7")
	var renewed atomic.Int64
	b.reads = func() {
		key := b.all.Of("1").Keys.Job("1")
		before := b.client.HGet(t.Context(), key, "a:lease").Val()
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			if b.client.HGet(t.Context(), key, "a:lease").Val() != before {
				renewed.Add(1)
				return
			}
		}
	}
	b.want(204, "PUT", c.Task+"/segments/0", body)
	b.want(204, "PUT", c.Task+"/segments/0", body)
	b.want(204, "POST", c.Task+"/done", `{"pages": 1}`)
	b.want(410, "PUT", c.Task+"/segments/1", body)
	state, err := b.all.Of("1").Jobs.Read(t.Context(), "1")
	if a := state.Tasks["a"]; err != nil || !a.Done || a.Rows != 1 || a.At == "" || a.Tries != 1 || renewed.Load() != 1 {
		t.Errorf("%+v, %d renewals: %v", state, renewed.Load(), err)
	}
}

// TestSegmentsThatAreNotTaken end the try, or fail the task.
func TestSegmentsThatAreNotTaken(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for id, send := range map[string]struct {
		status int
		says   string
		what   func(c Claimed) string
	}{
		"1": {422, `column \"c\": the value \"x\" is not of type integer`, func(c Claimed) string { return b.segment(c, `"x"`) }},
		"2": {422, "does not have the form {segments}0.zst: its id differs", func(c Claimed) string { return strings.Replace(b.segment(c, "1"), "/2-1-", "/3-1-", 1) }},
		"3": {410, "0.zst of the spool does not exist", func(c Claimed) string { return fmt.Sprintf(`{"url": "%s0.zst"}`, c.Segments) }},
		"5": {410, "Claim the task again, and hand in every segment after all of it is written", func(c Claimed) string {
			body := b.segment(c, "1")
			b.ok(os.Truncate(strings.TrimPrefix(c.Segments, "file://")+"0.zst", 20))
			return body
		}},
		"4": {422, "the task has rows and segments", func(c Claimed) string {
			b.want(204, "PUT", c.Task+"/rows/0", "[[1]]")
			return ""
		}},
	} {
		b.start(id)
		c := b.claim()
		number := "0"
		body := send.what(c)
		if body == "" {
			number, body = "1", b.segment(c, "1")
		}
		if text := b.want(send.status, "PUT", c.Task+"/segments/"+number, body); !strings.Contains(text,
			strings.Replace(send.says, "{segments}", c.Segments, 1)) {
			t.Errorf("%s, not %s", text, send.says)
		}
		if state, err := b.all.Of(id).Jobs.Read(t.Context(), id); err != nil || state.Spooled > 0 {
			t.Errorf("%+v %v", state, err)
		}
	}
}

// TestClaimsArePerPartition: tasks of all partitions are claimed, each once, in any process and with each token.
func TestClaimsArePerPartition(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	used, claimed := map[*scripts.Scripts]bool{}, map[string]bool{}
	for i := range 10 {
		id := strconv.Itoa(i)
		used[b.all.Of(id)] = true
		b.start(id)
	}
	for range 10 {
		c := b.claim()
		claimed[c.ID] = true
		b.want(204, "PUT", c.Task+"/rows/0", "[["+c.ID+"]]")
		b.want(204, "POST", c.Task+"/done", `{"pages": 1}`)
		b.want(204, "POST", c.Task+"/done", `{"pages": 1}`)
		if state, err := b.all.Of(c.ID).Jobs.Read(t.Context(), c.ID); err != nil || !state.Tasks["a"].Done || state.Tasks["a"].Rows != 1 {
			t.Errorf("%+v %v", state, err)
		}
	}
	if len(claimed) != 10 || len(used) != partitions {
		t.Errorf("%v in %d partitions", claimed, len(used))
	}
	if answer, text := b.ask(t.Context(), "old", "POST", "/api/v1/tasks/a/claim", ""); answer.StatusCode != 204 {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// TestAClaimWaits for a task, and a worker that has gone takes none.
func TestAClaimWaits(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	gone, leave := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer leave()
	if answer, _ := b.ask(gone, "new", "POST", "/api/v1/tasks/a/claim?wait=10s", ""); answer.StatusCode != 0 {
		t.Error(answer.StatusCode)
	}
	claimed := make(chan Claimed, 1)
	go func() { claimed <- b.claim() }()
	for deadline := time.Now().Add(10 * time.Second); len(b.h.claims) != 1; { // the first has gone, the second waits
		if time.Now().After(deadline) {
			t.Fatal(len(b.h.claims))
		}
		b.want(204, "POST", "/api/v1/tasks/a/claim?wait=10ms", "")
	}
	b.start("1")
	if c := <-claimed; c.ID != "1" {
		t.Errorf("%+v", c)
	}
	for range maxClaims {
		b.h.claims <- struct{}{}
	}
	if text := b.want(503, "POST", "/api/v1/tasks/a/claim?wait=10s", ""); !strings.Contains(text, `"code":"streams"`) {
		t.Error(text)
	}
}

// TestWithoutRedis: the answer is 503 with Retry-After, and the same request succeeds when Redis is back.
func TestWithoutRedis(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	b := setup(t, server)
	b.h.patience = 300 * time.Millisecond
	b.start("1")
	task := b.claim().Task
	server.Freeze()
	for _, c := range [][3]string{
		{"PUT", task + "/rows/0", "[[1]]"}, {"POST", "/api/v1/tasks/a/claim", ""},
	} {
		answer, text := b.ask(t.Context(), "new", c[0], c[1], c[2])
		if answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" || !strings.Contains(text, `"code":"away"`) {
			t.Errorf("%s: %d %s", c, answer.StatusCode, text)
		}
	}
	server.Thaw()
	b.h.patience = applyTime
	b.want(204, "PUT", task+"/rows/0", "[[1]]")
	b.want(204, "POST", task+"/done", `{"pages": 1}`)
	state, err := b.all.Of("1").Jobs.Read(t.Context(), "1")
	if err != nil || !state.Tasks["a"].Done || state.Tasks["a"].Tries != 1 {
		t.Errorf("%+v %v", state, err)
	}
}

// TestInAFullRedis: the try of a worker whose rows find no memory ends, and does not count.
func TestInAFullRedis(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	b := setup(t, server)
	b.start("1")
	task := b.claim().Task
	b.ok(b.client.ConfigSet(t.Context(), "maxmemory", "1mb").Err())
	if text := b.want(410, "PUT", task+"/rows/0", "[[1]]"); !strings.Contains(text, "Redis is full") {
		t.Error(text)
	}
	state, err := b.all.Of("1").Jobs.Read(t.Context(), "1")
	if err != nil || state.Tasks["a"].Tries != 0 || state.Tasks["a"].Next.IsZero() {
		t.Errorf("%+v %v", state, err)
	}
}
