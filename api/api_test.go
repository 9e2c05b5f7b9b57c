package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/web"
)

// create sends a request to create a job and returns what was answered.
func (b *bundle) create(of, body string, header ...string) (created, *http.Response) {
	b.Helper()
	answer, text := b.ask("POST", "/reports/"+of+"/jobs", body, header...)
	var v created
	if answer.StatusCode == http.StatusCreated {
		b.ok(json.Unmarshal([]byte(text), &v))
	}
	return v, answer
}

// pushed counts the entries of the stream of jobs.
func (b *bundle) pushed() int64 { return b.redis.XLen(b.Context(), b.prefix+":jobs").Val() }

// TestCreate inserts the parameters in the form of their types, without defaults, and pushes the id.
func TestCreate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v, answer := b.create("typed", `{"ids": ["18446744073709551615", 2], "s": "a<b"}`)
	if want := "/fanfold/api/v1/jobs/" + v.ID; !v.Pushed || v.Status != want || answer.Header.Get("Location") != want || v.Events != want+"/events" || v.File != want+"/file" || b.pushed() != 1 {
		t.Errorf("%+v %s %d", v, answer.Header.Get("Location"), b.pushed())
	}
	var parameters, status string
	b.ok(b.db.QueryRowContext(t.Context(), "SELECT parameters, status FROM file_download_record WHERE id = ?", v.ID).Scan(&parameters, &status))
	if parameters != `{"ids":[18446744073709551615,2],"s":"a<b"}` || status != "PENDING" {
		t.Errorf("%s %s", parameters, status)
	}
}

// TestReports: a client sees what limits a value, and a relative default as written.
func TestReports(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, text := b.ask("GET", "/reports", "")
	const dated = `{"name":"dated","parameters":[` +
		`{"name":"from","type":"date","list":false,"required":false,"default":"month-1","description":"First day",` +
		`"minimum":"2024-01-01","maximum":"9998-12-31"},` +
		`{"name":"tag","type":"string","list":false,"required":true,"options":["vip","new"]},` +
		`{"name":"level","type":"integer","list":false,"required":false,"default":null,"options":["1","2"]},` +
		`{"name":"code","type":"string","list":false,"required":false,"default":"a","pattern":"[a-z]+"}]}`
	if !strings.Contains(text, dated) {
		t.Errorf("%s", text)
	}
}

// TestCreateKeepsRelativeDates: the record has the text, so that a repeated request is the same on another day.
func TestCreateKeepsRelativeDates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v, _ := b.create("dated", `{"tag": "vip", "from": "today-30d"}`)
	var parameters string
	b.ok(b.db.QueryRowContext(t.Context(), "SELECT parameters FROM file_download_record WHERE id = ?", v.ID).Scan(&parameters))
	if parameters != `{"from":"today-30d","tag":"vip"}` {
		t.Error(parameters)
	}
}

// TestCreateOnceForAKey: a key makes one record, also if the same values are written in another way, and only a
// PENDING record is pushed again.
func TestCreateOnceForAKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, _ := b.create("typed", `{"s": "x", "i": 1}`, "Idempotency-Key", "k")
	again, answer := b.create("typed", "{\n\"i\": \"1\", \"s\": \"\\u0078\"}", "Idempotency-Key", "k")
	if first.ID == "" || first != again || answer.Header.Get("Idempotency-Replayed") != "true" || b.records() != 1 || b.pushed() != 2 {
		t.Errorf("%+v %+v, %d records, %d pushed", first, again, b.records(), b.pushed())
	}
	b.exec("UPDATE file_download_record SET status = 'SUCCESS'")
	if again, _ := b.create("typed", `{"s": "x", "i": 1}`, "Idempotency-Key", "k"); first != again || b.pushed() != 2 {
		t.Errorf("%+v, %d pushed", again, b.pushed())
	}
	for _, c := range []struct{ report, body string }{{"typed", `{"s": "x", "i": 2}`}, {"typed", `{"s": "x"}`}, {"plain", ""}} {
		if v, answer := b.create(c.report, c.body, "Idempotency-Key", "k"); answer.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s %s: %d %+v", c.report, c.body, answer.StatusCode, v)
		}
	}
	if v, _ := b.create("typed", `{"s": "x", "i": 1}`, "Idempotency-Key", "K"); v.ID == "" || v.ID == first.ID || b.records() != 2 {
		t.Errorf("another key: %+v, %d records", v, b.records())
	}
	b.exec("DELETE FROM file_download_record WHERE id = ?", first.ID)
	before := b.pushed()
	if answer, text := b.ask("POST", "/reports/typed/jobs", `{"s": "x", "i": 1}`, "Idempotency-Key", "k"); answer.StatusCode != http.StatusGone || !strings.Contains(text, "new Idempotency-Key") || b.pushed() != before || b.records() != 1 {
		t.Errorf("a record that was deleted: %d %s, %d pushed", answer.StatusCode, text, b.pushed())
	}
	b.exec("DROP TABLE fanfold_request")
	if _, text := b.ask("POST", "/reports/plain/jobs", "", "Idempotency-Key", "n"); !strings.Contains(text, "create it with fanfold migrate") || b.records() != 1 {
		t.Errorf("without the table: %s", text)
	}
}

// TestCreateRefuses wrong requests, names all that is wrong, and inserts nothing.
func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		path, body string
		header     []string
		status     int
		words      string
	}{
		{"/reports/typed/jobs", "", nil, 422, `{"name":"s","detail":"it is missing","remedy":"Give a string"}`},
		{"/reports/typed/jobs", `{"i": "x", "z\u0000": [], "s": null}`, nil, 422, `{"name":"i","detail":"it is not an integer","remedy":"Give a whole number, or a string of its digits"},{"name":"z\u0000","detail":"it is not known","remedy":"The report has`},
		{"/reports/dated/jobs", `{"tag": "old", "level": 3, "code": "A1", "from": "2023-12-31"}`, nil, 422, `{"name":"from","detail":"it is below the minimum","remedy":"Give a string such as \"2006-01-02\" or \"today-30d\", from 2024-01-01 to 9998-12-31"},{"name":"tag","detail":"it is not one of the options","remedy":"Give one of vip, new"},{"name":"level","detail":"it is not one of the options","remedy":"Give one of 1, 2"},{"name":"code","detail":"it is a string that does not match the pattern","remedy":"Give a string that matches [a-z]+"}`},
		{"/reports/typed/jobs", `{"s": "x", "s": "y"}`, nil, 400, "given twice"},
		{"/reports/typed/jobs", `{"s": "x"} {}`, nil, 400, "unexpected text after the JSON object"},
		{"/reports/typed/jobs", "{\"s\": \"a\xffb\"}", nil, 400, "not UTF-8"},
		{"/reports/typed/jobs", `{"s": "\ud800"}`, nil, 400, "surrogate"},
		{"/reports/typed/jobs", `{"s": "\ud800\u0041"}`, nil, 400, "surrogate"},
		{"/reports/typed/jobs", `{"s": "\\\udc00x"}`, nil, 400, "surrogate"},
		{"/reports/typed/jobs", `{"\uD83D": "x"}`, nil, 400, "surrogate"},
		{"/reports/typed/jobs", `"s"`, nil, 400, "not a JSON object"},
		{"/reports/typed/jobs", strings.Repeat("[", 70_000), nil, 400, "not a JSON object"},
		{"/reports/typed/jobs", `{"s": "` + strings.Repeat("x", 66_000) + `"}`, nil, 422, "limits.parameter_bytes is 65536"},
		{"/reports/typed/jobs", strings.Repeat(" ", 100_000), nil, 413, "limits.parameter_bytes"},
		{"/reports/plain/jobs", "{}", []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"/reports/plain/jobs", "", []string{"Idempotency-Key", ""}, 400, "1 to 200 printable"},
		{"/reports/plain/jobs", "", []string{"Idempotency-Key", "é"}, 400, "1 to 200 printable"},
		{"/reports/Plain/jobs", "", nil, 404, "The reports are dated, other, plain, scored, typed"},
		{"/reports/..%2f..%2fplain/jobs", "", nil, 404, "The reports are"},
		{"/reports//jobs", "", nil, 404, ""},
		{"/jobs/1%2Fcancel/cancel", "", nil, 400, "is not a valid id"},
		{"/jobs/%00/retry", "", nil, 400, "is not a valid id"},
		{"/jobs/" + strings.Repeat("1", 65) + "/retry", "", nil, 400, "is not a valid id"},
		{"/nothing", "", nil, 404, "openapi.json"},
	} {
		answer, text := b.ask("POST", c.path, c.body, c.header...)
		var p problem
		if err := json.Unmarshal([]byte(text), &p); c.words != "" && (err != nil || p.Status != c.status || p.Title == "" || p.Code == "" || p.Detail == "" || p.Remedy == "" || answer.Header.Get("Content-Type") != "application/problem+json") {
			t.Errorf("%s %.80s: %v %s", c.path, c.body, err, text)
		}
		if c.words != "" && (answer.StatusCode != c.status || !strings.Contains(text, c.words)) {
			t.Errorf("%s %.80s: %d, and not %d with %s: %.500s", c.path, c.body, answer.StatusCode, c.status, c.words, text)
		}
	}
	if answer, text := b.ask("DELETE", "/jobs/1", ""); answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "GET, HEAD" || !strings.Contains(text, `"code":"method"`) {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	if b.records() != 0 {
		t.Errorf("%d records", b.records())
	}
}

// TestWholeTexts: what the decoder reads as it was written is accepted.
func TestWholeTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"s": "\ud83d\ude00"}`: true, `{"s": "\\ud800"}`: true, `{"s": "\u0000\n\\"}`: true, `{"s": "é😀�"}`: true, ``: true,
		`{"s": "\ude00\ud83d"}`: false, `{"s": "\ud83d\n\ude00"}`: false, `"\ud800`: false, "\xc3": false,
	} {
		if got := whole([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestProblemsQuoteNoServer: error texts of servers are only in the log.
func TestProblemsQuoteNoServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.insert("plain", report.Pending)
	b.exec("ALTER TABLE file_download_record RENAME COLUMN status TO secret_status")
	answer, text := b.ask("GET", "/jobs/"+id, "")
	if answer.StatusCode != http.StatusInternalServerError || strings.Contains(text, "status'") || strings.Contains(text, "file_download_record") || !strings.Contains(b.log.String(), "Unknown column") {
		t.Errorf("%d %s\n%s", answer.StatusCode, text, b.log.String())
	}
	b.ok(b.db.Close())
	if answer, text := b.ask("GET", "/jobs/"+id, ""); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || strings.Contains(text, "sql:") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// TestCreateWithoutRedis makes a record that an engine starts later, and says so.
func TestCreateWithoutRedis(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok(b.redis.Close())
	if v, answer := b.create("plain", ""); answer.StatusCode != http.StatusCreated || v.Pushed || b.records() != 1 {
		t.Errorf("%d %+v, %d records", answer.StatusCode, v, b.records())
	}
}

// TestEvents sends a job at once, after every change, and at its end.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.insert("plain", report.Pending)
	answer, err := http.DefaultTransport.RoundTrip(b.request("GET", "/jobs/"+id+"/events", ""))
	b.ok(err)
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("%d %s", answer.StatusCode, kind)
	}
	lines := bufio.NewScanner(answer.Body)
	next := func() (event string, v inspect.Job) {
		for lines.Scan() {
			line := lines.Text()
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				event = name
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				b.ok(json.Unmarshal([]byte(data), &v))
				return event, v
			}
		}
		return "", v
	}
	if event, v := next(); event != "job" || v.ID != id || v.Status != report.Pending {
		t.Errorf("%s %+v", event, v)
	}
	b.exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", id)
	if event, v := next(); event != "job" || v.Status != report.Processing || v.Attempt != 1 {
		t.Errorf("%s %+v", event, v)
	}
	b.exec("UPDATE file_download_record SET status = 'FAILED', error = 'two\nlines' WHERE id = ?", id)
	if event, v := next(); event != "end" || v.Status != report.Failed || v.Error != "two\nlines" {
		t.Errorf("%s %+v", event, v)
	}
	if event, _ := next(); event != "" {
		t.Errorf("after the end there is %s", event)
	}
}

// TestEventsEndWithTheirClient: a client that disconnects frees its slot.
func TestEventsEndWithTheirClient(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.insert("plain", report.Pending)
	ctx, cancel := context.WithCancel(t.Context())
	answer, err := http.DefaultTransport.RoundTrip(b.request("GET", "/jobs/"+id+"/events", "").WithContext(ctx))
	b.ok(err)
	if b.api.streams.Len() != 1 {
		t.Errorf("%d streams", b.api.streams.Len())
	}
	cancel()
	_ = answer.Body.Close()
	for end := time.Now().Add(time.Minute); b.api.streams.Len() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the stream continues")
		}
	}
}

// TestEventsEndInTime: a stream ends after its maximum duration, without a problem.
func TestEventsEndInTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.api.streamTime = 700 * time.Millisecond
	id := b.insert("plain", report.Pending)
	if answer, text := b.ask("GET", "/jobs/"+id+"/events", ""); answer.StatusCode != http.StatusOK || strings.Contains(text, "problem") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	if answer, text := b.ask("HEAD", "/jobs/"+id+"/events", ""); answer.StatusCode != http.StatusOK || text != "" || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
	if b.api.streams.Len() != 0 {
		t.Errorf("%d streams are left", b.api.streams.Len())
	}
}

// TestEventsOfASlowClient: a client that receives nothing is disconnected.
func TestEventsOfASlowClient(t *testing.T) {
	t.Parallel()
	s := &follower{Stream: web.NewStream(stuck{httptest.NewRecorder()})}
	if err := s.Show(inspect.Job{ID: "1", Status: report.Deleted}); err == nil || s.Err() == nil {
		t.Error("the write went well")
	}
}

// stuck is a client whose write deadline has passed.
type stuck struct{ *httptest.ResponseRecorder }

func (stuck) SetWriteDeadline(time.Time) error { return nil }
func (stuck) FlushError() error                { return io.ErrShortWrite }
