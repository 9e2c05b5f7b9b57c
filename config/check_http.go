package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

// readHTTP takes what a listener of kind http asks for.
func (l *draftListener) readHTTP(c *Config) {
	f := l.f
	l.HTTP, l.Batch = &report.HTTP{}, f.Batch
	api, known := c.APIs[f.API]
	if known {
		l.Source = f.API
	} else if f.Has("api") {
		f.Get("api").Problem("no such API", decode.DidYouMean(f.API, sortedKeys(c.APIs)))
	}
	for _, column := range f.Fields {
		l.Columns = append(l.Columns, column.Name)
		l.HTTP.Fields = append(l.HTTP.Fields, report.HTTPField{Path: column.Path, Kind: column.Type, Optional: column.Optional})
	}
	l.whole = f.Result != nil && !f.Wrong("result", "submit", "poll", "cancel")
	if f.Submit != nil {
		l.readJob(api, known)
	} else {
		for _, name := range []string{"poll", "cancel", "total"} {
			if at := f.Get(name); at.Given() {
				at.Problem(name+" without submit", "Add submit: {path: /…, id: $.…}, or remove it: then the rows are there at once")
			}
		}
	}
	if f.Result != nil {
		l.readResult(f.Result)
	}
}

// readJob takes how a job is made, polled and ended.
func (l *draftListener) readJob(api API, known bool) {
	f, h := l.f, l.HTTP
	h.Submit, h.Total = l.submit(f.Submit, api, known), f.Total
	if p := f.Poll; p == nil {
		f.Missing("poll", "Say how to look at the job: {path: \"/…/{id}\", status: $.…, done: [done], failed: [failed]}")
	} else {
		h.Poll = report.HTTPPoll{
			HTTPRequest: l.request(p.Section, p.request, "GET", places{id: true, key: true}),
			Every:       p.Every, Status: p.Status, Done: p.Done, Failed: p.Failed, Working: p.Working, Error: p.Error,
		}
		p.check(h.Poll)
	}
	if c := f.Cancel; c != nil {
		r := l.request(c.Section, c.request, "DELETE", places{id: true, key: true, constant: true})
		needJob(r, c.Section, "{id}", "{key}")
		h.Cancel = &r
	}
}

func (l *draftListener) submit(f *submitRequest, api API, known bool) *report.HTTPSubmit {
	s := &report.HTTPSubmit{HTTPRequest: l.request(f.Section, f.request, "POST", places{values: true, key: true}), ID: f.ID}
	if s.Method == "GET" {
		f.Get("method").Problem("a GET that makes something", "Use POST or PUT")
	}
	unknown := f.Get("unknown")
	switch {
	case !f.Readable() || !known:
	case api.Idempotency == "":
		f.Problem("a job for an API without idempotency", "Add idempotency to the API: the header by which it recognizes a repeated request, such as Idempotency-Key, or none")
	case api.Idempotency != NotIdempotent && unknown.Given():
		unknown.Problem("has no effect, because the API recognizes repeated requests by "+api.Idempotency, "Remove it: a request whose answer is lost is sent again with the same key")
	case api.Idempotency == NotIdempotent && !unknown.Given():
		unknown.Problem("missing", "Say what to do if it is not known whether the API has made the job: resubmit (there may be two), fail, or {look_up: {path: /…, query: {…: \"{key}\"}, id: $.…}}")
	}
	if f.Unknown == nil {
		return s
	}
	s.Unknown = f.Unknown.Answer
	if in := f.Unknown.LookUp; in != nil {
		r := l.request(in.Section, in.request, "GET", places{key: true, constant: true})
		s.Unknown, s.LookUp = report.LookUpJob, &report.HTTPLookUp{HTTPRequest: r, ID: in.ID}
		if !r.UsesKey() && in.Readable() {
			in.Problem("no {key}, by which the job is found", "Put {key} into submit, where the API keeps it, and here where it is looked for")
		} else if r.UsesKey() && !s.UsesKey() {
			f.Problem("no {key}, by which look_up looks for the job", "Put {key} where the API keeps it, such as json: {reference: \"{key}\"}")
		}
	}
	return s
}

// check proves that a poll is about its job, and that each status means one thing.
func (f *pollRequest) check(p report.HTTPPoll) {
	needJob(p.HTTPRequest, f.Section, "{id}", "{key}")
	if !f.Get("failed").Given() && len(p.Working) == 0 && f.Readable() {
		f.Get("failed").Problem("neither failed nor working", "List the statuses of a job that has failed: failed: [failed]")
	}
	first := map[string]string{}
	for _, list := range []struct {
		name     string
		statuses []string
	}{{"done", p.Done}, {"failed", p.Failed}, {"working", p.Working}} {
		for _, s := range list.statuses {
			if other, twice := first[s]; twice {
				f.Get(list.name).Problem(s+" is in "+other+" already", "Remove it from one of them")
			}
			first[s] = list.name
		}
	}
}

// needJob refuses a request that is the same for every job. Any of the names tells one.
func needJob(r report.HTTPRequest, s decode.Section, names ...string) {
	if r.Path != "" && !slices.ContainsFunc(names, r.UsesName) {
		s.Get("path").Problem("no {id} in path, query or json: it would not be about the job that submit has made", "Put {id} where the API wants the job's id, such as /exports/{id}")
	}
}

// readResult takes where the rows are, and how the next page is asked for.
func (l *draftListener) readResult(f *resultRequest) {
	submitted := l.HTTP.Submit != nil
	r := report.HTTPResult{
		HTTPRequest: l.request(f.Section, f.request, "GET", places{values: !submitted, id: submitted}),
		Rows:        f.Rows, Next: f.Next, Page: f.Page, First: f.First, Offset: f.Offset, Count: f.Count,
	}
	if f.Wrong("rows") {
		r.Rows = report.JSONPath{}
	}
	if submitted {
		needJob(r.HTTPRequest, f.Section, "{id}")
	}
	if f.NextAs != nil {
		r.NextAs = f.NextAs.Query
	}
	l.HTTP.Result = r
	const own = "Each of rows, next and count has a place of its own in the answer; without rows, the whole answer is the array of rows"
	if r.Next.Overlaps(r.Rows) {
		f.Get("next").Problem("in the same place as "+r.Rows.String(), own)
	}
	for _, other := range []report.JSONPath{r.Rows, r.Next} {
		if r.Count.Overlaps(other) {
			f.Get("count").Problem("in the same place as "+other.String(), own)
		}
	}
	if first := f.Get("first"); first.Given() && r.Page == "" {
		first.Problem("a first page without page", "Name the number of the page in the query: page: page")
	}
	var ways []string
	for _, name := range []string{"next", "page", "offset"} {
		if f.Get(name).Given() {
			ways = append(ways, name)
		}
	}
	if len(ways) > 1 {
		f.Get(ways[1]).Problem(fmt.Sprintf("both %s and %s", ways[0], ways[1]), "Keep one way to the next page")
	}
	switch as := f.Get("next_as"); {
	case as.Given() && !f.Get("next").Given():
		as.Problem("next_as without next", "Say where the answer has it: next: $.next_cursor")
	case !as.Given() && f.Get("next").Given():
		as.Problem("missing", "Write next_as: url, or {query: NAME} for the name that it has in the query of the next page")
	}
	for _, p := range r.Query {
		if p.Name != "" && slices.Contains([]string{r.NextAs, r.Page, r.Offset}, p.Name) {
			f.Get("query").Problem("Fanfold adds "+report.Shorten(p.Name)+" itself", "Remove it from the query")
		}
	}
	if r.JSON != nil && r.Method == "GET" {
		f.Get("json").Problem("a body with GET", "Remove it, or use method: POST")
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
func (l *draftListener) request(s decode.Section, f request, method string, may places) report.HTTPRequest {
	r := report.HTTPRequest{Method: method, Path: f.Path}
	if f.Method != "" {
		r.Method = f.Method
	}
	l.use(s.Get("path"), report.HTTPRequest{Path: f.Path}, may)
	for _, p := range f.Query {
		if !p.Wrong("") {
			r.Query = append(r.Query, report.HTTPPair{Name: p.Name, Value: p.Value})
		}
	}
	l.use(s.Get("query"), report.HTTPRequest{Query: r.Query}, may)
	if f.JSON.Given() && !f.JSON.IsNull() {
		left := maxValues
		if r.JSON, _ = body(f.JSON, &left, maxLevels); left < 0 {
			f.JSON.Problem(fmt.Sprintf("a body of more than %d values, or %d levels", maxValues, maxLevels), "Look for an alias that is a part of itself")
		}
		l.use(f.JSON, report.HTTPRequest{JSON: r.JSON}, may)
	}
	return r
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
			l.uses = append(l.uses, use{u.Name, u.List, "Put it into query or json", at})
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
