package http

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "token-7Qx"

// bundle is an API that a test plays, and a listener of it.
type bundle struct {
	t        *testing.T
	api      report.API
	listener *report.Listener
	fields   *Fields // of the listener
	task     listeners.Task
	asked    atomic.Int64
}

// setup plays an API. Columns are those of the result, in the order of their names'
// letters: a, b, c …, each with a path and perhaps a type behind a space.
func setup(t *testing.T, handle http.HandlerFunc, result Result, columns ...string) *bundle {
	t.Helper()
	b := &bundle{t: t, listener: &report.Listener{Name: "l", Kind: Name, Source: "vendor", Timeout: time.Minute}, fields: &Fields{Batch: 2, Result: result}}
	b.listener.Own = b.fields
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.asked.Add(1)
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	b.api = report.API{
		Name: "vendor", URL: server.URL + "/v2", Timeout: time.Minute, MaxBytes: 1 << 20,
		Headers: map[string]report.Secret{"Authorization": report.Secret("Bearer " + secret)},
	}
	if result.Method == "" {
		result.Method = http.MethodGet
	}
	if result.Path == "" {
		result.Path = "/rows"
	}
	if !result.Rows.Given() {
		result.Rows = path(t, "$.rows")
	}
	b.fields.Result = result
	for i, c := range columns {
		at, kind, _ := strings.Cut(c, " ")
		at, optional := strings.CutSuffix(at, "?")
		b.listener.Columns = append(b.listener.Columns, string(rune('a'+i)))
		b.fields.Columns = append(b.fields.Columns, Field{Path: path(t, at), Kind: report.Kind(kind), Optional: optional})
	}
	b.task = listeners.Task{ID: "1", Attempt: 1, Listener: b.listener, Report: &report.Report{Name: "r"}, Parameters: map[string]any{}}
	return b
}

func path(t *testing.T, text string) report.JSONPath {
	t.Helper()
	p, err := report.ParseJSONPath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// read reads the task, and returns its columns as JSON, and their kinds.
func (b *bundle) read() (data []string, kinds []report.Kind, err error) {
	b.t.Helper()
	source := New(b.api, "p:")
	defer source.Close()
	data = make([]string, len(b.listener.Columns))
	out := listeners.NewWriter(func(columns []dataset.Column, builder *dataset.Builder, last bool) error {
		kinds = nil
		for i, f := range builder.Fields() {
			data[i] += string(f)
			kinds = append(kinds, columns[i].Kind)
		}
		return nil
	})
	defer out.Stop()
	if err = source.Read(b.t.Context(), b.task, out); err == nil {
		err = out.Close()
	}
	if err != nil && strings.Contains(err.Error(), secret) {
		b.t.Errorf("a secret in an error: %v", err)
	}
	return data, kinds, err
}

// expect reads the task and compares its columns.
func (b *bundle) expect(want ...string) []report.Kind {
	b.t.Helper()
	data, kinds, err := b.read()
	if diff := cmp.Diff(want, data); diff != "" || err != nil {
		b.t.Error(err, diff)
	}
	return kinds
}

// fails reads the task, which is to fail, and says how.
func (b *bundle) fails(words string, permanent bool) error {
	b.t.Helper()
	_, _, err := b.read()
	if err == nil || !strings.Contains(err.Error(), words) || errors.Is(err, listeners.ErrPermanent) != permanent {
		b.t.Errorf("%v (permanent: %v), not %q", err, errors.Is(err, listeners.ErrPermanent), words)
	}
	return err
}

// says answers with a text, whatever is asked.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// TestTypes: what the values of each type may be, and that no digit is lost.
func TestTypes(t *testing.T) {
	t.Parallel()
	b := setup(t, says(`{"rows": [
		{"n": 12345678901234567890, "d": 1.10, "f": 1e3, "s": "é\u0000\"", "y": true, "day": "2024-02-29", "at": "2024-01-01T01:30:00.250+02:00", "j": {"b": [1.0], "a": "<"}, "deep": [{"x y": -0.0}]},
		{"n": "-7", "d": "1e400", "f": 0.1, "s": 5.0, "y": false, "day": null, "at": "2024-01-01 00:00:00", "j": null, "deep": [{"x y": 12345678901234567890.123456789}]}
	]}`), Result{}, "$.n integer", "$.d decimal", "$.f float", "$.s text", "$.y", "$.day date", "$.at datetime", "$.j json", "$.deep", "$.no?")
	b.fields.Columns[8].Path = path(t, "$.deep[0]['x y']")
	kinds := b.expect(`[12345678901234567890,-7]`, `["1.10","1e400"]`, `[1000,0.1]`, `["é\u0000\"","5.0"]`, `["true","false"]`, `["2024-02-29",null]`,
		`["2023-12-31 23:30:00.250","2024-01-01 00:00:00"]`, `["{\"a\":\"<\",\"b\":[1.0]}",null]`, `["-0.0","12345678901234567890.123456789"]`, `[null,null]`)
	if diff := cmp.Diff([]report.Kind{"integer", "decimal", "float", "text", "text", "date", "datetime", "json", "decimal", "text"}, kinds); diff != "" {
		t.Error(diff)
	}
	for of, wrong := range map[string]string{
		"integer": `1.0 "x" 1e3 99999999999999999999 {} ""`, "decimal": `"x" "1,5" [] true`, "float": `"NaN" "0x1p2" 1e999`,
		"date": `"2023-02-29" 20240101`, "datetime": `"2024-01-01" "2024-13-01T00:00:00" "2024-01-01T00:00:00123" "2024-01-01T00:00:00." "0000-01-01T00:00:00+01:00" "9999-12-31T23:59:59-01:00" 5`, "text": `{} [1]`,
	} {
		for value := range strings.SplitSeq(wrong, " ") {
			setup(t, says(`{"rows": [{"v": `+value+`}]}`), Result{}, "$.v "+of).fails("row 1, column a", true)
		}
	}
	setup(t, says(`{"rows": [{"v": 17.75}]}`), Result{}, "$.v integer").fails("17.75 is not a valid integer: give the column a type that all of its values have, such as decimal", true)
	setup(t, says(`{"rows": [{"v": null}, {"v": 1}, {"v": "n/a"}]}`), Result{}, "$.v").fails(`row 3, column a: "n/a" is not a valid decimal: its first value was a number`, true)
}

// TestNoRows: a dataset without rows is one, too.
func TestNoRows(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"rows": []}`, `{"rows": null}`} {
		setup(t, says(text), Result{}, "$.v").expect(`[]`)
	}
	b := setup(t, says(`[[7],[8]]`), Result{Rows: path(t, "$")}, "$[0] integer")
	b.expect(`[7,8]`)
}

// TestManyRowsBeforeAValue: a type that is not known after a while is text.
func TestManyRowsBeforeAValue(t *testing.T) {
	t.Parallel()
	rows := strings.Repeat(`{"v": null},`, unsureRows) + `{"v": 1.50}`
	b := setup(t, says(`{"rows": [`+rows+`]}`), Result{}, "$.v")
	kinds := b.expect("[" + strings.Repeat("null,", unsureRows) + `"1.50"]`)
	if kinds[0] != report.KindText {
		t.Error(kinds)
	}
	// Nor are long rows held for long.
	rows = strings.Repeat(`{"v": null, "w": "`+strings.Repeat("x", unsureBytes/4)+`"},`, 4) + `{"v": 1.50, "w": ""}`
	b = setup(t, says(`{"rows": [`+rows+`]}`), Result{}, "$.v", "$.w")
	b.api.MaxBytes = 2 * unsureBytes
	if _, kinds, err := b.read(); err != nil || kinds[0] != report.KindText {
		t.Error(err, kinds)
	}
}

// TestBrokenAnswers: each is an error that says what is wrong, and none is cut.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, words string
		permanent   bool
	}{
		"no JSON":            {"<html>", "not the expected JSON: invalid character '<'", false},
		"nothing":            {"", "it is truncated", false},
		"the end is missing": {`{"rows": [{"v": 1}]`, "it is truncated", false},
		"half a row":         {`{"rows": [{"v": 1}, {"v"`, "it is truncated", false},
		"broken in a row":    {`{"rows": [{"v": 1}, {"v": 01}]}`, "invalid character", false},
		"something behind":   {`{"rows": []} {}`, "text after the document", false},
		"rows twice":         {`{"rows": [], "rows": []}`, "the rows occur twice", false},
		"rows are a text":    {`{"rows": "x"}`, "rows: $.rows is not an array: correct result.rows", true},
		"rows are an object": {`{"rows": {"a": [1, {}]}}`, "rows: $.rows is not an array: correct result.rows", true},
		"and it is broken":   {`{"rows": {"a": [1, {}]}`, "it is truncated", false},
		"no rows":            {`{"row": []}`, "rows: the answer has no $.rows: correct result.rows, the path to the array of rows", true},
		"no object":          {`7`, "the answer has no $.rows", true},
		"no value":           {`{"rows": [{"v": 1}, {"w": 1}]}`, "row 2 has no $.v, for column a", true},
		"a row is a text":    {`{"rows": ["x"]}`, "row 1 has no $.v", true},
		"no end of arrays":   {`{"other": ` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `, "rows": []}`, "more than 10000 levels", false},
		"not UTF-8":          {"{\"rows\": [{\"v\": \"\xff\"}]}", "not UTF-8", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setup(t, says(c.text), Result{}, "$.v").fails(c.words, c.permanent)
		})
	}
}

// TestTooMuch: beyond max_bytes an answer is an error; compressed ones count as they
// are when they are not.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	row := `{"v": "` + strings.Repeat("x", 1000) + `"}`
	text := `{"rows": [` + strings.Repeat(row+",", 2000) + row + `]}`
	for name, handle := range map[string]http.HandlerFunc{
		"plain": says(text),
		"compressed": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Error("no compression is asked for")
			}
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, text)
			_ = z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, handle, Result{}, "$.v")
			b.fails("the answer exceeds 1048576 bytes: raise max_bytes", true)
			b.api.MaxBytes = int64(len(text))
			if data, _, err := b.read(); err != nil || strings.Count(data[0], "x") != 2001*1000 {
				t.Errorf("%v, %d bytes", err, len(data[0]))
			}
		})
	}
}

// TestABomb: an answer that never ends once it is decompressed is ended by its size.
func TestABomb(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]string{"spaces": " ", "rows": `{"v": "x"},`, "a text": "x"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				begin := `{"rows": [`
				if fill == "x" {
					begin += `{"v": "`
				}
				_, err := fmt.Fprint(z, begin)
				for block := strings.Repeat(fill, 4096); err == nil; {
					_, err = fmt.Fprint(z, block)
				}
			}, Result{}, "$.v")
			b.fails("the answer exceeds 1048576 bytes: raise max_bytes", true)
		})
	}
}

// TestLongRow: a row is held whole, and what it becomes in memory is far more than its
// text.
func TestLongRow(t *testing.T) {
	t.Parallel()
	row := func(length int) string {
		const frame = len(`{"v":"","w":[]}`)
		return `{"v":"` + strings.Repeat("x", length-frame) + `","w":[]}`
	}
	for name, text := range map[string]string{
		"row 2 of it has more than 4194304 bytes": `{"rows": [` + row(100) + `, ` + row(maxValue+1) + `]}`,
		"$.next has more than 4194304 bytes":      `{"rows": [], "next": [` + strings.Repeat("{},", maxValue/3) + `0]}`,
	} {
		b := setup(t, says(text), Result{Next: path(t, "$.next"), NextAs: Next{Query: "cursor"}}, "$.v")
		b.api.MaxBytes = 1 << 30
		b.fails(name, true)
	}
	b := setup(t, says(`{"rows": [`+row(maxValue)+`]}`), Result{}, "$.w json")
	b.api.MaxBytes = 1 << 30
	b.expect(`["[]"]`)
}

// TestStatuses: which answers use a try, which do not, and which end the task.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for code, c := range map[int]struct {
		header    string
		words     string
		permanent bool
		outage    bool
		wait      bool
	}{
		400: {"", "400 Bad Request: no Bearer *** here; correct the request of the listener", true, false, false},
		401: {"", "401 Unauthorized: no Bearer *** here; correct the headers of the API", true, false, false},
		403: {"", "403 Forbidden: no Bearer *** here; correct the headers of the API, or allow this to their user in the API", true, false, false},
		404: {"", "GET /rows: 404 Not Found: no Bearer *** here; correct the url of the API, or the path", true, false, false},
		408: {"", "408", false, false, false},
		429: {"7", "429", false, false, true},
		500: {"", "500 Internal Server Error", false, false, false},
		502: {"", "502", false, false, false},
		503: {"", "503", false, true, false},
	} {
		b := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.header != "" {
				w.Header().Set("Retry-After", c.header)
			}
			w.WriteHeader(code)
			fmt.Fprint(w, "no Bearer "+secret+" here\n")
		}, Result{}, "$.v")
		err := b.fails(c.words, c.permanent)
		busy := listeners.Busy(7*time.Second, strings.TrimPrefix(err.Error(), "waits for "))
		if errors.Is(err, listeners.ErrOutage) != c.outage || (err == busy) != c.wait {
			t.Errorf("%d: %v", code, err)
		}
	}
}

// TestStatusLine: what an API says behind its code goes into no record as it is.
func TestStatusLine(t *testing.T) {
	t.Parallel()
	b := setup(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 400 \x1b[2J %s%s\r\nContent-Length: 0\r\n\r\n", secret, strings.Repeat("x", 100_000))
		_ = conn.Close()
	}, Result{}, "$.v")
	err := b.fails("400", true)
	if len(err.Error()) > 500 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%d bytes: %.200q", len(err.Error()), err)
	}
}

// TestNobodyThere: that nobody takes the connection is an outage; that nobody answers
// is not.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	b := setup(t, says(""), Result{}, "$.v")
	b.api.URL = "http://127.0.0.1:1"
	if err := b.fails("connection refused", false); !errors.Is(err, listeners.ErrOutage) {
		t.Error(err)
	}
	stop := make(chan struct{})
	silent := setup(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}, Result{}, "$.v")
	t.Cleanup(func() { close(stop) })
	silent.api.Timeout = 200 * time.Millisecond
	if err := silent.fails("no complete answer within 200ms", false); errors.Is(err, listeners.ErrOutage) {
		t.Error(err)
	}
	silent.api.Timeout, silent.listener.Timeout = time.Minute, 200*time.Millisecond
	if err := silent.fails("timed out after 200ms", false); !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}
	half := setup(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"rows": [{"v": 1},`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, Result{}, "$.v")
	half.api.Timeout = 100 * time.Millisecond
	half.fails("no complete answer within 100ms", false)
	cut := setup(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"rows": [{"v": 1},`)
	}, Result{}, "$.v")
	cut.fails("it is truncated", false)
}

// TestRedirects: never to another host, nor to another scheme, and within the host
// only as often as the API allows.
func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked, with %v", r.Header)
	}))
	t.Cleanup(elsewhere.Close)
	b := setup(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/there":
			if r.Header.Get("Authorization") != "Bearer "+secret {
				t.Error("the headers did not come along")
			}
			fmt.Fprint(w, `{"rows": [{"v": 1}]}`)
		case strings.HasPrefix(r.URL.Path, "/v2/hops"):
			http.Redirect(w, r, "/v2/hops/", http.StatusFound)
		default:
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
		}
	}, Result{}, "$.v")
	to := func(target string) { b.fields.Result.Query = []Pair{{Name: "to", Value: target}} }
	to("/there")
	b.fails("a redirect to http://127.0.0.1", true)
	b.api.Redirects = 3
	b.expect(`["1"]`)
	for _, target := range []string{elsewhere.URL, "//" + strings.TrimPrefix(elsewhere.URL, "http://"), strings.Replace(b.api.URL, "http:", "https:", 1), "//user:x@" + strings.TrimPrefix(b.api.URL, "http://")} {
		to(target)
		b.fails("a redirect to", true)
	}
	b.fields.Result.Path = "/hops"
	before := b.asked.Load()
	b.fails("a redirect to", true)
	if n := b.asked.Load() - before; n != 4 {
		t.Errorf("%d requests for 3 redirects", n)
	}
}

// pages is an API with pages of two rows each.
func pages(t *testing.T, count int, each func(w http.ResponseWriter, r *http.Request, page int) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var n int
		q := r.URL.Query()
		switch {
		case q.Has("cursor"):
			fmt.Sscanf(q.Get("cursor"), "a&b/%d", &n)
		case q.Has("page"):
			fmt.Sscan(q.Get("page"), &n)
		case q.Has("skip"):
			fmt.Sscan(q.Get("skip"), &n)
			n /= 2
		}
		if q.Get("limit") != "2" {
			t.Errorf("asked for %s", r.URL)
		}
		if each != nil && each(w, r, n) {
			return
		}
		answer := map[string]any{"rows": []any{}, "total": 2 * count}
		if n < count {
			answer["rows"] = []any{map[string]any{"v": 2 * n}, map[string]any{"v": 2*n + 1}}
		}
		if n < count-1 {
			answer["cursor"], answer["url"] = fmt.Sprintf("a&b/%d", n+1), fmt.Sprintf("rows?limit=2&page=%d", n+1)
		}
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func paged(t *testing.T, how string) Result {
	result := Result{Request: Request{Query: []Pair{{Name: "limit", Value: "2"}}}}
	switch how {
	case "cursor":
		result.Next, result.NextAs = path(t, "$.cursor"), Next{Query: "cursor"}
	case "url":
		result.Next = path(t, "$.url")
	case "page":
		result.Page = "page"
	case "offset":
		result.Offset = "skip"
	}
	return result
}

var ways = []string{"cursor", "url", "page", "offset"}

// TestPages in each of the ways to the next one.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, how := range ways {
		b := setup(t, pages(t, 3, nil), paged(t, how), "$.v integer")
		b.expect(`[0,1,2,3,4,5]`)
		want := map[string]int64{"cursor": 3, "url": 3, "page": 4, "offset": 4}[how]
		if n := b.asked.Load(); n != want {
			t.Errorf("%s: %d requests, not %d", how, n, want)
		}
		b.fields.Result.Count = path(t, "$.total")
		b.expect(`[0,1,2,3,4,5]`)
		if n := b.asked.Load() - want; n != 3 {
			t.Errorf("%s: %d requests where the number of rows is known", how, n)
		}
	}
	b := setup(t, pages(t, 3, func(w http.ResponseWriter, _ *http.Request, page int) bool {
		if page == 1 {
			fmt.Fprint(w, `{"rows": [{"v": 7}], "total": 9}`)
		}
		return page == 1
	}), paged(t, "cursor"), "$.v integer")
	b.fields.Result.Count = path(t, "$.total")
	b.fails("3 rows arrived, but count ($.total) says 9: is result.next right?", false)
	b.fields.Result.Count = path(t, "$.totals")
	b.fails("count: the answer has no $.totals: correct result.count", false)
}

// TestPagesThatRepeat: an API that gives the same page again and again is found out.
func TestPagesThatRepeat(t *testing.T) {
	t.Parallel()
	for how, words := range map[string]string{"page": "page 2 repeats page 1", "offset": "page 2 repeats page 1"} {
		setup(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"rows": [{"v": 1}]}`) }, paged(t, how), "$.v").fails(words, false)
	}
	var n atomic.Int64
	for how, next := range map[string]string{"cursor": `"cursor": "x"`, "url": `"url": "rows?limit=2"`} {
		b := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"rows": [{"v": %d}], %s}`, n.Add(1), next)
		}, paged(t, how), "$.v")
		b.fails("leads to the same page as page", false)
	}
	for _, next := range []string{`"http://127.0.0.2:1/x"`, `"//evil.example/x"`, `"https:rows"`, `"\u0000"`, `"mailto:x"`, `"//evil.example/x?token=` + secret + `"`} {
		setup(t, says(`{"rows": [{"v": 1}], "url": `+next+`}`), paged(t, "url"), "$.v").fails("not on the host of the API", true)
	}
	setup(t, says(`{"rows": [{"v": 1}], "cursor": {}}`), paged(t, "cursor"), "$.v").fails("$.cursor is {}, which names no page", true)
}

// TestAPageThatIsToCome: one behind the first is waited for in place, and no row comes
// twice; one that is far off has the task come again.
func TestAPageThatIsToCome(t *testing.T) {
	t.Parallel()
	var after atomic.Value
	var refused atomic.Bool
	after.Store("1")
	b := setup(t, pages(t, 3, func(w http.ResponseWriter, _ *http.Request, page int) bool {
		if page != 1 || refused.Swap(true) {
			return false
		}
		w.Header().Set("Retry-After", after.Load().(string))
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}), paged(t, "cursor"), "$.v integer")
	b.expect(`[0,1,2,3,4,5]`)
	after.Store("3000")
	refused.Store(false)
	b.fails("waits for API vendor: GET /rows: 429", false)
}

// TestValues: values of parameters and of an earlier stage are in each request where
// they belong, and each value once.
func TestValues(t *testing.T) {
	t.Parallel()
	b := setup(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			IDs  []json.RawMessage `json:"ids"`
			Team json.RawMessage   `json:"team"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Idempotency-Key") != "" {
			t.Errorf("%v %v", err, r.Header)
		}
		if got := r.URL.EscapedPath() + " " + string(body.Team); got != `/v2/a%2Fb/rows "a/b"` {
			t.Error(got)
		}
		var rows []string
		for _, id := range body.IDs {
			rows = append(rows, fmt.Sprintf(`{"v": %s}`, id))
		}
		fmt.Fprintf(w, `{"rows": [%s]}`, strings.Join(rows, ","))
	}, Result{Request: Request{
		Method: http.MethodPost, Path: "/:team/rows", JSON: map[string]any{"ids": ":earlier.id", "team": ":team"},
	}}, "$.v text")
	b.task.Parameters["team"] = "a/b"
	b.listener.From = &report.Ref{Listener: "earlier", Column: "id"}
	values := []string{"1", `"x"`, "null", "1", "12345678901234567890", `"1"`, `"x"`}
	b.task.Values = func(_ context.Context, listener, column string) (dataset.Column, iter.Seq2[[]byte, error], error) {
		return dataset.Column{}, func(yield func([]byte, error) bool) {
			if listener != "earlier" || column != "id" {
				t.Error(listener, column)
			}
			for _, v := range values {
				if !yield([]byte(v), nil) {
					return
				}
			}
		}, nil
	}
	b.expect(`["1","x","12345678901234567890","1"]`)
	if n := b.asked.Load(); n != 2 {
		t.Errorf("%d requests for 4 values in batches of 2", n)
	}
	values = nil
	b.expect(`[]`)
	if n := b.asked.Load(); n != 2 {
		t.Error("a request without values")
	}
	b.task.Parameters["team"] = ".."
	values = []string{"1"}
	b.fails(`".." in the path of a URL`, true)
}

// TestWaitingForATurnTakesNoTime of those that the listener's timeout gives a task.
func TestWaitingForATurnTakesNoTime(t *testing.T) {
	t.Parallel()
	b := setup(t, says(`{"rows":[{"x":1}]}`), Result{}, "$.x")
	b.listener.Timeout = 500 * time.Millisecond
	b.task.RateLimit = func(ctx context.Context, _ time.Duration) error {
		turn := time.NewTimer(time.Second)
		defer turn.Stop()
		select {
		case <-turn.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b.expect(`["1"]`)
}
