package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// readHTTP takes what a listener of kind http asks for.
func (l *draftListener) readHTTP(c *Config) {
	f, before := l.f, len(l.f.problems)
	l.HTTP, l.Batch = &report.HTTP{}, f.Batch
	api, known := c.APIs[f.API]
	if known {
		l.Source = f.API
	} else if f.has("api") {
		f.get("api").problem("no such API", didYouMean(f.API, sortedKeys(c.APIs)))
	}
	for _, column := range f.Fields {
		l.Columns = append(l.Columns, column.Name)
		l.HTTP.Fields = append(l.HTTP.Fields, report.HTTPField{Path: column.Path, Kind: column.Type, Optional: column.Optional})
	}
	before = len(f.problems)
	if f.Submit != nil {
		l.readJob(api, known)
	} else {
		for _, name := range []string{"poll", "cancel", "total"} {
			if at := f.get(name); at.given() {
				at.problem(name+" without submit", "Add submit: {path: /…, id: $.…}, or remove it: then the rows are there at once")
			}
		}
	}
	if f.Result != nil {
		l.readResult(f.Result)
	}
	l.whole = f.Result != nil && len(f.problems) == before && !f.wrong["result"] && !f.wrong["submit"] && !f.wrong["poll"]
}

// readJob takes how a job is made, polled and ended.
func (l *draftListener) readJob(api API, known bool) {
	f, h := l.f, l.HTTP
	h.Submit, h.Total = l.submit(f.Submit, api, known), f.Total
	if p := f.Poll; p == nil {
		f.missing("poll", "Say how to look at the job: {path: \"/…/{id}\", status: $.…, done: [done], failed: [failed]}")
	} else {
		h.Poll = report.HTTPPoll{
			HTTPRequest: l.request(p.section, p.request, "GET", places{id: true, key: true}),
			Every:       p.Every, Status: p.Status, Done: p.Done, Failed: p.Failed, Working: p.Working, Error: p.Error,
		}
		p.check(h.Poll)
	}
	if c := f.Cancel; c != nil {
		r := l.request(c.section, c.request, "DELETE", places{id: true, key: true, constant: true})
		needJob(r, c.section, "{id}", "{key}")
		h.Cancel = &r
	}
}

func (l *draftListener) submit(f *submitRequest, api API, known bool) *report.HTTPSubmit {
	s := &report.HTTPSubmit{HTTPRequest: l.request(f.section, f.request, "POST", places{values: true, key: true}), ID: f.ID}
	if s.Method == "GET" {
		f.get("method").problem("a GET that makes something", "Use POST or PUT")
	}
	unknown := f.get("unknown")
	switch {
	case f.fields == nil || !known:
	case api.Idempotency == "":
		f.problem("a job for an API without idempotency", "Add idempotency to the API: the header by which it recognizes a repeated request, such as Idempotency-Key, or none")
	case api.Idempotency != NotIdempotent && unknown.given():
		unknown.problem("has no effect, because the API recognizes repeated requests by "+api.Idempotency, "Remove it: a request whose answer is lost is sent again with the same key")
	case api.Idempotency == NotIdempotent && !unknown.given():
		unknown.problem("missing", "Say what to do if it is not known whether the API has made the job: resubmit (there may be two), fail, or {look_up: {path: /…, query: {…: \"{key}\"}, id: $.…}}")
	}
	if f.Unknown == nil {
		return s
	}
	s.Unknown = f.Unknown.Answer
	if in := f.Unknown.LookUp; in != nil {
		r := l.request(in.section, in.request, "GET", places{key: true, constant: true})
		s.Unknown, s.LookUp = report.LookUpJob, &report.HTTPLookUp{HTTPRequest: r, ID: in.ID}
		if !r.UsesKey() && in.fields != nil {
			in.problem("no {key}, by which the job is found", "Put {key} into submit, where the API keeps it, and here where it is looked for")
		} else if r.UsesKey() && !s.UsesKey() {
			f.problem("no {key}, by which look_up looks for the job", "Put {key} where the API keeps it, such as json: {reference: \"{key}\"}")
		}
	}
	return s
}

// check proves that a poll is about its job, and that each status means one thing.
func (f *pollRequest) check(p report.HTTPPoll) {
	needJob(p.HTTPRequest, f.section, "{id}", "{key}")
	if !f.get("failed").given() && len(p.Working) == 0 && f.fields != nil {
		f.get("failed").problem("neither failed nor working", "List the statuses of a job that has failed: failed: [failed]")
	}
	first := map[string]string{}
	for _, list := range []struct {
		name     string
		statuses []string
	}{{"done", p.Done}, {"failed", p.Failed}, {"working", p.Working}} {
		for _, s := range list.statuses {
			if other, twice := first[s]; twice {
				f.get(list.name).problem(s+" is in "+other+" already", "Remove it from one of them")
			}
			first[s] = list.name
		}
	}
}

// needJob refuses a request that is the same for every job. Any of the names tells one.
func needJob(r report.HTTPRequest, s section, names ...string) {
	if r.Path != "" && !slices.ContainsFunc(names, r.UsesName) {
		s.get("path").problem("no {id} in path, query or json: it would not be about the job that submit has made", "Put {id} where the API wants the job's id, such as /exports/{id}")
	}
}

// readResult takes where the rows are, and how the next page is asked for.
func (l *draftListener) readResult(f *resultRequest) {
	submitted := l.HTTP.Submit != nil
	r := report.HTTPResult{
		HTTPRequest: l.request(f.section, f.request, "GET", places{values: !submitted, id: submitted}),
		Rows:        f.Rows, Next: f.Next, Page: f.Page, First: f.First, Offset: f.Offset, Count: f.Count,
	}
	if f.wrong["rows"] {
		r.Rows = report.JSONPath{}
	}
	if submitted {
		needJob(r.HTTPRequest, f.section, "{id}")
	}
	if f.NextAs != nil {
		r.NextAs = f.NextAs.Query
	}
	l.HTTP.Result = r
	const own = "Each of rows, next and count has a place of its own in the answer; without rows, the whole answer is the array of rows"
	if r.Next.Overlaps(r.Rows) {
		f.get("next").problem("in the same place as "+r.Rows.String(), own)
	}
	for _, other := range []report.JSONPath{r.Rows, r.Next} {
		if r.Count.Overlaps(other) {
			f.get("count").problem("in the same place as "+other.String(), own)
		}
	}
	if first := f.get("first"); first.given() && r.Page == "" {
		first.problem("a first page without page", "Name the number of the page in the query: page: page")
	}
	var ways []string
	for _, name := range []string{"next", "page", "offset"} {
		if f.get(name).given() {
			ways = append(ways, name)
		}
	}
	if len(ways) > 1 {
		f.get(ways[1]).problem(fmt.Sprintf("both %s and %s", ways[0], ways[1]), "Keep one way to the next page")
	}
	switch as := f.get("next_as"); {
	case as.given() && !f.get("next").given():
		as.problem("next_as without next", "Say where the answer has it: next: $.next_cursor")
	case !as.given() && f.get("next").given():
		as.problem("missing", "Write next_as: url, or {query: NAME} for the name that it has in the query of the next page")
	}
	for _, p := range r.Query {
		if p.Name != "" && slices.Contains([]string{r.NextAs, r.Page, r.Offset}, p.Name) {
			f.get("query").problem("Fanfold adds "+report.Shorten(p.Name)+" itself", "Remove it from the query")
		}
	}
	if r.JSON != nil && r.Method == "GET" {
		f.get("json").problem("a body with GET", "Remove it, or use method: POST")
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
func (l *draftListener) request(s section, f request, method string, may places) report.HTTPRequest {
	r := report.HTTPRequest{Method: method, Path: f.Path}
	if f.Method != "" {
		r.Method = f.Method
	}
	l.use(s.get("path"), report.HTTPRequest{Path: f.Path}, may)
	for _, p := range f.Query {
		if !p.wrong[""] {
			r.Query = append(r.Query, report.HTTPPair{Name: p.Name, Value: p.Value})
		}
	}
	l.use(s.get("query"), report.HTTPRequest{Query: r.Query}, may)
	if f.JSON.given() && !f.JSON.isNull() {
		left := maxValues
		if r.JSON, _ = f.JSON.json(&left, maxLevels); left < 0 {
			f.JSON.problem(fmt.Sprintf("a body of more than %d values, or %d levels", maxValues, maxLevels), "Look for an alias that is a part of itself")
		}
		l.use(f.JSON, report.HTTPRequest{JSON: r.JSON}, may)
	}
	return r
}

// use notes the names in a part of a request.
func (l *draftListener) use(at setting, part report.HTTPRequest, may places) {
	for _, u := range part.Uses() {
		switch {
		case strings.HasPrefix(u.Name, ":"):
			at.problem("a text that begins with a colon and is not a name", "Write :name for a value, as a whole, or :: for a text that begins with a colon")
		case u.Name == "{id}" && !may.id, u.Name == "{key}" && !may.key:
			at.problem(u.Name+" is not known here", "{id} is the vendor's job, which submit finds; {key} is the idempotency key of submit")
		case strings.HasPrefix(u.Name, "{"):
		case may.constant:
			at.problem(fmt.Sprintf("a value (:%s), which is not known here", u.Name), "Use {key} or {id}, or a value as it is")
		case strings.Contains(u.Name, ".") && !may.values:
			at.problem(fmt.Sprintf("values of an earlier stage (:%s), which cannot be used here", u.Name), "Use them where the rows are asked for first")
		default:
			l.uses = append(l.uses, use{u.Name, u.List, "Put it into query or json", at})
		}
	}
}

// These bound a body, whose values aliases can multiply without end.
const (
	maxValues = 10_000
	maxLevels = 50
)

// json decodes what a body says, of at most that many values, and levels. Texts have
// their variables in them. The number of values is negative if there are more.
func (p setting) json(left *int, levels int) (any, bool) {
	if *left--; levels == 0 {
		*left = -1
	}
	switch {
	case *left < 0:
		return nil, false
	case p.isNull():
		return nil, true
	case p.node.Kind == yaml.SequenceNode:
		items, ok := p.list()
		list := make([]any, len(items))
		for i := 0; i < len(items) && ok; i++ {
			list[i], ok = items[i].json(left, levels-1)
		}
		return list, ok
	case p.node.Kind == yaml.MappingNode:
		entries, ok := p.entries()
		object := make(map[string]any, len(entries))
		for _, e := range entries {
			value, valueOK := e.value.json(left, levels-1)
			object[e.name], ok = value, ok && valueOK
		}
		return object, ok
	}
	text, ok := p.text()
	if !ok {
		return nil, false
	}
	switch p.node.Tag {
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
		p.problem("a number that JSON does not have", "Write it in decimal, or put quotes around it for a text")
		return nil, false
	}
	return text, true
}
