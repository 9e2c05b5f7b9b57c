package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/listeners/http"
	"github.com/fanfold/fanfold/report"
	"github.com/google/go-cmp/cmp"
)

// httpBase is a file with a listener of kind http, without problems.
const httpBase = `redis: redis://127.0.0.1:6379/0
databases: {main: {dsn: "app@tcp(db:3306)/app"}}
apis:
  vendor:
    url: https://api.vendor.example/v2/
    headers: {Authorization: "Bearer ${USER_DB_PASSWORD}", X-Key: {file: fund.password}}
    timeout: 10s
    max_bytes: 1MB
    redirects: 1
    idempotency: none
    parallel: 4
    rate: 300/m
records: {database: main}
sink: gs://reports/exports
reports:
  scores:
    parameters: {from: date, team: integer}
    listeners:
      users: {database: main, query: "SELECT id FROM users"}
      vendor.scores:
        kind: http
        api: vendor
        columns:
          id: $.user.id
          score: {path: "$['score']", type: decimal, optional: true}
        batch: 10
        result:
          method: POST
          path: /teams/:team/scores
          query: {limit: "1000"}
          json: {from: ":from", ids: ":users.id", deep: [1, 2.50, True, null, "::x"]}
          rows: $.rows
          next: $.next
          next_as: {query: cursor}
          count: $.total
      vendor.export:
        after: users
        kind: http
        api: vendor
        columns: {id: $.id}
        submit:
          path: /exports
          json: {from: ":from", reference: "{key}"}
          id: $.job.id
          if_unknown: {look_up: {path: /exports, query: {reference: "{key}"}, id: "$.jobs[0].id"}}
        poll: {path: "/exports/{id}", every: 5s, status: $.state, done: done, failed: [error, gone], working: [queued], error: $.message}
        cancel: {path: "/exports/{id}"}
        result: {path: "/exports/{id}/rows", rows: $.rows, page: page, first_page: 0}
        total_timeout: 30m
    join: {key: id}
`

func TestLoadHTTP(t *testing.T) {
	t.Parallel()
	c, err := Load("f.yaml", []byte(httpBase), testEnvironment(), TestKinds)
	if err != nil {
		t.Fatal(err)
	}
	wantAPI := report.API{
		Name: "vendor", Kind: "http", URL: "https://api.vendor.example/v2", Timeout: 10 * time.Second, MaxBytes: 1 << 20, Redirects: 1, Idempotency: report.NotIdempotent,
		Bound:   report.Bound{Parallel: 4, Rate: report.Rate{Count: 300, Per: time.Minute}},
		Headers: map[string]report.Secret{"Authorization": "Bearer " + canary, "X-Key": canary},
	}
	if diff := cmp.Diff(wantAPI, c.APIs["vendor"]); diff != "" {
		t.Error(diff)
	}
	path := func(text string) report.JSONPath {
		p, err := report.ParseJSONPath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	want := &report.Listener{
		Name: "vendor.scores", File: "f.yaml", Line: 20, Kind: "http", Source: "vendor", Columns: []string{"id", "score"},
		From: &report.Ref{Listener: "users", Column: "id"}, Timeout: 5 * time.Minute, Retry: report.DefaultRetry,
		Own: &http.Fields{
			API: "vendor", Batch: 10, Total: 2 * time.Hour,
			Columns: []http.Field{{Name: "id", Path: path("$.user.id")}, {Name: "score", Path: path("$['score']"), Kind: report.KindDecimal, Optional: true}},
			Result: http.Result{
				Request: http.Request{
					Method: "POST", Path: "/teams/:team/scores", Query: []http.Pair{{Name: "limit", Value: "1000"}},
					JSON: map[string]any{"from": ":from", "ids": ":users.id", "deep": []any{json.Number("1"), json.Number("2.50"), true, nil, "::x"}},
				},
				Rows: path("$.rows"), Next: path("$.next"), NextAs: http.Next{Query: "cursor"}, First: 1, Count: path("$.total"),
			},
		},
	}
	l, stage, _ := c.Reports["scores"].Listener("vendor.scores")
	if diff := cmp.Diff(want, l); diff != "" || stage != 2 {
		t.Error(stage, diff)
	}
	want = &report.Listener{
		Name: "vendor.export", After: []string{"users"}, File: "f.yaml", Line: 36, Kind: "http", Source: "vendor", Columns: []string{"id"}, Overall: 30 * time.Minute, Timeout: 5 * time.Minute, Retry: report.DefaultRetry,
		Own: &http.Fields{
			API: "vendor", Batch: 1000,
			Columns: []http.Field{{Name: "id", Path: path("$.id")}}, Total: 30 * time.Minute,
			Submit: &http.Submit{
				Request: http.Request{Method: "POST", Path: "/exports", JSON: map[string]any{"from": ":from", "reference": "{key}"}}, ID: path("$.job.id"),
				Unknown: http.Uncertain{Answer: http.LookUpJob, LookUp: &http.LookUp{Request: http.Request{Method: "GET", Path: "/exports", Query: []http.Pair{{Name: "reference", Value: "{key}"}}}, ID: path("$.jobs[0].id")}},
			},
			Poll: &http.Poll{
				Request: http.Request{Method: "GET", Path: "/exports/{id}"}, Every: 5 * time.Second, Status: path("$.state"),
				Done: []string{"done"}, Failed: []string{"error", "gone"}, Working: []string{"queued"}, Error: path("$.message"),
			},
			Cancel: &http.Request{Method: "DELETE", Path: "/exports/{id}"},
			Result: http.Result{Request: http.Request{Method: "GET", Path: "/exports/{id}/rows"}, Rows: path("$.rows"), Page: "page"},
		},
	}
	l, _, _ = c.Reports["scores"].Listener("vendor.export")
	if diff := cmp.Diff(want, l); diff != "" {
		t.Error(diff)
	}
	// Its total has its place in the timeout of the report, whatever its tries are.
	if got, want := c.Reports["scores"].DefaultTimeout(), 2*41*time.Minute+16*time.Minute; got != want {
		t.Errorf("the default timeout is %v, not %v", got, want)
	}
	if text := fmt.Sprintf("%+v %#v", c.APIs, c.APIs); strings.Contains(text, "w0rd") {
		t.Errorf("a secret is shown: %s", text)
	}
	// What changes the result changes the hash; an API can move.
	hash := c.Reports["scores"].Hash()
	for _, e := range []struct {
		old, new string
		same     bool
	}{
		{"https://api.vendor.example/v2/", "https://other.example", true},
		{"$.user.id", "$.user.key", false},
		{"type: decimal", "type: float", false},
		{`limit: "1000"`, `limit: "10"`, false},
		{"2.50", "2.5", false},
		{"next: $.next", "next: $.after", false},
		{"query: cursor", "query: page", false},
		{"path: /exports\n", "path: /export\n", false},
		{"$.job.id", "$.job.key", false},
		{"done: done", "done: ready", false},
		{"every: 5s", "every: 6s", true},
		{"total_timeout: 30m", "total_timeout: 1h", true},
		{`cancel: {path: "/exports/{id}"}`, `cancel: {path: "/export/{id}"}`, true},
		{`if_unknown: {look_up: {path: /exports, query: {reference: "{key}"}, id: "$.jobs[0].id"}}`, "if_unknown: resubmit", true},
		{"idempotency: none", "idempotency: none # still", true},
	} {
		c, err := Load("f.yaml", []byte(strings.Replace(httpBase, e.old, e.new, 1)), testEnvironment(), TestKinds)
		if err != nil {
			t.Error(err)
		} else if got := c.Reports["scores"].Hash(); (got == hash) != e.same {
			t.Errorf("%s: %s, of base %s", e.new, got, hash)
		}
	}
}

// badHTTP breaks httpBase, as badFiles does base.
var badHTTP = []struct {
	name  string
	edits []string
}{
	{"an API with the name of a database", []string{"  vendor:\n", "  main:\n"}},
	{"an API that is not there", []string{"api: vendor\n        columns:\n", "api: vendro\n        columns:\n"}},
	{"an API without url", []string{"    url: https://api.vendor.example/v2/\n", ""}},
	{"a url with a password", []string{"https://api", "https://u:s/s@w0rd-7Qx@api"}},
	{"a url with a query", []string{"v2/", "v2?key=w0rd"}},
	{"a url that leads out of itself", []string{"v2/", "v2/../x"}},
	{"a url of something else", []string{"https://api", "ftp://api"}},
	{"headers", []string{`X-Key: {file`, `"X Key": a, Host: b, X-Line: "a\nb", Content-Length: "1", X-Key: {file`}},
	{"headers in two ways of writing", []string{`X-Key: {file`, `authorization: other, x-key: a, X-Key: {file`, "idempotency: none", "idempotency: AUTHORIZATION"}},
	{"headers with nothing", []string{`X-Key: {file: fund.password}`, `X-Key: "", X-Space: "  ", X-Unset: "${NOT_SET:-}", X-File: {file: empty}`}},
	{"files of headers that are no use", []string{`X-Key: {file: fund.password}`, `X-Key: {file: keys/vendor.key}, X-Forbidden: {file: /run/secrets/vendor}, X-Secret: {file: "w0rd+7Qx="}`}},
	{"a header's file", []string{"file: fund.password", "flie: fund.password"}},
	{"fields of a database", []string{"api: vendor\n        columns:\n", "api: vendor\n        database: main\n        query: SELECT 1\n        columns:\n"}},
	{"columns that are a list", []string{"        columns:\n          id: $.user.id\n          score: {path: \"$['score']\", type: decimal, optional: true}\n", "        columns: [id]\n"}},
	{"no columns", []string{"        columns:\n          id: $.user.id\n          score: {path: \"$['score']\", type: decimal, optional: true}\n", ""}},
	{"paths", []string{"$.user.id", "user.id", "$['score']", "$..score", "rows: $.rows\n", "rows: $.rows[*]\n", "next: $.next", "next: $.x[-1]"}},
	{"a type", []string{"type: decimal", "type: number"}},
	{"an optional parameter in a path", []string{"team: integer", "team: {type: integer, default: null}"}},
	{"an API of which it is not said whether it tells repetitions", []string{"    idempotency: none\n", ""}},
	{"unknown where the API tells repetitions", []string{"idempotency: none", "idempotency: X-Request-Id"}},
	{"an idempotency that is no header, or one of the headers", []string{"idempotency: none", "idempotency: X-Key"}},
	{"an idempotency with a space", []string{"idempotency: none", "idempotency: request id"}},
	{"no unknown", []string{"          if_unknown: {look_up: {path: /exports, query: {reference: \"{key}\"}, id: \"$.jobs[0].id\"}}\n", ""}},
	{"another unknown", []string{"if_unknown: {look_up: {path: /exports, query: {reference: \"{key}\"}, id: \"$.jobs[0].id\"}}", "if_unknown: ignore"}},
	{"a look_up without the key", []string{"query: {reference: \"{key}\"}, id: \"$.jobs[0].id\"}", "query: {reference: \":from\"}}"}},
	{"a look_up by a key that nobody has got", []string{"json: {from: \":from\", reference: \"{key}\"}", "json: {from: \":from\"}"}},
	{"a job without id and path", []string{"          path: /exports\n", "", "          id: $.job.id\n", ""}},
	{"a job that is made by GET", []string{"          path: /exports\n", "          path: /exports\n          method: GET\n"}},
	{"a poll with nothing", []string{"poll: {path: \"/exports/{id}\", every: 5s, status: $.state, done: done, failed: [error, gone], working: [queued], error: $.message}", "poll: {}"}},
	{"no poll", []string{"        poll: {path: \"/exports/{id}\", every: 5s, status: $.state, done: done, failed: [error, gone], working: [queued], error: $.message}\n", ""}},
	{"statuses twice, and none", []string{"done: done, failed: [error, gone], working: [queued]", "done: [done, gone], failed: [error, gone], working: []"}},
	{"poll, cancel and total without submit", []string{httpBase[strings.Index(httpBase, "        submit:"):strings.Index(httpBase, "        poll:")], ""}},
	{"a cancel of the whole collection", []string{`cancel: {path: "/exports/{id}"}`, "cancel: {path: /exports}"}},
	{"a poll and a result of no job", []string{`poll: {path: "/exports/{id}"`, "poll: {path: /exports, query: {team: \":team\"}", `result: {path: "/exports/{id}/rows"`, "result: {path: /exports/rows"}},
	{"the job's id before there is one", []string{"reference: \"{key}\"}\n", "reference: \"{id}\"}\n"}},
	{"values where they cannot be known", []string{"cancel: {path: \"/exports/{id}\"}", "cancel: {path: \"/exports/{id}/:from\"}", "/exports/{id}/rows\"", "/exports/{id}/rows\", query: {ids: \":users.id\"}"}},
	{"a total that is longer than the report's", []string{"total_timeout: 30m", "total_timeout: 3h", "    parameters: {from", "    timeout: 2h\n    strict_timeout: true\n    parameters: {from"}},
	{"rates", []string{"rate: 300/m", "rate: 0/s", "parallel: 4", "parallel: -1", "{dsn: \"app@tcp(db:3306)/app\"}", "{dsn: \"app@tcp(db:3306)/app\", rate: 10, parallel: many}"}},
	{"no result", []string{httpBase[strings.Index(httpBase, "        result:"):strings.Index(httpBase, "      vendor.export")], ""}},
	{"a result that leads out of the url", []string{"/teams/:team/scores", "/teams/%2e%2E/scores"}},
	{"a result with a query in its path", []string{"/teams/:team/scores", "/teams/:team?x=y"}},
	{"a result on another host", []string{"/teams/:team/scores", "https://other.example/:team"}},
	{"a brace", []string{"/teams/:team/scores", "/teams/:team/{name}/{id}"}},
	{"a half escape", []string{"/teams/:team/scores", "/teams/:team/%2"}},
	{"a list in a path", []string{"/teams/:team/scores", "/teams/:team/:users.id"}},
	{"a parameter that is not there", []string{"/teams/:team/scores", "/teams/:taem/scores"}},
	{"a column that is not there", []string{":users.id", ":users.di"}},
	{"names that are none", []string{"/teams/:team/scores", "/teams/:team/:team-id", `{limit: "1000"}`, `{limit: ":limit!"}`, `from: ":from", ids`, `from: ": from", ids`}},
	{"GET cannot have a body", []string{"method: POST", "method: GET"}},
	{"a method", []string{"method: POST", "method: FETCH"}},
	{"next_as", []string{"next_as: {query: cursor}", "next_as: cursor"}},
	{"next in the rows", []string{"          rows: $.rows\n", ""}},
	{"paths that lie in each other", []string{"rows: $.rows\n", "rows: $.answer.rows\n", "next: $.next", "next: $.answer['rows'][0].next", "count: $.total", "count: $.answer"}},
	{"no next_as", []string{"          next_as: {query: cursor}\n", ""}},
	{"next_as without next", []string{"          next: $.next\n", ""}},
	{"two ways to the next page", []string{"next: $.next", "next: $.next\n          page: page\n          offset: skip"}},
	{"a first page without page", []string{"next: $.next", "next: $.next\n          first_page: 0"}},
	{"the cursor in the query", []string{`{limit: "1000"}`, `{limit: "1000", cursor: "0"}`}},
	{"a number that JSON does not have", []string{"2.50", "0x10"}},
	{"a body without end", []string{"deep: [1, ", "deep: &deep [*deep, *deep, "}},
	{"a body with too many values", []string{"deep: [1, ", "deep: &deep [" + strings.Repeat("&a [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], *a, *a, *a, *a, *a, *a, *a, *a, *a, ", 100)}},
	{"max_bytes and redirects", []string{"max_bytes: 1MB", "max_bytes: 1TB", "redirects: 1", "redirects: -1"}},
}

func TestHTTPProblems(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, c := range badHTTP {
		for i := 0; i < len(c.edits); i += 2 {
			if n := strings.Count(httpBase, c.edits[i]); n != 1 {
				t.Errorf("%s: the file has %q %d times", c.name, c.edits[i], n)
			}
		}
		_, err := Load("f.yaml", []byte(strings.NewReplacer(c.edits...).Replace(httpBase)), testEnvironment(), TestKinds)
		if problems := (decode.Problems{}); !errors.As(err, &problems) {
			t.Errorf("%s: no Problems but %v", c.name, err)
			continue
		}
		fmt.Fprintf(&got, "== %s\n%v\n", c.name, err)
	}
	if strings.Contains(got.String(), canary) || strings.Contains(got.String(), "w0rd") {
		t.Error("a message shows the password")
	}
	const golden = "testdata/http_problems.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (write it with: go test ./config -run TestHTTPProblems -update)", err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestJSONPath(t *testing.T) {
	t.Parallel()
	var document any
	if err := json.Unmarshal([]byte(`{"a": {"b c": [1, null, {"é": "x"}]}, "": 5}`), &document); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]any{
		"$": document, "$.a['b c'][0]": 1.0, "$.a['b c'][1]": nil, `$["a"]["b c"][2].é`: "x", "$['']": 5.0, `$.a["b\u0020c"][0]`: 1.0,
	} {
		p, err := report.ParseJSONPath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, ok := p.Find(document); !ok || !cmp.Equal(got, want) {
			t.Errorf("%s: %v %v", text, got, ok)
		}
	}
	for _, text := range []string{"$.b", "$.a[0]", "$.a['b c'].x", "$.a['b c'][3]", "$.a['b c'][0].x"} {
		p, err := report.ParseJSONPath(text)
		if got, ok := p.Find(document); err != nil || ok {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", "$.*", "$..a", "$[0,1]", "$[-1]", "$[?@.a]", "$.a[1:2]", "$.a b", "$["} {
		if p, err := report.ParseJSONPath(text); err == nil || p.Given() {
			t.Errorf("%q: %v", text, err)
		}
	}
}
