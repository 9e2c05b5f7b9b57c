package http

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Fields are the own fields of a listener: its requests for rows that exist, or for a job that is
// polled until its rows exist.
type Fields struct {
	// Name of one of `apis`
	API string `yaml:"api" unset:"required" json:"-"`
	// Name of a column → the path to its value in a row, or these fields
	Columns []Field `yaml:"columns" need:"Add the paths to the columns in a row: {user_id: $.user.id}"`
	// Request that creates the job
	Submit *Submit `yaml:"submit" json:",omitempty"` // nil if the rows exist at once
	// Request for the status of the job
	Poll *Poll `yaml:"poll" json:",omitempty"` // ignored without Submit
	// Request that ends the job when the record is cancelled or `total_timeout` is over, without a guarantee. 404, 409
	// and 410 mean that the job has ended. If the record fails for another reason, the job goes on
	Cancel *Request `yaml:"cancel" json:"-"`
	// Request for the rows, after the job is done if there is one
	Result Result `yaml:"result" need:"Add the request for the rows: {path: /…, rows: $.…}"`
	// Maximum time from the first request to the last row, with all waits and tries. After it the task fails with
	// the error of the last try. In the report's timeout it is the time of the listener
	Total time.Duration `yaml:"total_timeout" with:"submit" default:"2h" json:"-"` // without Submit: no effect
	// Maximum number of values of `:listener.column` in one request
	Batch int `yaml:"batch" default:"1000" min:"1" max:"1000000"`
}

// Submit is the request that creates a job.
type Submit struct {
	Request
	// Path to the id of the job in the response
	ID report.JSONPath `yaml:"id" need:"Add the path to the job's id in the response: id: $.id"` // a text or a number
	// What to do if it is not known whether the API has created the job. Only for an API with `idempotency: none`
	Unknown Uncertain `yaml:"if_unknown" json:"-"`
}

// Uncertain is an answer with its request.
type Uncertain struct {
	Answer Unknown `short:"" enum:"resubmit,fail" why:"Or write {look_up: {path: /…, id: $.…}}"`
	// Request that finds the job by its `{key}`
	LookUp *LookUp `yaml:"look_up" need:"Write {look_up: {path: /…, id: $.…}}"` // with LookUpJob
}

// Unknown is what to do if it is unknown whether an API has created a job: the
// connection broke before the response, or the worker died.
type Unknown string

// The values of Unknown.
const (
	ResubmitJob Unknown = "resubmit" // there may be two jobs
	FailJob     Unknown = "fail"
	LookUpJob   Unknown = "look_up"
)

// LookUp is the request that finds a job by its key.
type LookUp struct {
	Request
	// Path to the id of the job in the response
	ID report.JSONPath `yaml:"id" need:"Add the path to the job's id in the response: id: $.jobs[0].id"`
}

// Poll is the request for the status of a job.
type Poll struct {
	Request
	// Pause between two requests, or longer if the response has `Retry-After`
	Every time.Duration `yaml:"every" default:"10s" json:"-"`
	// Path to the status of the job in the response
	Status report.JSONPath `yaml:"status" need:"Add the path to the job's status in the response: status: $.status"`
	// Statuses of a job whose rows are available
	Done []string `yaml:"done" one:"" min:"1" need:"List the statuses of a job whose rows are available: done: [done]"`
	// Statuses of a failed job
	Failed []string `yaml:"failed" one:"" min:"1"`
	// Statuses of a running job. Any other status fails the task
	Working []string `yaml:"working" one:"" min:"1" unset:"all others"`
	// Path to the reason of a failed job
	Error report.JSONPath `yaml:"error" json:",omitzero"`
}

// Field is a column and the place of its value in a row.
type Field struct {
	Name string `key:"" json:"-"` // of the column
	// Path to the value in a row
	Path report.JSONPath `yaml:"path" short:"" need:"Write the path to the value in a row, such as $.user.id"`
	// Type of the values
	Kind report.Kind `yaml:"type" enum:"text,integer,decimal,float,date,datetime,json" unset:"decimal if the first value is a number, otherwise text" json:",omitempty"`
	// `true`: a row without the value has NULL
	Optional bool `yaml:"optional" default:"false" json:",omitempty"`
}

// Request is a request to an API. A segment of its path, a value of its query or a text
// of its JSON can be :name for a parameter or :listener.column for values of an earlier
// stage. Any of them can contain {id} for the id of the vendor's job and {key} for the
// idempotency key. A leading :: stands for a colon.
type Request struct {
	// Method of the request
	Method string `yaml:"method" enum:"GET,POST,PUT,PATCH,DELETE" unset:"GET; POST to submit, DELETE to cancel"`
	// Path below the API's `url`
	Path string `yaml:"path" form:"path" need:"Write the path below the API's url, such as /exports"`
	// Names and values of the query in the URL
	Query []Pair `yaml:"query" credentials:"" json:",omitempty"`
	// Body of the request
	JSON any `yaml:"json" raw:"" credentials:"" json:",omitempty"`
}

// Pair is a name and a value of a URL's query.
type Pair struct {
	Name  string `key:""`
	Value string `short:""`
}

// Next says what a value of the response is: the URL of the next page, or the value of a
// query parameter of its request.
type Next struct {
	As string `short:"" enum:"url" why:"Write url, or {query: NAME}"`
	// Name in the query of the next page
	Query string `yaml:"query" form:"query" need:"Write {query: NAME}"` // empty if the value is a URL
}

// IsZero reports whether the value is a URL.
func (n Next) IsZero() bool { return n.Query == "" }

// MarshalText returns the name in the query.
func (n Next) MarshalText() ([]byte, error) { return []byte(n.Query), nil }

// Result is the request for the rows, and their place in one or more responses.
type Result struct {
	Request
	// Path to the array of rows
	Rows report.JSONPath `yaml:"rows" default:"$"`

	// The next page is requested with the value at Next, or with a number.

	// Path to the value with which the next page is requested
	Next report.JSONPath `yaml:"next" json:",omitzero"`
	// `url` if `next` leads to a URL on the same host, or `{query: NAME}` for its name in the query
	NextAs Next `yaml:"next_as" json:",omitzero"`
	// Name in the query for the number of the page
	Page string `yaml:"page" form:"query" json:",omitempty"` // empty if not used. A page without rows is the last one
	// Number of the first page
	First int `yaml:"first_page" with:"page" default:"1" min:"0" max:"1000000" json:",omitempty"`
	// Name in the query for the number of rows so far
	Offset string `yaml:"offset" form:"query" json:",omitempty"` // empty if not used
	// Path to the number of rows in all pages. Another number of rows is an error
	Count report.JSONPath `yaml:"count" json:",omitzero"` // zero if not checked
}

var parameter = regexp.MustCompile(`^:([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)$`)

// brace matches the id of the vendor's job and the idempotency key in a request.
var brace = regexp.MustCompile(`\{(id|key)\}`)

// nameIn returns the name if a text of a request is :name.
func nameIn(text string) (string, bool) {
	m := parameter.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// Use is a name in a request.
type Use struct {
	Name string // with its colon if it is not valid, or {id} or {key}
	List bool   // a list may stand here
}

// Uses returns the names in a request, in order, {id} and {key} included.
func (r Request) Uses() []Use {
	var found []Use
	add := func(text string, list bool) {
		if name, ok := nameIn(text); ok {
			found = append(found, Use{name, list})
		} else if strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "::") {
			found = append(found, Use{text, list})
		}
		for _, m := range brace.FindAllStringSubmatch(text, -1) {
			found = append(found, Use{"{" + m[1] + "}", false})
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
func (r Request) UsesName(name string) bool {
	return slices.ContainsFunc(r.Uses(), func(u Use) bool { return u.Name == name })
}
