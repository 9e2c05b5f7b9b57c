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
	// Name of a column → the path to its value in a row, or these fields
	Fields []HTTPField `yaml:"columns" need:"Add the paths to the columns in a row: {user_id: $.user.id}"` // for each of the listener's Columns
	// Request that creates the job
	Submit *HTTPSubmit `yaml:"submit" json:",omitempty"` // nil: the rows exist at once
	// Request for the status of the job
	Poll *HTTPPoll `yaml:"poll" json:",omitempty"` // ignored without Submit
	// Request that ends the job when the record is cancelled or `total` is over, without a guarantee. 404, 409 and 410 mean that the job has ended. If the record fails for another reason, the job goes on
	Cancel *HTTPRequest `yaml:"cancel" json:"-"`
	// Request for the rows, after the job is done if there is one
	Result HTTPResult `yaml:"result" need:"Add the request for the rows: {path: /…, rows: $.…}"`
	// Maximum time from the first request to the last row, with all waits and tries. After it the task fails with the error of the last try. In the report's timeout it is the time of the listener
	Total time.Duration `yaml:"total" default:"2h" json:"-"` // 0 without Submit
}

// HTTPSubmit makes a job.
type HTTPSubmit struct {
	HTTPRequest
	// Path to the id of the job in the response
	ID JSONPath `yaml:"id" need:"Add the path to the job's id in the response: id: $.id"` // a text or a number
	// What to do if it is not known whether the API has created the job. Only for an API with `idempotency: none`
	Unknown HTTPUncertain `yaml:"unknown" json:"-"`
}

// HTTPUncertain is an answer with what it needs.
type HTTPUncertain struct {
	Answer HTTPUnknown `short:"" enum:"resubmit,fail" why:"Or write {look_up: {path: /…, id: $.…}}"`
	// Request that finds the job by its `{key}`
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
	// Path to the id of the job in the response
	ID JSONPath `yaml:"id" need:"Add the path to the job's id in the response: id: $.jobs[0].id"` // leads nowhere, or to null, if there is no such job
}

// HTTPPoll asks for the status of a job.
type HTTPPoll struct {
	HTTPRequest
	// Pause between two requests, or longer if the response has `Retry-After`
	Every time.Duration `yaml:"every" default:"10s" json:"-"`
	// Path to the status of the job in the response
	Status JSONPath `yaml:"status" need:"Add the path to the job's status in the response: status: $.status"`
	// Statuses of a job whose rows are available
	Done []string `yaml:"done" one:"" min:"1" need:"List the statuses of a job whose rows are available: done: [done]"`
	// Statuses of a failed job
	Failed []string `yaml:"failed" one:"" min:"1"`
	// Statuses of a running job. Any other status fails the task
	Working []string `yaml:"working" one:"" min:"1" unset:"all others"`
	// Path to the reason of a failed job
	Error JSONPath `yaml:"error" json:",omitzero"`
}

// HTTPField is a column's value in a row.
type HTTPField struct {
	Name string `key:"" json:"-"` // of the column
	// Path to the value in a row
	Path JSONPath `yaml:"path" short:"" need:"Write the path to the value in a row, such as $.user.id"`
	// Type of the values
	Kind Kind `yaml:"type" enum:"text,integer,decimal,float,date,datetime,json" unset:"decimal if the first value is a number, otherwise text" json:",omitempty"`
	// `true`: a row without the value has NULL
	Optional bool `yaml:"optional" default:"false" json:",omitempty"`
}

// HTTPRequest is a request to an API. In its path, the values of its query and the
// texts of its JSON, :name as a whole stands for a parameter, or :listener.column for the
// values of an earlier stage; {id} and {key}, anywhere in a text, for the vendor's job and
// the idempotency key; :: at the beginning for a colon.
type HTTPRequest struct {
	// Method of the request
	Method string `yaml:"method" enum:"GET,POST,PUT,PATCH,DELETE" unset:"GET; POST to submit, DELETE to cancel"`
	// Path below the API's `url`
	Path string `yaml:"path" form:"path" need:"Write the path below the API's url, such as /exports"` // begins with a slash
	// Names and values of the query in the URL
	Query []HTTPPair `yaml:"query" json:",omitempty"`
	// Body of the request
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
	// Name in the query of the next page
	Query string `yaml:"query" form:"query" need:"Write {query: NAME}"` // empty: it is a URL
}

// IsZero tells whether it is not a name in the query.
func (n HTTPNext) IsZero() bool { return n.Query == "" }

// MarshalText gives the name in the query.
func (n HTTPNext) MarshalText() ([]byte, error) { return []byte(n.Query), nil }

// HTTPResult says where the rows are, in one answer or several.
type HTTPResult struct {
	HTTPRequest
	// Path to the array of rows
	Rows JSONPath `yaml:"rows" default:"$"`

	// How the next page is asked for: by what Next leads to, or by a number.

	// Path to the value with which the next page is requested
	Next JSONPath `yaml:"next" json:",omitzero"` // missing, null, false or an empty text in the last page; zero: see Page and Offset
	// `url` if `next` leads to a URL on the same host, or `{query: NAME}` for its name in the query
	NextAs HTTPNext `yaml:"next_as" json:",omitzero"`
	// Name in the query for the number of the page
	Page string `yaml:"page" form:"query" json:",omitempty"` // empty: none. A page without rows ends them
	// Number of the first page
	First int `yaml:"first" default:"1" min:"0" max:"1000000" json:",omitempty"`
	// Name in the query for the number of rows so far
	Offset string `yaml:"offset" form:"query" json:",omitempty"` // empty: none
	// Path to the number of rows in all pages. Another number of rows is an error
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
