package report

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// HTTP defines the requests of a listener of kind http: for rows that exist, or for a job
// that is polled until its rows exist.
type HTTP struct {
	// Name of a column → the path to its value in a row, or these fields
	Fields []HTTPField `yaml:"columns" need:"Add the paths to the columns in a row: {user_id: $.user.id}"` // one for each of the listener's Columns
	// Request that creates the job
	Submit *HTTPSubmit `yaml:"submit" json:",omitempty"` // nil if the rows exist at once
	// Request for the status of the job
	Poll *HTTPPoll `yaml:"poll" json:",omitempty"` // ignored without Submit
	// Request that ends the job when the record is cancelled or `total` is over, without a guarantee. 404, 409 and 410 mean that the job has ended. If the record fails for another reason, the job goes on
	Cancel *HTTPRequest `yaml:"cancel" json:"-"`
	// Request for the rows, after the job is done if there is one
	Result HTTPResult `yaml:"result" need:"Add the request for the rows: {path: /…, rows: $.…}"`
	// Maximum time from the first request to the last row, with all waits and tries. After it the task fails with the error of the last try. In the report's timeout it is the time of the listener
	Total time.Duration `yaml:"total" default:"2h" json:"-"` // 0 without Submit
}

// HTTPSubmit is the request that creates a job.
type HTTPSubmit struct {
	HTTPRequest
	// Path to the id of the job in the response
	ID JSONPath `yaml:"id" need:"Add the path to the job's id in the response: id: $.id"` // a text or a number
	// What to do if it is not known whether the API has created the job. Only for an API with `idempotency: none`
	Unknown HTTPUncertain `yaml:"unknown" json:"-"`
}

// HTTPUncertain is an answer with its request.
type HTTPUncertain struct {
	Answer HTTPUnknown `short:"" enum:"resubmit,fail" why:"Or write {look_up: {path: /…, id: $.…}}"`
	// Request that finds the job by its `{key}`
	LookUp *HTTPLookUp `yaml:"look_up" need:"Write {look_up: {path: /…, id: $.…}}"` // with LookUpJob
}

// HTTPUnknown is what to do if it is unknown whether an API has created a job: the
// connection broke before the response, or the worker died.
type HTTPUnknown string

// The values of HTTPUnknown.
const (
	ResubmitJob HTTPUnknown = "resubmit" // there may be two jobs
	FailJob     HTTPUnknown = "fail"
	LookUpJob   HTTPUnknown = "look_up"
)

// HTTPLookUp is the request that finds a job by its key.
type HTTPLookUp struct {
	HTTPRequest
	// Path to the id of the job in the response
	ID JSONPath `yaml:"id" need:"Add the path to the job's id in the response: id: $.jobs[0].id"` // finds nothing, or null, if no such job exists
}

// HTTPPoll is the request for the status of a job.
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

// HTTPField is a column and the place of its value in a row.
type HTTPField struct {
	Name string `key:"" json:"-"` // of the column
	// Path to the value in a row
	Path JSONPath `yaml:"path" short:"" need:"Write the path to the value in a row, such as $.user.id"`
	// Type of the values
	Kind Kind `yaml:"type" enum:"text,integer,decimal,float,date,datetime,json" unset:"decimal if the first value is a number, otherwise text" json:",omitempty"`
	// `true`: a row without the value has NULL
	Optional bool `yaml:"optional" default:"false" json:",omitempty"`
}

// HTTPRequest is a request to an API. A segment of its path, a value of its query or a text
// of its JSON can be :name for a parameter or :listener.column for values of an earlier
// stage. Any of them can contain {id} for the id of the vendor's job and {key} for the
// idempotency key. A leading :: stands for a colon.
type HTTPRequest struct {
	// Method of the request
	Method string `yaml:"method" enum:"GET,POST,PUT,PATCH,DELETE" unset:"GET; POST to submit, DELETE to cancel"`
	// Path below the API's `url`
	Path string `yaml:"path" form:"path" need:"Write the path below the API's url, such as /exports"` // begins with a slash
	// Names and values of the query in the URL
	Query []HTTPPair `yaml:"query" json:",omitempty"`
	// Body of the request
	JSON any `yaml:"json" raw:"" json:",omitempty"` // maps, slices, strings, json.Number, bool and nil; nil means no body
}

// HTTPPair is a name and a value of a URL's query.
type HTTPPair struct {
	Name  string `key:""`
	Value string `short:""`
}

// HTTPNext says what a value of the response is: the URL of the next page, or the value of a
// query parameter of its request.
type HTTPNext struct {
	As string `short:"" enum:"url" why:"Write url, or {query: NAME}"`
	// Name in the query of the next page
	Query string `yaml:"query" form:"query" need:"Write {query: NAME}"` // empty if the value is a URL
}

// IsZero reports whether the value is a URL.
func (n HTTPNext) IsZero() bool { return n.Query == "" }

// MarshalText returns the name in the query.
func (n HTTPNext) MarshalText() ([]byte, error) { return []byte(n.Query), nil }

// HTTPResult is the request for the rows, and their place in one or more responses.
type HTTPResult struct {
	HTTPRequest
	// Path to the array of rows
	Rows JSONPath `yaml:"rows" default:"$"`

	// The next page is requested with the value at Next, or with a number.

	// Path to the value with which the next page is requested
	Next JSONPath `yaml:"next" json:",omitzero"` // missing, null, false or an empty text on the last page; zero: see Page and Offset
	// `url` if `next` leads to a URL on the same host, or `{query: NAME}` for its name in the query
	NextAs HTTPNext `yaml:"next_as" json:",omitzero"`
	// Name in the query for the number of the page
	Page string `yaml:"page" form:"query" json:",omitempty"` // empty if not used. A page without rows is the last one
	// Number of the first page
	First int `yaml:"first" default:"1" min:"0" max:"1000000" json:",omitempty"`
	// Name in the query for the number of rows so far
	Offset string `yaml:"offset" form:"query" json:",omitempty"` // empty if not used
	// Path to the number of rows in all pages. Another number of rows is an error
	Count JSONPath `yaml:"count" json:",omitzero"` // zero if not checked
}

var httpName = regexp.MustCompile(`^:([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)$`)

// HTTPBrace matches the id of the vendor's job and the idempotency key in a request.
var HTTPBrace = regexp.MustCompile(`\{(id|key)\}`)

// HTTPName returns the name if a text of a request is :name.
func HTTPName(text string) (string, bool) {
	m := httpName.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// HTTPUse is a name in a request.
type HTTPUse struct {
	Name string // with its colon if it is not valid, or {id} or {key}
	List bool   // a list may stand here
}

// Uses returns the names in a request, in order, {id} and {key} included.
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

// UsesName reports whether a request uses a name, {id} or {key}.
func (r HTTPRequest) UsesName(name string) bool {
	return slices.ContainsFunc(r.Uses(), func(u HTTPUse) bool { return u.Name == name })
}
