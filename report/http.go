package report

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// HTTP is what a listener of kind http asks its API for: rows at once, or a job that is
// polled until its rows exist.
type HTTP struct {
	Fields []HTTPField // of a row, for each of the listener's Columns
	Submit *HTTPSubmit `json:",omitempty"` // nil: the rows exist at once
	Poll   HTTPPoll    `json:",omitzero"`  // ignored without Submit
	Result HTTPResult
	Cancel *HTTPRequest  `json:"-"` // of a job that is no longer needed; nil: none
	Total  time.Duration `json:"-"` // from the first request to the last row, with all tries; 0 without Submit
}

// HTTPSubmit makes a job.
type HTTPSubmit struct {
	HTTPRequest
	ID      JSONPath    // to the job's id in the answer: a text or a number
	Unknown HTTPUnknown `json:"-"` // ignored if the API recognizes repeated requests
	LookUp  *HTTPLookUp `json:"-"` // with LookUpJob
}

// HTTPUnknown says what to do if it is not known whether an API has made a job: the
// connection broke before its answer, or the worker died.
type HTTPUnknown string

// The answers.
const (
	ResubmitJob HTTPUnknown = "resubmit" // there may be two jobs
	FailJob     HTTPUnknown = "fail"
	LookUpJob   HTTPUnknown = "look_up"
)

// HTTPLookUp looks for a job by its key.
type HTTPLookUp struct {
	HTTPRequest
	ID JSONPath // leads nowhere, or to null, if there is no such job
}

// HTTPPoll asks for the status of a job.
type HTTPPoll struct {
	HTTPRequest
	Every   time.Duration `json:"-"`
	Status  JSONPath
	Done    []string // statuses
	Failed  []string
	Working []string // empty: all others
	Error   JSONPath `json:",omitzero"` // to why it failed
}

// HTTPField is a column's value in a row.
type HTTPField struct {
	Path     JSONPath
	Kind     Kind `json:",omitempty"` // empty: decimal if the first value is a number, otherwise text
	Optional bool `json:",omitempty"` // a row without the value has null
}

// HTTPRequest is a request to an API. In its path, the values of its query and the
// texts of its JSON, :name as a whole stands for a parameter, or :listener.column for the
// values of an earlier stage; {id} and {key}, anywhere in a text, for the vendor's job and
// the idempotency key; :: at the beginning for a colon.
type HTTPRequest struct {
	Method string
	Path   string     // below the API's URL; begins with a slash
	Query  []HTTPPair `json:",omitempty"`
	JSON   any        `json:",omitempty"` // the body: maps, slices, texts, json.Number, bool and nil; nil: none
}

// HTTPPair is a name and a value of a URL's query.
type HTTPPair struct{ Name, Value string }

// HTTPResult says where the rows are, in one answer or several.
type HTTPResult struct {
	HTTPRequest
	Rows JSONPath // to the array of rows
	// How the next page is asked for: by what Next leads to, or by a number.
	Next   JSONPath `json:",omitzero"`  // missing, null, false or an empty text in the last page; zero: see Page and Offset
	NextAs string   `json:",omitempty"` // the name in the query for what Next leads to; empty: it is a URL
	Page   string   `json:",omitempty"` // the name in the query for the number of the page; empty: none. A page without rows ends them
	First  int      `json:",omitempty"` // number of the first page
	Offset string   `json:",omitempty"` // the name in the query for the number of rows so far; empty: none
	Count  JSONPath `json:",omitzero"`  // to the number of rows in all pages; zero: it is not checked
}

var httpName = regexp.MustCompile(`^:([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)$`)

// HTTPBrace is what stands for the vendor's job or the idempotency key in a request.
var HTTPBrace = regexp.MustCompile(`\{(id|key)\}`)

// HTTPName returns the name in :name, if a text of a request is that as a whole.
func HTTPName(text string) (string, bool) {
	m := httpName.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// HTTPUse is a name in a request and where it stands.
type HTTPUse struct {
	Name string // with its colon if it is not valid
	List bool   // a list may stand there
}

// Uses lists the names in a request, in its order; id and key among them.
func (r HTTPRequest) Uses() []HTTPUse {
	var found []HTTPUse
	add := func(text string, list bool) {
		if name, ok := HTTPName(text); ok {
			found = append(found, HTTPUse{name, list})
		} else if strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "::") {
			found = append(found, HTTPUse{text, list})
		}
		for _, m := range HTTPBrace.FindAllStringSubmatch(text, -1) {
			found = append(found, HTTPUse{"{" + m[1] + "}", false})
		}
	}
	for segment := range strings.SplitSeq(r.Path, "/") {
		add(segment, false)
	}
	for _, p := range r.Query {
		add(p.Value, true)
	}
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case string:
			add(v, true)
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		}
	}
	walk(r.JSON)
	return found
}

// UsesKey tells whether {key} is in a request.
func (r HTTPRequest) UsesKey() bool { return r.UsesName("{key}") }

// UsesID tells whether {id}, the vendor's job, is in a request.
func (r HTTPRequest) UsesID() bool { return r.UsesName("{id}") }

// UsesName tells whether a name, such as {id}, is in a request.
func (r HTTPRequest) UsesName(name string) bool {
	return slices.ContainsFunc(r.Uses(), func(u HTTPUse) bool { return u.Name == name })
}
