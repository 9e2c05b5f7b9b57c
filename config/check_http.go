package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// readHTTP takes what a listener of kind http asks for.
func (l *draftListener) readHTTP() {
	f, apis := l.f, l.checker.config.APIs
	l.HTTP, l.Batch = &f.httpFields.HTTP, f.Values
	api, known := apis[f.API]
	if known {
		l.Source = f.API
	} else if l.Has("api") {
		l.Get("api").Problem("no such API", report.DidYouMean(f.API, sortedKeys(apis)))
	}
	for _, column := range l.HTTP.Fields {
		l.Columns = append(l.Columns, column.Name)
	}
	result := l.checker.Of(&l.HTTP.Result)
	l.whole = result.Given() && !l.Wrong("result", "submit", "poll", "cancel")
	if l.HTTP.Submit != nil {
		l.checkJob(api, known)
	} else {
		l.HTTP.Total = 0
		for _, name := range []string{"poll", "cancel", "total"} {
			if at := l.Get(name); at.Given() {
				at.Problem(name+" without submit", "Add submit: {path: /…, id: $.…}, or remove it: then the rows are there at once")
			}
		}
	}
	if result.Given() {
		l.checkResult(result)
	}
}

// checkJob proves how a job is made, polled and ended.
func (l *draftListener) checkJob(api report.API, known bool) {
	h := l.HTTP
	l.checkSubmit(h.Submit, api, known)
	if h.Poll == nil {
		l.Missing("poll", "Say how to look at the job: {path: \"/…/{id}\", status: $.…, done: [done], failed: [failed]}")
	} else {
		s := l.checker.Of(h.Poll)
		l.request(s, &h.Poll.HTTPRequest, "GET", places{id: true, key: true})
		checkPoll(s, h.Poll)
	}
	if h.Cancel != nil {
		s := l.checker.Of(h.Cancel)
		l.request(s, h.Cancel, "DELETE", places{id: true, key: true, constant: true})
		needJob(h.Cancel, s, "{id}", "{key}")
	}
}

func (l *draftListener) checkSubmit(submit *report.HTTPSubmit, api report.API, known bool) {
	s := l.checker.Of(submit)
	l.request(s, &submit.HTTPRequest, "POST", places{values: true, key: true})
	if submit.Method == "GET" {
		s.Get("method").Problem("a GET that makes something", "Use POST or PUT")
	}
	unknown := s.Get("unknown")
	switch {
	case !s.Readable() || !known:
	case api.Idempotency == "":
		s.Problem("a job for an API without idempotency", "Add idempotency to the API: the header by which it recognizes a repeated request, such as Idempotency-Key, or none")
	case api.Idempotency != report.NotIdempotent && unknown.Given():
		unknown.Problem("has no effect, because the API recognizes repeated requests by "+api.Idempotency, "Remove it: a request whose answer is lost is sent again with the same key")
	case api.Idempotency == report.NotIdempotent && !unknown.Given():
		unknown.Problem("missing", "Say what to do if it is not known whether the API has made the job: resubmit (there may be two), fail, or {look_up: {path: /…, query: {…: \"{key}\"}, id: $.…}}")
	}
	if lookUp := submit.Unknown.LookUp; lookUp != nil {
		submit.Unknown.Answer = report.LookUpJob
		inside := l.checker.Of(lookUp)
		l.request(inside, &lookUp.HTTPRequest, "GET", places{key: true, constant: true})
		if !lookUp.UsesName("{key}") && inside.Readable() {
			inside.Problem("no {key}, by which the job is found", "Put {key} into submit, where the API keeps it, and here where it is looked for")
		} else if lookUp.UsesName("{key}") && !submit.UsesName("{key}") {
			s.Problem("no {key}, by which look_up looks for the job", "Put {key} where the API keeps it, such as json: {reference: \"{key}\"}")
		}
	}
}

// checkPoll proves that a poll is about its job, and that each status means one thing.
func checkPoll(at decode.Section, p *report.HTTPPoll) {
	needJob(&p.HTTPRequest, at, "{id}", "{key}")
	if failed := at.Get("failed"); !failed.Given() && len(p.Working) == 0 && at.Readable() {
		failed.Problem("neither failed nor working", "List the statuses of a job that has failed: failed: [failed]")
	}
	first := map[string]string{}
	for _, list := range []struct {
		name     string
		statuses []string
	}{{"done", p.Done}, {"failed", p.Failed}, {"working", p.Working}} {
		for _, s := range list.statuses {
			if other, twice := first[s]; twice {
				at.Get(list.name).Problem(s+" is in "+other+" already", "Remove it from one of them")
			}
			first[s] = list.name
		}
	}
}

// needJob refuses a request that is the same for every job. Any of the names tells one.
func needJob(r *report.HTTPRequest, s decode.Section, names ...string) {
	if r.Path != "" && !slices.ContainsFunc(names, r.UsesName) {
		s.Get("path").Problem("no {id} in path, query or json: it would not be about the job that submit has made", "Put {id} where the API wants the job's id, such as /exports/{id}")
	}
}

// checkResult proves where the rows are, and how the next page is asked for.
func (l *draftListener) checkResult(s decode.Section) {
	submitted, r := l.HTTP.Submit != nil, &l.HTTP.Result
	l.request(s, &r.HTTPRequest, "GET", places{values: !submitted, id: submitted})
	if s.Wrong("rows") {
		r.Rows = report.JSONPath{}
	}
	if submitted {
		needJob(&r.HTTPRequest, s, "{id}")
	}
	const own = "Each of rows, next and count has a place of its own in the answer; without rows, the whole answer is the array of rows"
	if r.Next.Overlaps(r.Rows) {
		s.Get("next").Problem("in the same place as "+r.Rows.String(), own)
	}
	for _, other := range []report.JSONPath{r.Rows, r.Next} {
		if r.Count.Overlaps(other) {
			s.Get("count").Problem("in the same place as "+other.String(), own)
		}
	}
	if first := s.Get("first"); first.Given() && r.Page == "" {
		first.Problem("a first page without page", "Name the number of the page in the query: page: page")
	}
	if ways := s.Present("next", "page", "offset"); len(ways) > 1 {
		s.Get(ways[1]).Problem(fmt.Sprintf("both %s and %s", ways[0], ways[1]), "Keep one way to the next page")
	}
	switch as, next := s.Get("next_as"), s.Get("next"); {
	case as.Given() && !next.Given():
		as.Problem("next_as without next", "Say where the answer has it: next: $.next_cursor")
	case !as.Given() && next.Given():
		as.Problem("missing", "Write next_as: url, or {query: NAME} for the name that it has in the query of the next page")
	}
	for _, p := range r.Query {
		if p.Name != "" && slices.Contains([]string{r.NextAs.Query, r.Page, r.Offset}, p.Name) {
			s.Get("query").Problem("Fanfold adds "+report.Shorten(p.Name)+" itself", "Remove it from the query")
		}
	}
	if r.JSON != nil && r.Method == "GET" {
		s.Get("json").Problem("a body with GET", "Remove it, or use method: POST")
	}
}

// places says what a request may use beside parameters.
type places struct {
	values   bool // those of an earlier stage
	id       bool // the vendor's job
	key      bool // the idempotency key
	constant bool // no parameters: they may be gone with the job
}

// request takes what all requests have in common.
func (l *draftListener) request(s decode.Section, r *report.HTTPRequest, method string, may places) {
	r.Method = cmp.Or(r.Method, method)
	l.use(s.Get("path"), report.HTTPRequest{Path: r.Path}, may)
	l.use(s.Get("query"), report.HTTPRequest{Query: r.Query}, may)
	if at := s.Get("json"); at.Given() {
		left := maxValues
		if r.JSON, _ = body(at, &left, maxLevels); left < 0 {
			at.Problem(fmt.Sprintf("a body of more than %d values, or %d levels", maxValues, maxLevels), "Look for an alias that is a part of itself")
		}
		l.use(at, report.HTTPRequest{JSON: r.JSON}, may)
	}
}

// use notes the names in a part of a request.
func (l *draftListener) use(at decode.Setting, part report.HTTPRequest, may places) {
	for _, u := range part.Uses() {
		sound := false
		switch {
		case strings.HasPrefix(u.Name, ":"):
			at.Problem("a text that begins with a colon and is not a name", "Write :name for a value, as a whole, or :: for a text that begins with a colon")
		case u.Name == "{id}" && !may.id, u.Name == "{key}" && !may.key:
			at.Problem(u.Name+" is not known here", "{id} is the vendor's job, which submit finds; {key} is the idempotency key of submit")
		case strings.HasPrefix(u.Name, "{"):
			sound = true
		case may.constant:
			at.Problem(fmt.Sprintf("a value (:%s), which is not known here", u.Name), "Use {key} or {id}, or a value as it is")
		case strings.Contains(u.Name, ".") && !may.values:
			at.Problem(fmt.Sprintf("values of an earlier stage (:%s), which cannot be used here", u.Name), "Use them where the rows are asked for first")
		default:
			l.uses = append(l.uses, use{u.Name, u.List, part.Path != "", "Put it into query or json", at})
			sound = true
		}
		l.whole = l.whole && sound
	}
}

// These bound a body, whose values aliases can multiply without end.
const (
	maxValues = 10_000
	maxLevels = 50
)

// body decodes what a body says, of at most that many values, and levels. Texts have
// their variables in them. The number of values is negative if there are more.
func body(p decode.Setting, left *int, levels int) (any, bool) {
	if *left--; levels == 0 {
		*left = -1
	}
	switch {
	case *left < 0:
		return nil, false
	case p.IsNull():
		return nil, true
	case p.Node.Kind == yaml.SequenceNode:
		items, ok := p.List()
		list := make([]any, len(items))
		for i := 0; i < len(items) && ok; i++ {
			list[i], ok = body(items[i], left, levels-1)
		}
		return list, ok
	case p.Node.Kind == yaml.MappingNode:
		entries, ok := p.Entries()
		object := make(map[string]any, len(entries))
		for _, e := range entries {
			value, valueOK := body(e.Value, left, levels-1)
			object[e.Name], ok = value, ok && valueOK
		}
		return object, ok
	}
	text, ok := p.Text()
	if !ok {
		return nil, false
	}
	switch p.Node.Tag {
	case "!!bool":
		if is := strings.EqualFold(text, "true"); is || strings.EqualFold(text, "false") {
			return is, true
		}
	case "!!int", "!!float":
		var number json.Number
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.UseNumber()
		if decoder.Decode(&number) == nil && number.String() == text {
			return number, true
		}
		p.Problem("a number that JSON does not have", "Write it in decimal, or put quotes around it for a text")
		return nil, false
	}
	return text, true
}
