package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/report"
)

// Call sends a request to a service.
var Call = Kind{
	Action: kind.Action{
		Name: "call", Doc: "Sends an HTTP request", Form: "call: {url: …}",
		Fields: func() any { return new(CallFields) }, Check: checkCall,
	},
	Act: call,
}

// CallFields are the own fields of Call.
type CallFields struct {
	// `http://` or `https://`
	URL report.Template `yaml:"url" secret:"" need:"Write http://host/path, with {name} where a value goes"`
	// Method of the request
	Method string `yaml:"method" enum:"GET,HEAD,POST,PUT,PATCH,DELETE" default:"POST"`
	// Headers of the request, by name. Their values are secret
	Headers map[string]report.Template `yaml:"headers" secret:""`
	// Body of the request
	Body report.Template `yaml:"body" secret:""` // the values are escaped for its Content-Type
	// Maximum time of one request
	Timeout time.Duration `yaml:"timeout" default:"10s"`
}

func checkCall(t *kind.Timer) {
	own := t.Own.(*CallFields)
	t.CheckTemplates("headers", own.Headers)
	if at := t.Get("url").Hidden(); at.Given() { // it may hold a key
		t.CheckNames(at, own.URL)
		if wrong := own.URL.BadURL(); wrong != "" {
			at.Problem(wrong, "Write http://host/path, with {name} in the path or after the ?")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own.Headers)) {
		wrong := report.CheckHeader(name, own.Headers[name].Reveal(),
			[]string{"idempotency-key", "content-length", "transfer-encoding"})
		if !report.ValidHeader(name) {
			wrong = &report.Mistake{Message: "not a valid header name", Remedy: "Use letters, digits and -"}
		}
		if wrong != nil {
			t.Get("headers").Hidden().Problem(wrong.Message, wrong.Remedy)
		}
	}
	if body := t.Get("body").Hidden(); body.Given() {
		t.CheckNames(body, own.Body)
		if own.Method == "GET" || own.Method == "HEAD" {
			body.Problem(own.Method+" cannot have a body", "Remove it, or use POST")
		}
	}
}

// maxAnswer is how much of an answer is read. Nothing uses it but the connection, which
// can be used again once its answer was read.
const maxAnswer = 64 << 10

// call sends the request once. It follows no redirects: a request goes where the
// configuration says.
func call(ctx context.Context, t Tools, f Firing) ([]string, error) {
	request, err := newRequest(f)
	if err != nil {
		return nil, Permanent(err)
	}
	return nil, t.Send(ctx, request)
}

// Send sends a request, and says of an error what follows from it.
func (t Tools) Send(ctx context.Context, request ask.Request) error {
	request.MaxBytes = 2 * maxAnswer
	answer, err := t.Client.Do(ctx, request)
	if err == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
		answer.Close()
		return nil
	}
	failure := ask.As(err)
	if failure == nil {
		return err // of ctx
	}
	err = fmt.Errorf("%s %s: %w", request.Method, request.URL.Host, err)
	switch {
	case failure.Kind == ask.Refused, failure.Kind == ask.Moved:
		return Permanent(err)
	case failure.After > 0:
		return After(err, failure.After)
	}
	return err
}

// newRequest fills the request in.
func newRequest(f Firing) (ask.Request, error) {
	own := f.Own.(*CallFields)
	address, err := fillURL(own.URL, f.Values)
	if err != nil {
		return ask.Request{}, err
	}
	r := ask.Request{Method: own.Method, Header: http.Header{}, Timeout: own.Timeout}
	if r.URL, err = url.Parse(address); err != nil {
		return r, errors.New("the URL cannot be used with these values")
	}
	for _, name := range slices.Sorted(maps.Keys(own.Headers)) {
		value := own.Headers[name].Fill(f.Values, nil)
		if strings.ContainsAny(value, "\r\n\x00") {
			return r, errors.New("a line break in header " + name)
		}
		r.Header.Set(name, value)
		r.Secrets = append(r.Secrets, value)
	}
	if !own.Body.Empty() {
		if r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", "application/json")
		}
		r.Body = []byte(fillBody(own.Body, f.Values, r.Header.Get("Content-Type")))
	}
	r.Header.Set("Idempotency-Key", f.ID())
	return r, nil
}

// fillURL puts the values into a URL: escaped for its path or its query.
func fillURL(t report.Template, values map[string]string) (string, error) {
	path, query, has := strings.Cut(t.Reveal(), "?")
	var wrong error
	text := report.NewTemplate(path).Fill(values, func(v string) string {
		if ask.HasDotSegment(v) {
			wrong = fmt.Errorf("a value that cannot be used in the path of a URL: %q", v)
		}
		return url.PathEscape(v)
	})
	if has {
		text += "?" + report.NewTemplate(query).Fill(values, url.QueryEscape)
	}
	return text, wrong
}

// fillBody puts the values into a body of this content type: escaped for JSON
// and for forms, otherwise as they are.
func fillBody(t report.Template, values map[string]string, contentType string) string {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	switch kind = strings.TrimSpace(kind); {
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return t.Fill(values, jsonEscape)
	case kind == "application/x-www-form-urlencoded":
		return t.Fill(values, url.QueryEscape)
	}
	return t.Fill(values, nil)
}

// jsonEscape gives what stands between the quotes of a JSON string.
func jsonEscape(value string) string {
	b, err := json.Marshal(value)
	if err != nil {
		return "" // a string can always be marshalled
	}
	return string(b[1 : len(b)-1])
}
