package command

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// web gets the pages and the API of a process that serves them.
type web struct {
	*e2e.Stack
	processes processes
}

// browse serves the dashboard of a stack and returns its address and a function that gets its
// pages.
func (s web) browse() (base string, page func(path string) (int, string)) {
	s.Helper()
	base = "http://" + e2e.Address(s.TB)
	s.processes.process("-c", s.File, "serve", "--http", strings.TrimPrefix(base, "http://"))
	page = func(path string) (int, string) {
		s.Helper()
		r, err := http.Get(base + path)
		if err != nil {
			return 0, err.Error()
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			s.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	s.Eventually("the dashboard answers", func() bool { code, _ := page("/"); return code == http.StatusOK })
	return base, page
}

// TestDashboard shows jobs in every state, from the data in Redis and in the records.
func TestDashboard(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow+`
  failing: {retry: {retries: 1, delay: 1h}, listeners: {broken: {database: db, query: "SELECT k FROM there_is_none"}}}
`, `limits: {shutdown_timeout: 1s}
databases: {db: {dsn: "{dsn}", parallel: 3, rate: 100/m}}
timers: {beep: {key: "beep-{x}", append: {stream: messages, fields: {x: "{x}"}}}}`)
	_, page := s.browse()
	has := func(path string, words ...string) {
		t.Helper()
		s.Eventually(fmt.Sprintf("%s has %q", path, words), func() bool {
			code, text := page(path)
			for _, w := range words {
				if !strings.Contains(text, w) {
					return false
				}
			}
			return code == http.StatusOK && !strings.Contains(text, "do not answer")
		})
	}
	has("/", "every listener has workers", "1 running", "<dd>reachable</dd>")
	has("/", "Keyspace events", "<dd>published</dd>", "<dt>Sink</dt><dd>reachable</dd>")
	done := s.Records.Insert("slow", `{"seconds": 0}`)
	running := s.Records.Insert("slow", `{"seconds": 300}`)
	failing := s.Records.Insert("failing", "")
	s.Jobs.Push(done, running, failing)
	s.Jobs.Wait(done)
	has("/jobs", ">"+running+"</a>", "0 of 1")
	has("/jobs?q="+running, ">"+running+"</a>", `<span class="kind">running</span>`, "It waits for one: its query")
	has("/jobs?q=seconds%3D300", ">"+running+"</a>")
	has("/jobs?q=seconds%3D301", "No job is in this view.")
	has("/jobs", `/records?status=partial"`, `/records?status=failed"`)
	has("/jobs?q=none", "No job is in this view.")
	has("/records?status=success&report=slow&since=hour", ">"+done+"</a>", "SUCCESS")
	has("/records?param=seconds%3D300", ">"+running+"</a>", "PROCESSING")
	has("/records?status=cancelled&since=nonsense", "No records match.")
	has("/", "Source db</a></dt><dd>reachable</dd>", "1 running, version dev")
	has("/listeners", "1 of 3", "100/m", "Tasks done per minute", "Failed tries", `data-label="Failed tries">1</td>`)
	s.Eventually("the source has a rate and a duration", func() bool {
		_, text := page("/listeners")
		return regexp.MustCompile(`(?s)>100/m</td>.*"Tasks done per minute">[0-9.]+</td>.*"95th percentile">[0-9.]+m?s</td>.*"Failed tries">1</td>`).MatchString(text)
	})
	has("/jobs/"+running, "PROCESSING", "running", "See for yourself", "redis-cli")
	has("/jobs/"+done, "SUCCESS", "file://")
	if out, code := s.fanfold("pause", "listener", "broken"); code != exitOK {
		t.Fatal(out)
	}
	has("/", `<a href="/listeners?only=broken">listener broken</a>`)
	has("/listeners", "paused")
	s.Redis.ZAdd(t.Context(), s.Partitions.First().Keys.Delayed, redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: "77"})
	if out, code := s.fanfold("timer", "set", "beep-1", "--in", "2h"); code != exitOK {
		t.Fatal(out)
	}
	has("/due", "beep-1", ">77</a>")
	has("/reports", "slow", "seconds")
	// A dead job, in a group with others like it.
	s.Records.Exec("UPDATE file_download_record SET status = 'FAILED', error = 'a <b>tale</b> of 17 rows' WHERE id = ?", done)
	s.Redis.ZAdd(t.Context(), s.Partitions.Of(done).Keys.Dead, redis.Z{Score: float64(time.Now().UnixMilli()), Member: done})
	has("/dead", "1 ×", "a &lt;b&gt;tale&lt;/b&gt; of 17 rows")
	// Any id is found, and what cannot be a filter is refused.
	has("/search?q="+done, "<h1>Job "+done+"</h1>", "It has failed", "FAILED")
	has("/search?q="+running, "<h1>Job "+running+"</h1>", "PROCESSING")
	has("/search?q=77", "<h1>Job 77</h1>", ">delayed</strong>")
	has("/search?q=slow", "<h1>Reports</h1>", "Only slow", "/reports#r-slow")
	has("/search?q=broken", "<h1>Listeners</h1>", "Only broken")
	has("/search?q=beep-1", "<h1>Due later</h1>", "Only beep-1")
	has("/search?q=seconds%3D300", "<h1>Records</h1>", `value="seconds=300"`, ">"+running+"</a>")
	has("/search?q=seconds+%3D+300", "<h1>Records</h1>", `value="seconds=300"`, ">"+running+"</a>")
	has("/jobs?q=seconds+%3D+300", "/jobs/"+running)
	has("/records?param=seconds+%3D+300", "/jobs/"+running)
	has("/search?q=TALE", "dead jobs", `<a href="/dead?group=`, "1 × slow")
	has("/search?q=be", "beep-1", "timer")
	for _, none := range []string{"999999", "no such text", "a/b", ""} {
		has("/search?q="+url.QueryEscape(none), "<h1>Search</h1>", `<p class="none">`)
	}
	has("/jobs?q="+done, "No job is in this view.", `<a href="/search?q=`+done+`">`)
	has("/records?id="+done, ">"+done+"</a>")
	has("/records?id=999999", "No records match.")
	for path, says := range map[string]string{
		"/records?param=seconds": "Parameter seconds: write name=value", "/records?param=%3Dx": "write name=value", "/records?status=odd": "Status: ODD is not one of", "/records?id=a+b": "Id: an id is",
	} {
		if code, text := page(path); code != 400 || !strings.Contains(text, says) || strings.Contains(text, "<tbody") {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if _, text := page("/records"); strings.Contains(text, "as of") || strings.Contains(text, "Pause updates") {
		t.Errorf("records are not updated: %s", text)
	}
	if _, text := page("/nothing"); !strings.Contains(text, `<nav aria-label="Pages">`) || !strings.Contains(text, "this page does not exist") {
		t.Errorf("not a page: %s", text)
	}
	// A PARTIAL record has its error once.
	s.Records.Exec("UPDATE file_download_record SET status = 'PARTIAL', error = 'without listener one' WHERE id = ?", done)
	s.Eventually("the error is there once", func() bool {
		_, text := page("/jobs/" + done)
		return strings.Count(text, "without listener one") == 1
	})
	for path, want := range map[string]int{"/jobs/999999": 404, "/jobs/" + url.PathEscape("../x"): 404, "/nothing": 404, "/assets/style.css": 200, "/assets/live.js": 200, "/assets/../dashboard.go": 404} {
		if code, text := page(path); code != want {
			t.Errorf("%s: %d, not %d: %.200s", path, code, want, text)
		}
	}
}

// TestHealth: the dashboard shows settings of Redis and of the sink that put jobs at risk.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, e2e.Slow)
	if err := s.Redis.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(s.Dir, "files")
	if err := os.MkdirAll(place, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("fanfold-check", filepath.Join(place, "fanfold-check")); err != nil { // a dangling link
		t.Fatal(err)
	}
	_, page := s.browse()
	s.Eventually("the overview warns", func() bool {
		_, text := page("/")
		return strings.Contains(text, "maxmemory-policy allkeys-lru: Redis may delete running jobs") && !strings.Contains(text, "<dt>Sink</dt><dd>reachable</dd>")
	})
}
