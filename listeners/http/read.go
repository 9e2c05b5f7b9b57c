package http

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// Name is the kind's name in a configuration.
const Name = "http"

// Kind is the HTTP source.
var Kind = listeners.Kind{
	Source: kind.Source{
		Name: Name, Field: "api",
		Words: report.Words{
			Noun: "API", Section: "apis", Work: "it has been asking API {source} for",
			Remedy: "check its url, and that this process can reach it",
		},
		Fields: func() any { return new(Fields) },
		Read:   read,
	},
	OpenAPI: func(api report.API, prefix string) (listeners.Connection, error) { return New(api, prefix), nil },
}

// reading is a listener whose requests are read.
type reading struct {
	*kind.Listener
	fields *Fields
}

// read reads the requests of a listener.
func read(of *kind.Listener) {
	l := reading{of, of.Own.(*Fields)}
	api, known := l.Connection.(report.API)
	for _, column := range l.fields.Columns {
		l.Columns = append(l.Columns, column.Name)
	}
	result := l.Reader.Of(&l.fields.Result)
	l.Whole = result.Given() && !l.Wrong("result", "submit", "poll", "cancel")
	if l.fields.Submit != nil {
		l.Overall = l.fields.Total
		l.checkJob(api, known)
	} else {
		for _, name := range []string{"poll", "cancel", "total_timeout"} {
			if at := l.Get(name); at.Given() {
				at.Problem(name+" requires submit",
					"Add submit: {path: /…, id: $.…}, or remove "+name+" if the API returns the rows at once")
			}
		}
	}
	if result.Given() {
		l.checkResult(result)
	}
}

// checkJob validates the requests that create, poll and cancel a job.
func (l reading) checkJob(api report.API, known bool) {
	h := l.fields
	l.checkSubmit(h.Submit, api, known)
	if h.Poll == nil {
		l.Missing("poll", "Add poll: {path: \"/…/{id}\", status: $.…, done: [done], failed: [failed]}")
	} else {
		s := l.Reader.Of(h.Poll)
		l.request(s, &h.Poll.Request, "GET", places{id: true, key: true})
		checkPoll(s, h.Poll)
	}
	if h.Cancel != nil {
		s := l.Reader.Of(h.Cancel)
		l.request(s, h.Cancel, "DELETE", places{id: true, key: true, constant: true})
		needJob(h.Cancel, s, "{id}", "{key}")
	}
}

func (l reading) checkSubmit(submit *Submit, api report.API, known bool) {
	s := l.Reader.Of(submit)
	l.request(s, &submit.Request, "POST", places{values: true, key: true})
	if submit.Method == "GET" {
		s.Get("method").Problem("GET cannot create a job", "Use POST or PUT")
	}
	unknown := s.Get("if_unknown")
	switch {
	case !s.Readable() || !known:
	case api.Idempotency == "":
		s.Problem("the API does not set idempotency",
			"Add idempotency to the API: the header by which it recognizes a repeated request, such as Idempotency-Key, or none")
	case api.Idempotency != report.NotIdempotent && unknown.Given():
		unknown.Problem("has no effect, because the API recognizes repeated requests by "+api.Idempotency,
			"Remove it: if the response is lost, the request is sent again with the same key")
	case api.Idempotency == report.NotIdempotent && !unknown.Given():
		unknown.Problem("missing",
			"Say what to do when it is unknown whether the API created the job: resubmit (which may create two), fail, or {look_up: {path: /…, query: {…: \"{key}\"}, id: $.…}}")
	}
	if lookUp := submit.Unknown.LookUp; lookUp != nil {
		submit.Unknown.Answer = LookUpJob
		inside := l.Reader.Of(lookUp)
		l.request(inside, &lookUp.Request, "GET", places{key: true, constant: true})
		if !lookUp.UsesName("{key}") && inside.Readable() {
			inside.Problem("no {key} to find the job by",
				"Put {key} into a field of submit that the API stores, and here into the filter for that field")
		} else if lookUp.UsesName("{key}") && !submit.UsesName("{key}") {
			s.Problem("no {key} by which look_up can find the job",
				"Put {key} into a field that the API stores, such as json: {reference: \"{key}\"}")
		}
	}
}

// checkPoll proves that a poll identifies its job, and that every status has one meaning.
func checkPoll(at decode.Section, p *Poll) {
	needJob(&p.Request, at, "{id}", "{key}")
	if failed := at.Get("failed"); !failed.Given() && len(p.Working) == 0 && at.Readable() {
		failed.Problem("either failed or working is required", "List the statuses of a failed job: failed: [failed]")
	}
	first := map[string]string{}
	for _, list := range []struct {
		name     string
		statuses []string
	}{{"done", p.Done}, {"failed", p.Failed}, {"working", p.Working}} {
		for _, s := range list.statuses {
			if other, twice := first[s]; twice {
				at.Get(list.name).Problem(s+" is in "+other+", too", "Remove it from one of them")
			}
			first[s] = list.name
		}
	}
}

// needJob rejects a request that is the same for every job: one without any of the names.
func needJob(r *Request, s decode.Section, names ...string) {
	if r.Path != "" && !slices.ContainsFunc(names, r.UsesName) {
		s.Get("path").Problem("no {id} in path, query or json, so the request does not identify the job",
			"Put {id} where the API expects the job's id, such as /exports/{id}")
	}
}

// checkResult validates where the rows are and how the next page is requested.
func (l reading) checkResult(s decode.Section) {
	submitted, r := l.fields.Submit != nil, &l.fields.Result
	l.request(s, &r.Request, "GET", places{values: !submitted, id: submitted})
	if s.Wrong("rows") {
		r.Rows = report.JSONPath{}
	}
	if submitted {
		needJob(&r.Request, s, "{id}")
	}
	const own = "rows, next and count must be at different places in the response; without rows, the whole response is the array of rows"
	if r.Next.Overlaps(r.Rows) {
		s.Get("next").Problem("overlaps "+r.Rows.String(), own)
	}
	for _, other := range []report.JSONPath{r.Rows, r.Next} {
		if r.Count.Overlaps(other) {
			s.Get("count").Problem("overlaps "+other.String(), own)
		}
	}
	if first := s.Get("first_page"); first.Given() && r.Page == "" {
		first.Problem("first_page requires page", "Add the name of the query parameter for the page number: page: page")
	}
	if ways := s.Present("next", "page", "offset"); len(ways) > 1 {
		s.Get(ways[1]).Problem(fmt.Sprintf("both %s and %s are set", ways[0], ways[1]),
			"Keep one way to request the next page")
	}
	switch as, next := s.Get("next_as"), s.Get("next"); {
	case as.Given() && !next.Given():
		as.Problem("next_as requires next", "Add its path in the response: next: $.next_cursor")
	case !as.Given() && next.Given():
		as.Problem("missing",
			"Write next_as: url, or {query: NAME} with the name of the query parameter of the next page")
	}
	for _, p := range r.Query {
		if p.Name != "" && slices.Contains([]string{r.NextAs.Query, r.Page, r.Offset}, p.Name) {
			s.Get("query").Problem("Fanfold adds "+report.Shorten(p.Name)+" itself", "Remove it from the query")
		}
	}
	if r.JSON != nil && r.Method == "GET" {
		s.Get("json").Problem("GET cannot have a body", "Remove it, or use method: POST")
	}
}

// places says what a request may use besides parameters.
type places struct {
	values   bool // values of an earlier stage
	id       bool // the id of the vendor's job
	key      bool // the idempotency key
	constant bool // no parameters: they may be deleted with the job
}

// request reads the fields that all requests have.
func (l reading) request(s decode.Section, r *Request, method string, may places) {
	r.Method = cmp.Or(r.Method, method)
	path, offset := s.Get("path"), 0
	for segment := range strings.SplitSeq(r.Path, "/") {
		l.use(path.Inside(offset), Request{Path: segment}, may)
		offset += len(segment + "/")
	}
	for i := range r.Query { // a literal value may be a secret
		l.use(l.Reader.Of(&r.Query[i]).Hidden(), Request{Query: r.Query[i : i+1]}, may)
	}
	if at := s.Get("json"); at.Given() {
		left := maxValues
		if r.JSON, _ = body(at, &left, maxLevels, func(at decode.Setting, text string) {
			l.use(at.Hidden(), Request{JSON: text}, may)
		}); left < 0 {
			at.Problem(fmt.Sprintf("the body has more than %d values or %d levels", maxValues, maxLevels),
				"Check for an alias that contains itself")
		}
	}
}

// use notes the names that a part of a request uses.
func (l reading) use(at decode.Setting, part Request, may places) {
	for _, u := range part.Uses() {
		sound := false
		switch {
		case strings.HasPrefix(u.Name, ":"):
			at.Problem("a text begins with a colon, but is not a parameter",
				"Write :name with nothing around it for a parameter, or :: for a literal colon")
		case u.Name == "{id}" && !may.id, u.Name == "{key}" && !may.key:
			at.Problem(u.Name+" is not available here",
				"{id} is the id of the job that submit creates; {key} is the idempotency key of submit")
		case strings.HasPrefix(u.Name, "{"):
			sound = true
		case may.constant:
			at.Problem(fmt.Sprintf(":%s is not available here", u.Name), "Use {key}, {id} or a literal value")
		case strings.Contains(u.Name, ".") && !may.values:
			at.Problem(fmt.Sprintf("values of an earlier stage cannot be used here: :%s", u.Name),
				"Use them in submit, or in result if there is no submit")
		default:
			l.Uses = append(l.Uses, kind.Use{Name: u.Name, List: u.List, Needed: part.Path != "",
				Remedy: "Put it into query or json", At: at})
			sound = true
		}
		l.Whole = l.Whole && sound
	}
}
