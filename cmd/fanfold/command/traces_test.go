package command

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// spanStore is a collector that keeps the spans that it receives.
type spanStore struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*otlp.Span
	token []string // header authorization of the requests
}

func newSpanStore(t *testing.T) *spanStore {
	t.Helper()
	s := &spanStore{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		var all collector.ExportTraceServiceRequest
		body, err := gzip.NewReader(r.Body)
		if err == nil {
			var text []byte
			if text, err = io.ReadAll(body); err == nil {
				err = proto.Unmarshal(text, &all)
			}
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		s.token = append(s.token, r.Header.Get("Authorization"))
		for _, of := range all.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				s.spans = append(s.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// of returns the spans of a job.
func (s *spanStore) of(id string) (all []*otlp.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.spans {
		if attributeOf(span, "fanfold.job") == id {
			all = append(all, span)
		}
	}
	return all
}

// attributeOf returns an attribute of a span as text.
func attributeOf(span *otlp.Span, key string) string {
	for _, a := range span.Attributes {
		if a.Key == key && a.Value.GetStringValue() != "" {
			return a.Value.GetStringValue()
		} else if a.Key == key {
			return fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return ""
}

// named returns the spans of a job with this name, and of this listener if one is given.
func (s *spanStore) named(id, name, listener string) (all []*otlp.Span) {
	for _, span := range s.of(id) {
		if span.Name == name && attributeOf(span, "fanfold.listener") == listener {
			all = append(all, span)
		}
	}
	return all
}

const (
	pushedTrace, pushedSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	pushedParent            = "00-" + pushedTrace + "-" + pushedSpan + "-01"
)

// tracedReport has two stages; the first queries an API.
const tracedReport = `
  traced:
    retry: {retries: 1, delay: 10ms}
    listeners:
      one: {database: db, query: "SELECT seq AS k FROM seq_1_to_3"}
      api: {kind: http, api: vendor, result: {path: /x, rows: "$.rows"}, columns: {k: "$.k", b: "$.b"}}
      two: {database: db, query: "SELECT seq AS k, 'x' AS c FROM seq_1_to_3 WHERE seq IN (:one.k)"}
    join: {key: k}
  broken: {retry: {retries: 1, delay: 10ms}, listeners: {bad: {database: db, query: "SELECT k FROM missing"}}}
  strict: {parameters: {tag: string}, listeners: {one: {database: db, query: "SELECT :tag AS k"}}}
`

// TestTraces: a job is one trace from its push to its file, also across processes.
func TestTraces(t *testing.T) {
	t.Parallel()
	spans := newSpanStore(t)
	var mu sync.Mutex
	var asked []string // traceparent of the requests to the API
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if asked = append(asked, r.Header.Get("traceparent")); len(asked) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, `{"rows": [{"k": 1, "b": 2}]}`)
	}))
	t.Cleanup(api.Close)
	s := newStack(t, tracedReport, fmt.Sprintf("limits: {shutdown_timeout: 1s}\napis: {vendor: {url: %q}}\ntraces: {url: %q, headers: {Authorization: t0ken}}", api.URL, spans.URL))
	stop := s.Serve(s.File)
	push := func(report, parameters string, fields ...string) (id string) {
		id = s.Records.Insert(report, parameters)
		values := append([]string{"id", id}, fields...)
		if err := s.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: s.Partitions.Of(id).Keys.Jobs, Values: values}).Err(); err != nil {
			t.Fatal(err)
		}
		return id
	}
	whole := push("traced", "", "traceparent", pushedParent)
	failed := push("broken", "")
	refused := push("strict", `{}`, "traceparent", pushedParent)
	unsampled := push("strict", `{"tag": "a"}`, "traceparent", strings.TrimSuffix(pushedParent, "1")+"0")
	s.Jobs.Wait(whole, failed, refused, unsampled)
	stop() // sends the last spans

	roots := map[string]*otlp.Span{}
	for _, id := range []string{whole, failed, refused} {
		jobs := spans.named(id, "job", "")
		if len(jobs) != 1 {
			t.Fatalf("%s has %d spans job of %d", id, len(jobs), len(spans.of(id)))
		}
		roots[id] = jobs[0]
		for _, span := range spans.of(id) {
			if hex.EncodeToString(span.TraceId) != hex.EncodeToString(jobs[0].TraceId) {
				t.Errorf("%s is in another trace than its job", span.Name)
			}
			if span != jobs[0] && string(span.ParentSpanId) != string(jobs[0].SpanId) {
				t.Errorf("the parent of %s is not the job", span.Name)
			}
			if span.StartTimeUnixNano > span.EndTimeUnixNano || attributeOf(span, "fanfold.attempt") == "" || attributeOf(span, "fanfold.report") == "" {
				t.Errorf("%v", span)
			}
		}
	}
	for _, id := range []string{whole, refused} {
		if got := roots[id]; hex.EncodeToString(got.TraceId) != pushedTrace || hex.EncodeToString(got.ParentSpanId) != pushedSpan {
			t.Errorf("the job is not in the trace of its push: %v", got)
		}
	}
	if got := roots[failed]; hex.EncodeToString(got.TraceId) == pushedTrace || len(got.ParentSpanId) > 0 {
		t.Errorf("a job without traceparent has no trace of its own: %v", got)
	}
	for _, want := range []struct {
		id, name, listener string
		results            string // of the tries
		text               string // of the last one: a part of its error
	}{
		{whole, "trigger", "", "", ""},
		{whole, "listener", "one", "done", ""},
		{whole, "listener", "api", "retry done", ""},
		{whole, "listener", "two", "done", ""},
		{whole, "fold", "", "", ""},
		{whole, "upload", "", "", ""},
		{whole, "record", "", "", ""},
		{failed, "trigger", "", "", ""},
		{failed, "listener", "bad", "failed", "missing"},
		{failed, "record", "", "", ""},
		{failed, "job", "", "", "missing"},
		{refused, "trigger", "", "", "tag"},
		{refused, "job", "", "", "tag"},
	} {
		found := spans.named(want.id, want.name, want.listener)
		var results []string
		for i, span := range found {
			if result := attributeOf(span, "fanfold.result"); result != "" {
				results = append(results, result)
			}
			if try := attributeOf(span, "fanfold.try"); want.listener != "" && try != fmt.Sprint(i+1) {
				t.Errorf("try %d of %s is %s", i+1, want.listener, try)
			}
		}
		if len(found) == 0 || strings.Join(results, " ") != want.results {
			t.Errorf("%+v: %v", want, found)
			continue
		}
		last := found[len(found)-1]
		if is := last.Status.GetCode() == otlp.Status_STATUS_CODE_ERROR; is != (want.text != "") || !strings.Contains(last.Status.GetMessage(), want.text) {
			t.Errorf("%+v: %v", want, last.Status)
		}
	}
	if n := len(spans.of(whole)); n != 9 {
		t.Errorf("the job has %d spans", n)
	}
	if n := len(spans.of(unsampled)); n != 0 {
		t.Errorf("a job that was not sampled has %d spans", n)
	}
	tries := spans.named(whole, "listener", "api")
	for i, parent := range asked {
		if want := "00-" + pushedTrace + "-" + hex.EncodeToString(tries[i].SpanId) + "-01"; parent != want {
			t.Errorf("the API was asked with %q, not %q", parent, want)
		}
	}
	for _, token := range spans.token {
		if token != "t0ken" {
			t.Errorf("a request came with the header %q", token)
		}
	}
	if rows := attributeOf(tries[1], "fanfold.rows"); rows != "1" || attributeOf(roots[whole], "fanfold.status") != "SUCCESS" {
		t.Errorf("%s rows, %v", rows, roots[whole])
	}
}

// TestTracesCostNoJob: a collector that is down fails no job and is logged once. Without traces in
// the configuration, a traceparent is not passed on.
func TestTracesCostNoJob(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "limits: {shutdown_timeout: 1s}\ntraces: {url: 'http://127.0.0.1:1'}")
	// run runs a job, and returns the field traceparent that its hash had meanwhile.
	run := func() string {
		var log testmain.Log
		s.must("pause listener one", "listener/one")
		stop := s.ServeInto(&log)
		id := s.Records.Insert("slow", "")
		home := s.Partitions.First()
		if err := home.Streams.Push(t.Context(), map[string]string{"id": id, "traceparent": pushedParent}); err != nil {
			t.Fatal(err)
		}
		hash := home.Keys.Job(id)
		s.Eventually("the job runs", func() bool { return s.Redis.Exists(t.Context(), hash).Val() == 1 })
		field := s.Redis.HGet(t.Context(), hash, "traceparent").Val()
		s.must("resume listener one", "true")
		if v := s.Jobs.Wait(id)[0]; v.Status != report.Success {
			t.Errorf("%s: %s", v.Status, v.Error)
		}
		stop()
		want := 0
		if field != "" {
			want = 1
		}
		if lines := log.Lines("spans are dropped"); len(lines) != want {
			t.Errorf("with %q in the hash: %q", field, lines)
		}
		return field
	}
	if field := run(); !strings.HasPrefix(field, "00-"+pushedTrace+"-") || field == pushedParent {
		t.Errorf("with traces: %q", field)
	}
	s.File = s.Write("off.yaml", e2e.Slow, "limits: {shutdown_timeout: 1s}")
	if field := run(); field != "" {
		t.Errorf("without traces: %q", field)
	}
}

// TestTraceparentOfCallers: the API and the command line push the traceparent of their callers.
func TestTraceparentOfCallers(t *testing.T) {
	s := newStack(t, e2e.Slow, "limits: {shutdown_timeout: 1s}")
	pushed := func() (fields []string) {
		for _, m := range s.Redis.XRange(t.Context(), s.Partitions.First().Keys.Jobs, "-", "+").Val() {
			fields = append(fields, fmt.Sprint(m.Values["traceparent"]))
		}
		return fields
	}
	t.Setenv("TRACEPARENT", pushedParent)
	s.must("run slow", "")
	s.must("submit "+s.Records.Insert("slow", ""), "")
	t.Setenv("TRACEPARENT", "")
	s.must("run slow", "")
	if got := pushed(); !slices.Equal(got, []string{pushedParent, pushedParent, "<nil>"}) {
		t.Errorf("%q", got)
	}
}
