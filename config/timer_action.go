package config

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/fanfold/fanfold/report"
)

var (
	methods    = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
)

// readAction decodes what the timer does: one of three things.
func (t *draftTimer) readAction(f fields) {
	var first string
	for _, name := range []string{"submit", "append", "call"} {
		at := f.get(name)
		switch {
		case !at.given():
			continue
		case first != "":
			at.problem(fmt.Sprintf("both %s and %s", first, name), "Keep one of them: a timer does one thing")
			continue
		}
		first = name
		switch name {
		case "submit":
			t.readSubmit(at)
		case "append":
			t.readAppend(at)
		case "call":
			t.readCall(at)
		}
	}
	if first == "" {
		f.at.problem("nothing to be done", "Add submit: {report: …}, append: {stream: …} or call: {url: …}")
	}
}

func (t *draftTimer) readSubmit(at setting) {
	f := at.fields("report", "parameters")
	t.Submit = &report.Submit{Parameters: t.templates(f.get("parameters"))}
	name, ok := f.need("report", "Name one of the reports")
	if !ok {
		return
	}
	text, ok := name.text()
	if !ok {
		return
	}
	r := t.config.Reports[text]
	if r == nil {
		name.problem("no such report", didYouMean(text, sortedKeys(t.config.Reports)))
		return
	}
	t.Submit.Report = text
	for _, p := range r.Parameters {
		_, given := t.Submit.Parameters[p.Name]
		switch {
		case !given && p.Default == nil:
			f.get("parameters").problem(fmt.Sprintf("no %s, which report %s needs", p.Name, text), "Add it, such as "+p.Name+": \"{user}\"")
		case given && p.List:
			f.get("parameters").problem(fmt.Sprintf("%s is a list in report %s", p.Name, text), "A timer can give single values only: give the parameter a default and leave it out")
		}
	}
	for _, given := range sortedKeys(t.Submit.Parameters) {
		if _, known := parameterOf(r, given); !known {
			f.get("parameters").problem(fmt.Sprintf("%s, which report %s does not have", report.Shorten(given), text), "Available: "+r.ParameterList())
		}
	}
}

// parameterOf finds a parameter of a report by its name.
func parameterOf(r *report.Report, name string) (report.Parameter, bool) {
	for _, p := range r.Parameters {
		if p.Name == name {
			return p, true
		}
	}
	return report.Parameter{}, false
}

func (t *draftTimer) readAppend(at setting) {
	f := at.fields("stream", "fields")
	t.Append = &report.Append{Fields: t.templates(f.get("fields"))}
	for _, name := range []string{"timer", "due"} {
		if _, taken := t.Append.Fields[name]; taken {
			f.get("fields").problem(name+" is there by itself", "Give the field another name")
		}
	}
	stream, ok := f.need("stream", "Name the stream that services read")
	if !ok {
		return
	}
	text, ok := stream.text()
	switch {
	case !ok:
	case text == "" || len(text) > 512 || strings.ContainsFunc(text, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }):
		stream.problem("not the name of a stream", "Use 1 to 512 characters that can be seen, without space")
	case strings.HasPrefix(text, t.config.Keys.Prefix) || strings.HasPrefix(strings.TrimPrefix(text, "{"), t.config.Keys.Hash):
		stream.problem("a key of Fanfold's own", "Choose a name that begins otherwise than keys.prefix and keys.hash")
	default:
		t.Append.Stream = text
	}
}

func (t *draftTimer) readCall(at setting) {
	f := at.fields("url", "method", "headers", "body", "timeout")
	t.Call = &report.Call{Method: "POST", Timeout: f.get("timeout").duration(10 * time.Second)}
	if u, ok := f.need("url", "Write http://host/path, with {name} where a value goes"); ok {
		// It may hold a key.
		if t.Call.URL, ok = t.template(u.hidden()); ok {
			if wrong := t.Call.URL.BadURL(); wrong != "" {
				u.hidden().problem(wrong, "Write http://host/path, with {name} in the path or after the ?")
			}
		}
	}
	if method := f.get("method"); method.given() {
		if text, ok := method.text(); ok && !contains(methods, text) {
			method.problem("no such method", didYouMean(text, methods))
		} else if ok {
			t.Call.Method = text
		}
	}
	t.Call.Headers = t.templates(f.get("headers").hidden())
	for _, name := range sortedKeys(t.Call.Headers) {
		value := t.Call.Headers[name].Reveal()
		switch {
		case !headerName.MatchString(name):
			f.get("headers").problem("a header's name that is not allowed", "Use letters, digits and -")
		case strings.EqualFold(name, "Idempotency-Key"), strings.EqualFold(name, "Content-Length"), strings.EqualFold(name, "Transfer-Encoding"):
			f.get("headers").problem(name+" is there by itself", "Remove it")
		case strings.EqualFold(name, "Host"), strings.EqualFold(name, "Trailer"):
			f.get("headers").problem(name+", which is not sent as it is written here", "Remove it; the host is in the url")
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			f.get("headers").problem("a control character in the value of "+name, "Remove it; a line break at the end of a variable is one, too")
		}
	}
	if body := f.get("body"); body.given() {
		t.Call.Body, _ = t.template(body.hidden())
		if t.Call.Method == "GET" || t.Call.Method == "HEAD" {
			body.hidden().problem("a body with "+t.Call.Method, "Remove it, or use POST")
		}
	}
}
