package config

import (
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

type listenerFields struct {
	decode.Section
	// unique in the report, such as `plt_fund.vs_withdraw`: letters, digits and `_`, in parts with dots between them
	Name string `yaml:"name" form:"listener" need:"Name it after what it reads, such as schema.table"`
	// where its data comes from: a query, an HTTP API, or a service of yours
	Kind report.ListenerKind `yaml:"kind" default:"mysql"`
	// of one try of its task
	Timeout time.Duration `yaml:"timeout" default:"5m"`
	// of its task
	Retry retryFields `yaml:"retry" unset:"the report's, field by field"`
	// what it means for the job that it fails for good: `required`, `optional`, or `{default: {column: value}}`
	OnFailure failureFields `yaml:"on_failure" unset:"required"`

	mysqlFields    `kind:"mysql"`
	httpFields     `kind:"http"`
	externalFields `kind:"external"`
}

type failureFields struct {
	decode.Section
	Policy report.OnFailure `short:"" enum:"required=,optional" why:"Or write {default: {column: value}}"`
	// column → its value in every row
	Default []valueFields `yaml:"default" min:"1" need:"Write {default: {column: value}}, or optional"`
}

type valueFields struct {
	decode.Section
	Name  string         `key:""`
	Value decode.Setting `short:""`
}

type mysqlFields struct {
	// name of one of `databases`
	Database string `yaml:"database" unset:"needed"`
	// one SELECT, with `:parameter` and `:listener.column`
	Query string `yaml:"query" need:"Add the SELECT that this listener runs"`
	// names of what the query gives, in order; needed if its SELECT does not tell them
	Columns []string `yaml:"columns" unset:"as in the SELECT"`
}

type externalFields struct {
	// what the service gives: names, or these fields
	Typed []typedFields `yaml:"columns" need:"Name what the service gives: columns: [user_id, {name: score, type: decimal}]"`
	// a worker that is silent for this long is considered dead
	Silence time.Duration `yaml:"silence" default:"30s" min:"1s" why:"A worker says something every third of it"`
}

type typedFields struct {
	decode.Section
	// name of the column
	Name string `yaml:"name" short:"" need:"Name the column"`
	// type of its values
	Type report.Kind `yaml:"type" default:"text"`
}

type httpFields struct {
	// name of one of `apis`
	API string `yaml:"api" need:"Name one of apis"`
	// by name: the path to the column's value in a row, or these fields
	Fields []pathFields `yaml:"columns" need:"Say where the columns are in a row: {user_id: $.user.id}"`
	// values of `:listener.column` in one request
	Batch int `yaml:"batch" default:"1000" min:"1" max:"1000000"`
	// request that makes the job
	Submit *submitRequest `yaml:"submit"`
	// request that asks how the job is
	Poll *pollRequest `yaml:"poll"`
	// request that ends the job of a record that was cancelled, or whose `total` is over; best effort. 404, 409 and 410 count as ended. The job of a record that fails otherwise goes on
	Cancel *cancelRequest `yaml:"cancel"`
	// request for the rows, or for those of the job once it is done
	Result *resultRequest `yaml:"result" need:"Say where the rows are: {path: /…, rows: $.…}"`
	// maximum time from the first request to the last row, with all waits and tries; it counts as the listener's time in the timeout of the report. When it is over, the task fails, with what the last try said
	Total time.Duration `yaml:"total" default:"2h"`
}

type pathFields struct {
	decode.Section
	Name string `key:""`
	// path to the value in a row
	Path report.JSONPath `yaml:"path" short:"" need:"Write the path to the value in a row, such as $.user.id"`
	// type of the values
	Type report.Kind `yaml:"type" enum:"text,integer,decimal,float,date,datetime,json" unset:"decimal if the first value is a number, otherwise text"`
	// `true`: a row without the value has NULL
	Optional bool `yaml:"optional" default:"false"`
}

// request is what all requests to an API have.
type request struct {
	// method of the request
	Method string `yaml:"method" enum:"GET,POST,PUT,PATCH,DELETE" unset:"GET; POST to submit, DELETE to cancel"`
	// path below the API's `url`
	Path string `yaml:"path" form:"path" need:"Write the path below the API's url, such as /exports"`
	// names and values of the URL's query
	Query []pair `yaml:"query"`
	// the body
	JSON decode.Setting `yaml:"json"`
}

type cancelRequest struct {
	decode.Section
	request
}

type submitRequest struct {
	decode.Section
	request
	// path to the job's id in the answer
	ID report.JSONPath `yaml:"id" need:"Say where the job's id is in the answer: id: $.id"`
	// what to do if it is not known whether the API has made the job; only for an API with `idempotency: none`
	Unknown *unknownFields `yaml:"unknown"`
}

type unknownFields struct {
	decode.Section
	Answer report.HTTPUnknown `short:"" enum:"resubmit,fail" why:"Or write {look_up: {path: /…, id: $.…}}"`
	// request that finds the job by its `{key}`
	LookUp *lookUpRequest `yaml:"look_up" need:"Write {look_up: {path: /…, id: $.…}}"`
}

type lookUpRequest struct {
	decode.Section
	request
	// path to the job's id in the answer
	ID report.JSONPath `yaml:"id" need:"Say where the job's id is in the answer: id: $.jobs[0].id"`
}

type pollRequest struct {
	decode.Section
	request
	// pause between two requests, or longer if the answer has `Retry-After`
	Every time.Duration `yaml:"every" default:"10s"`
	// path to the job's status in the answer
	Status report.JSONPath `yaml:"status" need:"Say where the job's status is in the answer: status: $.status"`
	// statuses of a job whose rows exist
	Done []string `yaml:"done" one:"" min:"1" need:"List the statuses of a job whose rows are there: done: [done]"`
	// statuses of a job that has failed
	Failed []string `yaml:"failed" one:"" min:"1"`
	// statuses of a job that works; another one fails the task
	Working []string `yaml:"working" one:"" min:"1" unset:"all others"`
	// path to why the job failed
	Error report.JSONPath `yaml:"error"`
}

type resultRequest struct {
	decode.Section
	request
	// path to the array of rows
	Rows report.JSONPath `yaml:"rows" default:"$"`
	// path to what the next page is asked for with
	Next report.JSONPath `yaml:"next"`
	// `url` if `next` leads to a URL on the same host, or `{query: NAME}` for its name in the query
	NextAs *nextFields `yaml:"next_as"`
	// name in the query for the number of the page
	Page string `yaml:"page" form:"query"`
	// number of the first page
	First int `yaml:"first" default:"1" min:"0" max:"1000000"`
	// name in the query for the number of rows so far
	Offset string `yaml:"offset" form:"query"`
	// path to the number of rows in all pages; another number of rows is an error
	Count report.JSONPath `yaml:"count"`
}

type nextFields struct {
	decode.Section
	As string `short:"" enum:"url" why:"Write url, or {query: NAME}"`
	// name in the query of the next page
	Query string `yaml:"query" form:"query" need:"Write {query: NAME}"`
}
