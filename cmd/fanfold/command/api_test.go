package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// apiReports has the reports of docs/guides/http-api.md and a slow one.
const apiReports = e2e.Slow + `
  tagged-withdrawals:
    parameters: {tag: string, from: {type: date, default: "2024-01-01"}}
    listeners:
      two: {database: db, query: "SELECT seq AS k, :tag AS tag, :from AS since, REPEAT('x', 100) AS v FROM seq_1_to_20000"}
`

// call sends a request to the API and returns the status and the complete answer.
func (s web) call(method, url, body string, header ...string) (int, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// idOf returns the id in an answer.
func (s web) idOf(text string) string {
	s.Helper()
	var v struct{ ID string }
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.ID == "" {
		s.Fatalf("%v: %s", err, text)
	}
	return v.ID
}

// TestAPI creates a job, follows it and downloads its file. It cancels another job and runs it
// again.
func TestAPI(t *testing.T) {
	t.Parallel()
	s := newStack(t, apiReports, "limits: {shutdown_timeout: 1s}")
	base, _ := s.browse()
	base += "/api/v1"
	code, text := s.call("POST", base+"/reports/tagged-withdrawals/jobs", `{"tag": "a,\"b\""}`)
	if code != http.StatusCreated {
		t.Fatalf("%d %s", code, text)
	}
	id := s.idOf(text)
	events, err := http.Get(base + "/jobs/" + id + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	var names []string
	var last inspect.Job
	for lines := bufio.NewScanner(events.Body); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			names = append(names, name)
		} else if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(data), &last); err != nil {
				t.Fatal(err)
			}
		}
	}
	if last.Status != report.Success || names[len(names)-1] != "end" || strings.Count(strings.Join(names, " "), "end") != 1 {
		t.Errorf("%q %+v", names, last)
	}
	want := s.Records.Expect("k,tag,since,v", `SELECT seq, 'a,"b"', '2024-01-01', REPEAT('x', 100) FROM seq_1_to_20000`)
	if code, got := s.call("GET", base+"/jobs/"+id+"/file", ""); code != http.StatusOK || got != want {
		t.Errorf("%d, %d bytes, want %d: %.200s", code, len(got), len(want), got)
	}
	_, shown := s.call("GET", base+"/jobs/"+id, "")
	printed, _ := s.fanfold("status", id, "-o", "json")
	var here, there map[string]any
	if err := json.Unmarshal([]byte(shown), &here); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(printed), &there); err != nil {
		t.Fatal(err)
	}
	for _, v := range []map[string]any{here, there} {
		for _, at := range []string{"changed", "created", "started", "ended"} { // counted back from now
			if v[at] == nil {
				t.Errorf("%v has no %s", v, at)
			}
			delete(v, at)
		}
	}
	if a, b := jsonText(t, here), jsonText(t, there); a != b {
		t.Errorf("the API answers\n%s\nstatus prints\n%s", a, b)
	}

	_, text = s.call("POST", base+"/reports/slow/jobs", `{"seconds": 300}`)
	id = s.idOf(text)
	s.Eventually("the query runs", func() bool {
		_, text := s.call("GET", base+"/jobs/"+id, "")
		return strings.Contains(text, `"state":"running"`)
	})
	if code, text := s.call("POST", base+"/jobs/"+id+"/retry", ""); code != http.StatusConflict || !strings.Contains(text, "fanfold cancel") {
		t.Errorf("retry: %d %s", code, text)
	}
	if code, text := s.call("POST", base+"/jobs/"+id+"/cancel", `{"reason": "by mistake"}`); code != http.StatusOK || !strings.Contains(text, `"outcome":"cancelled"`) {
		t.Errorf("cancel: %d %s", code, text)
	}
	if v := s.Jobs.Wait(id)[0]; v.Status != report.Cancelled || v.Error != "by mistake" {
		t.Errorf("%+v", v)
	}
	if code, text := s.call("GET", base+"/jobs/"+id+"/file", ""); code != http.StatusConflict || !strings.Contains(text, "by mistake") {
		t.Errorf("file: %d %s", code, text)
	}
	if code, text := s.call("POST", base+"/jobs/"+id+"/retry", ""); code != http.StatusAccepted {
		t.Errorf("retry: %d %s", code, text)
	}
	s.Eventually("the next attempt runs", func() bool {
		_, text := s.call("GET", base+"/jobs/"+id, "")
		return strings.Contains(text, `"state":"running"`) && strings.Contains(text, `"attempt":2`)
	})
	for _, forged := range []string{"same-site", "cross-site"} {
		if code, text := s.call("POST", base+"/jobs/"+id+"/cancel", "", "Sec-Fetch-Site", forged, "Origin", "http://evil.example"); code != http.StatusForbidden {
			t.Errorf("from another site: %d %s", code, text)
		}
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAPICreatesOnceThroughACrash kills the process during a request: before its transaction
// commits, and between the commit and the push. A second request with the same key creates no
// second record, and the job runs.
func TestAPICreatesOnceThroughACrash(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, apiReports, "limits: {shutdown_timeout: 1s}")
	serve := func() (base string, kill func()) {
		base = "http://" + e2e.Address(t)
		c := s.process("-c", s.File, "serve", "--http", strings.TrimPrefix(base, "http://"))
		base += "/api/v1"
		s.Eventually("the API answers", func() bool { code, _ := s.call("GET", base+"/reports", ""); return code == http.StatusOK })
		return base, func() {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = c.Wait()
		}
	}
	create := func(base, key string) (int, string) {
		return s.call("POST", base+"/reports/tagged-withdrawals/jobs", `{"tag": "x"}`, "Idempotency-Key", key)
	}
	records := func() int { return s.Records.Number("SELECT COUNT(*) FROM file_download_record") }
	for key, c := range map[string]struct {
		stop  func() (resume func()) // what the request needs
		there func() bool            // the request waits for that
	}{
		"in the transaction": {
			func() func() {
				conn, err := s.DB.Conn(t.Context())
				if err == nil {
					_, err = conn.ExecContext(t.Context(), "LOCK TABLES file_download_record WRITE")
				}
				if err != nil {
					t.Fatal(err)
				}
				return func() {
					_, err := conn.ExecContext(t.Context(), "UNLOCK TABLES")
					if err = errors.Join(err, conn.Close()); err != nil {
						t.Fatal(err)
					}
				}
			},
			func() bool {
				return s.Records.Number("SELECT COUNT(*) FROM information_schema.processlist WHERE db = ? AND info LIKE 'INSERT INTO `file_download_record`%'", s.Schema) == 1
			},
		},
		"before the push": {
			func() func() { s.Server.Freeze(); return s.Server.Thaw },
			func() bool { return records() == 1 },
		},
	} {
		t.Run(key, func(t *testing.T) {
			s.Records.Exec("DELETE FROM file_download_record")
			base, kill := serve()
			resume := c.stop()
			answered := make(chan int, 1)
			go func() {
				code, _ := create(base, key)
				answered <- code
			}()
			s.Eventually("the request waits", c.there)
			kill()
			if code := <-answered; code != 0 {
				t.Errorf("it was answered with %d", code)
			}
			resume()
			base, kill = serve()
			defer kill()
			code, text := create(base, key)
			if code != http.StatusCreated {
				t.Fatalf("%d %s", code, text)
			}
			id := s.idOf(text)
			if v := s.Jobs.Wait(id)[0]; v.Status != report.Success {
				t.Errorf("%+v", v)
			}
			if code, text := create(base, key); code != http.StatusCreated || s.idOf(text) != id || records() != 1 {
				t.Errorf("%d %s, %d records", code, text, records())
			}
		})
	}
}

// TestAPIInTheDocs runs the requests of docs/guides/http-api.md.
func TestAPIInTheDocs(t *testing.T) {
	t.Parallel()
	s := newStack(t, apiReports, "limits: {shutdown_timeout: 1s}")
	base, _ := s.browse()
	id := ""
	var all strings.Builder
	for _, block := range fenced(t, "docs/guides/http-api.md", "sh") {
		if id != "" {
			block = strings.ReplaceAll(block, "1111", id)
		}
		c := exec.CommandContext(t.Context(), "sh", "-euc", strings.ReplaceAll(block, "http://127.0.0.1:8080", base))
		c.Dir = t.TempDir()
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", block, err, out)
		}
		if id == "" {
			id = s.idOf(string(out))
		}
		all.Write(out)
		if strings.Contains(block, "report.csv") && !strings.HasPrefix(read(t, c.Dir+"/report.csv"), "k,tag,since,v\r\n1,vip,2024-06-01,") {
			t.Error("not the file")
		}
	}
	for _, words := range []string{`"pushed":true`, "event: end\n", `"status":"SUCCESS"`, `"code":"state"`} {
		if !strings.Contains(all.String(), words) {
			t.Errorf("no answer has %s:\n%s", words, all.String())
		}
	}
	// The answers in the page are of the form that the server gives.
	for _, text := range fenced(t, "docs/guides/http-api.md", "json") {
		of := regexp.MustCompile(`"(id|code)":`).FindString(text)
		if !strings.Contains(all.String(), of) {
			t.Errorf("no answer has %s", of)
		}
	}
}
