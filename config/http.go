package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
	"go.yaml.in/yaml/v4"
)

var (
	httpPath     = regexp.MustCompile(`^(/[A-Za-z0-9._~!$&'()*+,;=:@%{}-]*)+$`)
	httpEscape   = regexp.MustCompile(`%([^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)`)
	httpAnyBrace = regexp.MustCompile(`\{[^}]*\}?|\}`)
)

// httpKinds are the types that a column of an API can have.
var httpKinds = []string{
	string(report.KindText), string(report.KindInteger), string(report.KindDecimal), string(report.KindFloat), string(report.KindDate), string(report.KindDatetime), string(report.KindJSON),
}

// readHTTP decodes what a listener of kind http asks for.
func (l *draftListener) readHTTP(f fields, apis map[string]API) {
	l.HTTP = &report.HTTP{}
	l.Batch = f.get("batch").integer(1000, 1, 1_000_000)
	if at, ok := f.need("api", "Name one of apis"); ok {
		if name, ok := at.text(); ok && apis[name].Name == "" {
			at.problem("no such API", didYouMean(name, sortedKeys(apis)))
		} else {
			l.Source = name
		}
	}
	l.query = f.at
	l.readHTTPColumns(f)
	before := len(l.problems)
	l.readJob(f, apis[l.Source])
	at, ok := f.need("result", "Say where the rows are: {path: /…, rows: $.…}")
	if !ok {
		return
	}
	l.query = at
	l.readResult(at)
	l.whole = len(l.problems) == before
}

// readHTTPColumns decodes columns: {name: path}.
func (l *draftListener) readHTTPColumns(f fields) {
	at, ok := f.need("columns", "Say where the columns are in a row: {user_id: $.user.id}")
	l.columns = at
	if !ok {
		return
	}
	entries, ok := at.entries()
	if !ok {
		return
	}
	sound := true
	for _, e := range entries {
		field, ok := e.value.httpField()
		sound = sound && ok
		l.Columns = append(l.Columns, e.name)
		l.HTTP.Fields = append(l.HTTP.Fields, field)
	}
	l.known = l.checkColumns() && sound
}

func (p setting) httpField() (field report.HTTPField, ok bool) {
	if !p.is(yaml.MappingNode) {
		field.Path, ok = p.jsonPath()
		return field, ok
	}
	f := p.fields("path", "type", "optional")
	field.Optional = f.get("optional").boolean()
	if at := f.get("type"); at.given() {
		if text, ok := at.text(); ok && !slices.Contains(httpKinds, text) {
			at.problem("no such type", didYouMean(text, httpKinds))
		} else if ok {
			field.Kind = report.Kind(text)
		}
	}
	if at, given := f.need("path", "Write the path to the value in a row, such as $.user.id"); given {
		field.Path, ok = at.jsonPath()
	}
	return field, ok
}

// jsonPath decodes a path to one value.
func (p setting) jsonPath() (report.JSONPath, bool) {
	text, ok := p.text()
	if !ok {
		return report.JSONPath{}, false
	}
	path, err := report.ParseJSONPath(text)
	if err != nil {
		p.problem(strings.TrimPrefix(err.Error(), "report: "), "Write names and indexes from 0, such as $.user.id, $.rows[0] or $['first name']")
		return report.JSONPath{}, false
	}
	return path, true
}

// optionalPath is jsonPath, and the zero one in a gap.
func (p setting) optionalPath() report.JSONPath {
	if !p.given() {
		return report.JSONPath{}
	}
	path, _ := p.jsonPath()
	return path
}

// requestFields are those of every request.
var requestFields = []string{"method", "path", "query", "json"}

func (l *draftListener) readResult(at setting) {
	f := at.fields(slices.Concat(requestFields, []string{"rows", "next", "next_as", "page", "first", "offset", "count"})...)
	result := &l.HTTP.Result
	result.HTTPRequest = l.request(f, "GET", places{values: l.HTTP.Submit == nil, id: l.HTTP.Submit != nil})
	if l.HTTP.Submit != nil {
		needJob(result.HTTPRequest, f, "{id}")
	}
	if rows := f.get("rows"); rows.given() {
		result.Rows, _ = rows.jsonPath()
	} else {
		result.Rows, _ = report.ParseJSONPath("$")
	}
	result.Next, result.Count = f.get("next").optionalPath(), f.get("count").optionalPath()
	for i, one := range []struct {
		name string
		path report.JSONPath
	}{{"next", result.Next}, {"count", result.Count}} {
		for _, other := range []report.JSONPath{result.Rows, result.Next}[:i+1] {
			if one.path.Overlaps(other) {
				f.get(one.name).problem(fmt.Sprintf("in the same place as %s", other), "Each of rows, next and count has a place of its own in the answer; without rows, the whole answer is the array of rows")
			}
		}
	}
	result.Page, result.Offset = f.get("page").queryName(), f.get("offset").queryName()
	result.First = f.get("first").integer(1, 0, 1_000_000)
	if first := f.get("first"); first.given() && result.Page == "" {
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
	as := f.get("next_as")
	switch {
	case as.given() && !f.get("next").given():
		as.problem("next_as without next", "Say where the answer has it: next: $.next_cursor")
	case !as.given() && f.get("next").given() && !f.broken:
		as.problem("missing", "Write next_as: url, or {query: NAME} for the name that it has in the query of the next page")
	case as.isText():
		if text, ok := as.text(); ok && text != "url" {
			as.problem("neither url nor {query: NAME}", "")
		}
	case as.given():
		in := as.fields("query")
		if name, ok := in.need("query", "Write {query: NAME}"); ok {
			result.NextAs = name.queryName()
		}
	}
	for _, p := range result.Query {
		if p.Name != "" && slices.Contains([]string{result.NextAs, result.Page, result.Offset}, p.Name) {
			f.get("query").problem(fmt.Sprintf("%s is there by itself", report.Shorten(p.Name)), "Remove it from the query")
		}
	}
	if result.JSON != nil && result.Method == "GET" {
		f.get("json").problem("a body with GET", "Remove it, or use method: POST")
	}
}

// queryName decodes a name in the query of a URL. In a gap it is empty.
func (p setting) queryName() string {
	if !p.given() {
		return ""
	}
	text, ok := p.text()
	if ok && (text == "" || len(text) > 100) {
		p.problem("not a name of 1 to 100 characters", "")
	}
	return text
}

// places says what a request may use.
type places struct {
	values bool // those of an earlier stage
	id     bool // the vendor's job
	key    bool // the idempotency key
	// no parameters: they may be gone with the job
	nothing bool
}

// request decodes what all requests have in common.
func (l *draftListener) request(f fields, method string, may places) report.HTTPRequest {
	r := report.HTTPRequest{Method: method}
	if at := f.get("method"); at.given() {
		if text, ok := at.text(); ok && (!contains(methods, text) || text == "HEAD") {
			at.problem("no such method", didYouMean(text, []string{"GET", "POST", "PUT", "PATCH", "DELETE"}))
		} else if ok {
			r.Method = text
		}
	}
	if at, ok := f.need("path", "Write the path below the API's url, such as /exports"); ok {
		if text, ok := at.text(); ok {
			if wrong, remedy := badPath(text); wrong != "" {
				at.problem(wrong, remedy)
			} else {
				r.Path = text
				l.use(at, report.HTTPRequest{Path: text}, may)
			}
		}
	}
	query := f.get("query")
	entries, _ := query.entries()
	for _, e := range entries {
		if text, ok := e.value.text(); ok {
			r.Query = append(r.Query, report.HTTPPair{Name: e.name, Value: text})
		}
	}
	l.use(query, report.HTTPRequest{Query: r.Query}, may)
	if at := f.get("json"); at.given() {
		left := largestBody
		if r.JSON, _ = at.json(&left, deepestBody); left < 0 {
			at.problem(fmt.Sprintf("a body of more than %d values, or %d levels", largestBody, deepestBody), "Look for an alias that is a part of itself")
		}
		l.use(at, report.HTTPRequest{JSON: r.JSON}, may)
	}
	return r
}

// use notes the names in a part of a request.
func (l *draftListener) use(at setting, part report.HTTPRequest, may places) {
	for _, u := range part.Uses() {
		switch {
		case strings.HasPrefix(u.Name, ":"):
			at.problem("a text that begins with a colon and is no name", "Write :name for a value, as a whole, or :: for a text that begins with a colon")
		case u.Name == "{id}" && !may.id, u.Name == "{key}" && !may.key:
			at.problem(u.Name+" is not known here", "{id} is the vendor's job, which submit finds; {key} is the idempotency key of submit")
		case strings.HasPrefix(u.Name, "{"):
		case may.nothing:
			at.problem(fmt.Sprintf("a value (:%s), which is not known here", u.Name), "Use {key} or {id}, or a value as it is")
		case strings.Contains(u.Name, ".") && !may.values:
			at.problem(fmt.Sprintf("values of an earlier stage (:%s), which cannot be used here", u.Name), "Use them where the rows are asked for first")
		default:
			l.uses = append(l.uses, use{u.Name, u.List, "Put it into query or json", at})
		}
	}
}

// badPath says what is wrong with the path of a request.
func badPath(text string) (wrong, remedy string) {
	const form = "Write the path below the API's url, such as /exports/{id}; a value is a whole part of it: /users/:user"
	switch {
	case !httpPath.MatchString(text):
		return "not a path", form + "; put what comes after a ? into query"
	case httpEscape.MatchString(text):
		return "a % that no two hexadecimal digits follow", "Write %25 for a %"
	case dotted(text):
		return "a path with a part . or ..", form
	}
	for _, brace := range httpAnyBrace.FindAllString(text, -1) {
		if !report.HTTPBrace.MatchString(brace) {
			return brace + ", which stands for nothing", "Write {id} for the vendor's job, {key} for the idempotency key, or a parameter as a part of its own: /:name"
		}
	}
	return "", ""
}

// dotted tells whether a path leads out of itself.
func dotted(path string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(strings.ToLower(path), "%2e", "."), "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}

// These bound a body, whose values aliases can multiply without end.
const (
	largestBody = 10_000 // values
	deepestBody = 50     // levels
)

// json decodes what a body says, of at most that many values, and levels. Texts have
// their variables in them. The number of values is negative where there are more.
func (p setting) json(left *int, levels int) (any, bool) {
	if *left--; levels == 0 {
		*left = -1
	}
	if *left < 0 {
		return nil, false
	}
	switch {
	case p.null():
		return nil, true
	case p.is(yaml.SequenceNode):
		items, _ := p.list()
		list := make([]any, len(items))
		for i, item := range items {
			var ok bool
			if list[i], ok = item.json(left, levels-1); !ok {
				return nil, false
			}
		}
		return list, true
	case p.is(yaml.MappingNode):
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
