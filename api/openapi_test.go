package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/listeners/worker"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler"
	"github.com/fanfold/fanfold/spool"
)

// described returns the description that a server answers with.
func (b *bundle) described() *openapi3.T {
	b.Helper()
	answer, text := b.ask("GET", "/openapi.json", "")
	if answer.StatusCode != http.StatusOK {
		b.Fatalf("%d %s", answer.StatusCode, text)
	}
	loader := openapi3.NewLoader()
	document, err := loader.LoadFromData([]byte(text))
	b.ok(err)
	b.ok(document.Validate(loader.Context))
	return document
}

// checker sends requests, and checks requests and answers against the description.
type checker struct {
	*bundle
	router routers.Router
	sent   map[string]bool // operation and status of the answer
}

// send sends a request that the description allows, unless wrong, and returns the answer.
func (c *checker) send(wrong bool, want int, method, path, body string, header ...string) string {
	c.Helper()
	r := c.request(method, path, body, header...)
	of := c.request(method, path, body, header...) // the filter reads its body
	of.URL.Scheme, of.URL.Host = "", ""
	route, params, err := c.router.FindRoute(of)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	in := &openapi3filter.RequestValidationInput{
		Request: of, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if err := openapi3filter.ValidateRequest(c.Context(), in); (err != nil) != wrong {
		c.Errorf("%s %s %s: the description says of the request: %v", method, path, body, err)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	c.ok(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	c.ok(err)
	if answer.StatusCode != want {
		c.Errorf("%s %s %s: %d, not %d: %s", method, path, body, answer.StatusCode, want, text)
	}
	err = openapi3filter.ValidateResponse(c.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: answer.StatusCode, Header: answer.Header, Body: io.NopCloser(bytes.NewReader(text)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		c.Errorf("%s %s: the description says of the answer %d %s: %v", method, path, answer.StatusCode, text, err)
	}
	c.sent[route.Operation.OperationID+" "+http.StatusText(answer.StatusCode)] = true
	return string(text)
}

// TestTheDescriptionIsTrue: the description has every operation of the server with its answers, and no other.
func TestTheDescriptionIsTrue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	document := b.described()
	var there, here []string
	for path, item := range document.Paths.Map() {
		for method, of := range item.Operations() {
			there = append(there, method+" "+path)
			needs, want := document.Security, openapi3.SecurityRequirements{{"user": {}}, {"service": {}}, {}}
			if of.Security != nil {
				needs = *of.Security
			}
			if strings.HasPrefix(path, "/tasks/") {
				want = openapi3.SecurityRequirements{{"token": {}}}
			}
			if !reflect.DeepEqual(needs, want) {
				t.Errorf("%s %s needs %v, not %v", method, path, needs, want)
			}
		}
	}
	for name, scheme := range map[string]string{"user": "basic", "service": "bearer", "token": "bearer"} {
		if of := document.Components.SecuritySchemes[name]; of == nil || of.Value.Type != "http" || of.Value.Scheme != scheme {
			t.Errorf("the scheme %s: %+v", name, of)
		}
	}
	for _, one := range routes {
		here = append(here, one.method+" "+one.path)
	}
	for _, one := range worker.Routes {
		here = append(here, one.Method+" "+one.Path)
	}
	slices.Sort(there)
	slices.Sort(here)
	if !slices.Equal(there, here) {
		t.Errorf("the description has\n%q, the server\n%q", there, here)
	}
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	router, err := legacy.NewRouter(document)
	b.ok(err)
	c := &checker{b, router, map[string]bool{}}

	c.send(false, 200, "GET", "/openapi.json", "")
	c.send(false, 200, "GET", "/reports", "")
	c.send(false, 201, "POST", "/reports/plain/jobs", "")
	if list := c.send(false, 200, "GET", "/audit?act=r*&since=1h", ""); !strings.Contains(list, `"act":"run"`) {
		t.Error(list)
	}
	c.send(false, 422, "GET", "/audit?since=never", "")
	link := c.send(false, 201, "POST", "/order-links", `{"person": "ann", "tenant": "acme", "reports": ["plain"], "valid": "12h"}`)
	if !strings.Contains(link, `{"url":"https://x/o/ann+acme+[plain]","expires":"`) {
		t.Error(link)
	}
	c.send(true, 400, "POST", "/order-links", `{"persons": "ann"}`)
	c.send(false, 422, "POST", "/order-links", `{"person": "ann", "valid": "soon"}`)
	c.send(true, 422, "POST", "/order-links", `{"person": ""}`)
	c.sent["createOrderLink Conflict"] = true  // TestOrderLinks proves it
	c.sent["createOrderLink Forbidden"] = true // TestOrderLinksOfAService in package process proves it
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	c.send(false, 201, "POST", "/reports/plain/jobs", "", "traceparent", parent)
	var parents []any
	for _, m := range b.redis.XRange(t.Context(), b.prefix+":jobs", "-", "+").Val() {
		parents = append(parents, m.Values["traceparent"])
	}
	if !slices.Equal(parents, []any{nil, parent}) {
		t.Errorf("what was pushed has the traceparents %q", parents)
	}
	c.send(false, 201, "POST", "/reports/typed/jobs", `{"s": "é", "ids": [1, "2"]}`, "Idempotency-Key", "k")
	c.send(false, 201, "POST", "/reports/typed/jobs", `{"ids": [1, 2], "s": "é"}`, "Idempotency-Key", "k")
	c.send(false, 422, "POST", "/reports/typed/jobs", `{"s": "e"}`, "Idempotency-Key", "k")
	b.exec("DELETE FROM file_download_record")
	c.send(false, 410, "POST", "/reports/typed/jobs", `{"s": "é", "ids": [1, 2]}`, "Idempotency-Key", "k")
	c.send(false, 422, "POST", "/reports/typed/jobs", `{"i": 1.5, "x": 1}`)
	c.send(true, 400, "POST", "/reports/typed/jobs", `[]`)
	c.send(true, 400, "POST", "/reports/typed/jobs", `{`)
	c.send(true, 400, "POST", "/reports/plain/jobs", "", "Idempotency-Key", strings.Repeat("k", 201))
	c.send(false, 404, "POST", "/reports/none/jobs", "")
	c.send(false, 413, "POST", "/reports/typed/jobs", `{"s": "`+strings.Repeat("x", 100_000)+`"}`)
	c.send(true, 415, "POST", "/reports/typed/jobs", "s=x", "Content-Type", "application/x-www-form-urlencoded")

	pending, done, failed := b.insert("plain", report.Pending), b.succeed("k\r\n1\r\n"), b.insert("plain", report.Failed)
	c.send(false, 200, "GET", "/jobs/"+pending, "")
	c.send(false, 404, "GET", "/jobs/99999", "")
	c.send(true, 400, "GET", "/jobs/a.b", "")
	c.send(false, 200, "GET", "/jobs/"+done+"/events", "")
	c.send(false, 404, "GET", "/jobs/99999/events", "")
	c.send(false, 200, "GET", "/jobs/"+done+"/file", "")
	c.send(false, 206, "GET", "/jobs/"+done+"/file", "", "Range", "bytes=1-")
	c.send(false, 409, "GET", "/jobs/"+failed+"/file", "")
	c.send(false, 409, "GET", "/jobs/"+pending+"/file", "")
	empty := b.insert("plain", report.Success)
	b.exec("UPDATE file_download_record SET row_count = 0 WHERE id = ?", empty)
	c.send(false, 409, "GET", "/jobs/"+empty+"/file", "")
	c.send(false, 404, "GET", "/jobs/99999/file", "")
	b.ok(b.files.Remove(t.Context(), "plain/"+done+"-1.csv"))
	c.send(false, 410, "GET", "/jobs/"+done+"/file", "")
	c.send(false, 200, "POST", "/jobs/"+pending+"/cancel", `{"reason": "by mistake"}`)
	c.send(false, 200, "POST", "/jobs/"+pending+"/cancel", "")
	c.send(false, 409, "POST", "/jobs/"+done+"/cancel", "")
	c.send(false, 404, "POST", "/jobs/99999/cancel", "")
	c.send(false, 200, "POST", "/reports/plain/pause", `{"reason": "by mistake", "for": "2h"}`)
	c.send(false, 422, "POST", "/reports/none/pause", "")
	c.send(false, 422, "POST", "/sources/db/pause", `{"for": "x"}`)
	c.send(true, 400, "POST", "/sources/db/pause", "{")
	for _, one := range []string{"reports/plain", "sources/db", "listeners/b"} {
		c.send(false, 200, "POST", "/"+one+"/pause", "")
		c.send(false, 200, "POST", "/"+one+"/resume", "")
	}
	c.send(false, 200, "PUT", "/sources/db/limit", `{"limit": 2, "reason": "busy", "for": "2h"}`)
	c.send(false, 200, "PUT", "/reports/plain/limit", `{"limit": 2}`)
	c.send(true, 422, "PUT", "/reports/plain/limit", `{"limit": 0}`)
	c.send(false, 422, "PUT", "/sources/none/limit", `{"limit": 1}`)
	c.send(false, 200, "DELETE", "/sources/db/limit", "")
	c.send(false, 200, "DELETE", "/reports/plain/limit", "")
	c.send(true, 400, "POST", "/jobs/"+pending+"/cancel", "{")
	c.send(true, 415, "POST", "/jobs/"+pending+"/cancel", "x", "Content-Type", "text/plain")
	c.send(true, 422, "POST", "/jobs/"+pending+"/cancel", `{"reason": "`+strings.Repeat("x", 1001)+`"}`)
	c.send(false, 202, "POST", "/jobs/"+failed+"/retry", "")
	c.send(false, 404, "POST", "/jobs/99999/retry", "")
	b.exec("UPDATE file_download_record SET status = 'PROCESSING', attempt = 1 WHERE id = ?", failed)
	c.send(false, 409, "POST", "/jobs/"+failed+"/retry", "")

	for i := range MaxStreams {
		b.api.streams.Open("")
		_ = i
	}
	c.send(false, 503, "GET", "/jobs/"+done+"/events", "")
	c.work()
	c.sent["getFile Found"] = true // package web proves it: there is no bucket here
	c.sent["createJob Conflict"] = true
	for path, item := range document.Paths.Map() {
		for method, of := range item.Operations() {
			for status := range of.Responses.Map() {
				if status != "default" && !c.sent[of.OperationID+" "+http.StatusText(number(status))] {
					t.Errorf("%s %s: no request was answered with %s", method, path, status)
				}
			}
		}
	}
}

// work sends the requests of workers.
func (c *checker) work() {
	c.Helper()
	ask := func(wrong bool, want int, method, path, body string, token ...string) string {
		c.Helper()
		return c.send(wrong, want, method, path, body, "Authorization", "Bearer token-of-"+cmp.Or(strings.Join(token, ""), "scores")+"-0123456789abcdef0123456789")
	}
	ask(false, 204, "POST", "/tasks/scores/claim", "")
	ask(false, 401, "POST", "/tasks/scores/claim", "", "nobody")
	ask(false, 403, "POST", "/tasks/scores/claim", "", "other")
	ask(false, 422, "POST", "/tasks/scores/claim?wait=1h", "")
	claim := func(id string) string {
		c.scored(id)
		var claimed worker.Claimed
		c.ok(json.Unmarshal([]byte(ask(false, 200, "POST", "/tasks/scores/claim?wait=1s", "")), &claimed))
		return strings.TrimPrefix(claimed.Task, "/fanfold"+Root)
	}
	task := claim("1")
	ask(false, 204, "POST", task+"/alive", "")
	ask(false, 401, "POST", task+"/alive", "", "nobody")
	ask(false, 403, "POST", task+"/alive", "", "other")
	ask(false, 404, "POST", "/tasks/scores~1/alive", "")
	ask(false, 410, "POST", task+"x/alive", "")
	ask(false, 404, "GET", task+"/values/users/k/0", "")
	ask(false, 410, "GET", task+"x/values/users/k/0", "")
	ask(false, 409, "PUT", task+"/rows/1", "[[1]]")
	ask(false, 204, "PUT", task+"/rows/0", `[[1], {"k": null}]`)
	ask(false, 413, "PUT", task+"/rows/1", "[["+strings.Repeat(" ", 1<<20)+"1]]")
	ask(false, 410, "PUT", task+"x/rows/1", "[[1]]")
	ask(true, 400, "POST", task+"/done", "[")
	ask(false, 409, "POST", task+"/done", `{"pages": 2}`)
	ask(true, 422, "POST", task+"/done", `{}`)
	ask(false, 204, "POST", task+"/done", `{"pages": 1}`)
	ask(false, 410, "POST", task+"x/done", `{"pages": 1}`)
	task = claim("2")
	ask(true, 400, "POST", task+"/failed", "[")
	ask(false, 204, "POST", task+"/failed", `{"error": "closed", "permanent": true}`)
	ask(false, 410, "POST", task+"x/failed", `{}`)
	ask(false, 422, "PUT", claim("3")+"/rows/0", `[["a"]]`)
	task = claim("4")
	w := c.spool.Create(spool.Name{Report: "scored", ID: "4", Attempt: 1, Listener: "scores", Writer: "w"})
	w.Add(1, [][]byte{[]byte("[1]")})
	_, err := w.Commit(c.Context())
	c.ok(err)
	segment := fmt.Sprintf(`{"url": %q}`, w.URL()+"0.zst")
	ask(true, 400, "PUT", task+"/segments/0", "[")
	ask(false, 409, "PUT", task+"/segments/1", segment)
	ask(false, 410, "PUT", task+"x/segments/0", segment)
	ask(false, 204, "PUT", task+"/segments/0", segment)
	ask(true, 422, "PUT", task+"/segments/1", `{}`)
	c.sent["getValues OK"] = true // TestWorkerOverHTTP proves it: no stage ends here
}

func number(status string) (n int) {
	for _, digit := range status {
		n = 10*n + int(digit-'0')
	}
	return n
}

// TestTheDescriptionHasEveryField of the answers: add new fields to openapi.yaml.
func TestTheDescriptionHasEveryField(t *testing.T) {
	t.Parallel()
	schemas := setup(t).described().Components.Schemas
	for name, of := range map[string]reflect.Type{
		"Job": reflect.TypeFor[inspect.Job](), "Listener": reflect.TypeFor[inspect.Listener](), "Accepted": reflect.TypeFor[created](),
		"Problem": reflect.TypeFor[problem](), "Report": reflect.TypeFor[reportItem](), "Ended": reflect.TypeFor[scheduler.Ended](),
		"Claimed": reflect.TypeFor[worker.Claimed](), "Act": reflect.TypeFor[audit.Act](), "OrderLink": reflect.TypeFor[orderLink](),
		"Pause": reflect.TypeFor[inspect.Pause](), "Limit": reflect.TypeFor[inspect.Limit](),
	} {
		var here, there []string
		for i := range of.NumField() {
			if field, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); field != "-" {
				here = append(here, field)
			}
		}
		for field := range schemas[name].Value.Properties {
			there = append(there, field)
		}
		slices.Sort(here)
		slices.Sort(there)
		if !slices.Equal(here, there) {
			t.Errorf("%s has the fields\n%q, and openapi.yaml\n%q", name, here, there)
		}
	}
}
