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
	// by name: the path to the column's value in a row, or these fields
	Fields []HTTPField `yaml:"columns" need:"Say where the columns are in a row: {user_id: $.user.id}"` // for each of the listener's Columns
	// request that makes the job
	Submit *HTTPSubmit `yaml:"submit" json:",omitempty"` // nil: the rows exist at once
	// request that asks how the job is
	Poll *HTTPPoll `yaml:"poll" json:",omitempty"` // ignored without Submit
	// request that ends the job of a record that was cancelled, or whose `total` is over; best effort. 404, 409 and 410 count as ended. The job of a record that fails otherwise goes on
	Cancel *HTTPRequest `yaml:"cancel" json:"-"`
	// request for the rows, or for those of the job once it is done
	Result HTTPResult `yaml:"result" need:"Say where the rows are: {path: /…, rows: $.…}"`
	// maximum time from the first request to the last row, with all waits and tries; it counts as the listener's time in the timeout of the report. When it is over, the task fails, with what the last try said
	Total time.Duration `yaml:"total" default:"2h" json:"-"` // 0 without Submit
}

// HTTPSubmit makes a job.
type HTTPSubmit struct {
	HTTPRequest
	// path to the job's id in the answer
	ID JSONPath `yaml:"id" need:"Say where the job's id is in the answer: id: $.id"` // a text or a number
	// what to do if it is not known whether the API has made the job; only for an API with `idempotency: none`
	Unknown HTTPUncertain `yaml:"unknown" json:"-"`
}

// HTTPUncertain is an answer with what it needs.
type HTTPUncertain struct {
	Answer HTTPUnknown `short:"" enum:"resubmit,fail" why:"Or write {look_up: {path: /…, id: $.…}}"`
	// request that finds the job by its `{key}`
	LookUp *HTTPLookUp `yaml:"look_up" need:"Write {look_up: {path: /…, id: $.…}}"` // with LookUpJob
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
	// path to the job's id in the answer
	ID JSONPath `yaml:"id" need:"Say where the job's id is in the answer: id: $.jobs[0].id"` // leads nowhere, or to null, if there is no such job
}

// HTTPPoll asks for the status of a job.
type HTTPPoll struct {
	HTTPRequest
	// pause between two requests, or longer if the answer has `Retry-After`
	Every time.Duration `yaml:"every" default:"10s" json:"-"`
	// path to the job's status in the answer
	Status JSONPath `yaml:"status" need:"Say where the job's status is in the answer: status: $.status"`
	// statuses of a job whose rows exist
	Done []string `yaml:"done" one:"" min:"1" need:"List the statuses of a job whose rows are there: done: [done]"`
	// statuses of a job that has failed
	Failed []string `yaml:"failed" one:"" min:"1"`
	// statuses of a job that works; another one fails the task
	Working []string `yaml:"working" one:"" min:"1" unset:"all others"`
	// path to why the job failed
	Error JSONPath `yaml:"error" json:",omitzero"`
}

// HTTPField is a column's value in a row.
type HTTPField struct {
	Name string `key:"" json:"-"` // of the column
	// path to the value in a row
	Path JSONPath `yaml:"path" short:"" need:"Write the path to the value in a row, such as $.user.id"`
	// type of the values
	Kind Kind `yaml:"type" enum:"text,integer,decimal,float,date,datetime,json" unset:"decimal if the first value is a number, otherwise text" json:",omitempty"`
	// `true`: a row without the value has NULL
	Optional bool `yaml:"optional" default:"false" json:",omitempty"`
}

// HTTPRequest is a request to an API. In its path, the values of its query and the
// texts of its JSON, :name as a whole stands for a parameter, or :listener.column for the
// values of an earlier stage; {id} and {key}, anywhere in a text, for the vendor's job and
// the idempotency key; :: at the beginning for a colon.
type HTTPRequest struct {
	// method of the request
	Method string `yaml:"method" enum:"GET,POST,PUT,PATCH,DELETE" unset:"GET; POST to submit, DELETE to cancel"`
	// path below the API's `url`
	Path string `yaml:"path" form:"path" need:"Write the path below the API's url, such as /exports"` // begins with a slash
	// names and values of the URL's query
	Query []HTTPPair `yaml:"query" json:",omitempty"`
	// the body
	JSON any `yaml:"json" raw:"" json:",omitempty"` // maps, slices, texts, json.Number, bool and nil; nil: none
}

// HTTPPair is a name and a value of a URL's query.
type HTTPPair struct {
	Name  string `key:""`
	Value string `short:""`
}

// HTTPNext says how the next page is asked for with a value of the answer: the value is its
// URL, or a value in the URL's query.
type HTTPNext struct {
	As string `short:"" enum:"url" why:"Write url, or {query: NAME}"`
	// name in the query of the next page
	Query string `yaml:"query" form:"query" need:"Write {query: NAME}"` // empty: it is a URL
}

// IsZero tells whether it is not a name in the query.
func (n HTTPNext) IsZero() bool { return n.Query == "" }

// MarshalText gives the name in the query.
func (n HTTPNext) MarshalText() ([]byte, error) { return []byte(n.Query), nil }

// HTTPResult says where the rows are, in one answer or several.
type HTTPResult struct {
	HTTPRequest
	// path to the array of rows
	Rows JSONPath `yaml:"rows" default:"$"`

	// How the next page is asked for: by what Next leads to, or by a number.

	// path to what the next page is asked for with
	Next JSONPath `yaml:"next" json:",omitzero"` // missing, null, false or an empty text in the last page; zero: see Page and Offset
	// `url` if `next` leads to a URL on the same host, or `{query: NAME}` for its name in the query
	NextAs HTTPNext `yaml:"next_as" json:",omitzero"`
	// name in the query for the number of the page
	Page string `yaml:"page" form:"query" json:",omitempty"` // empty: none. A page without rows ends them
	// number of the first page
	First int `yaml:"first" default:"1" min:"0" max:"1000000" json:",omitempty"`
	// name in the query for the number of rows so far
	Offset string `yaml:"offset" form:"query" json:",omitempty"` // empty: none
	// path to the number of rows in all pages; another number of rows is an error
	Count JSONPath `yaml:"count" json:",omitzero"` // zero: it is not checked
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

// UsesName tells whether a name, {id} or {key} among them, is in a request.
func (r HTTPRequest) UsesName(name string) bool {
	return slices.ContainsFunc(r.Uses(), func(u HTTPUse) bool { return u.Name == name })
}
