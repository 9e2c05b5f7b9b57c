package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// check makes the timer. The reports must be known; before are the timers before it.
func (f *timerFields) check(c *Config, before []timerFields) *report.Timer {
	t := &report.Timer{Name: f.Name, Line: f.Line, Key: f.Key, Every: f.Every, Missed: f.Missed, MissedAfter: f.MissedAfter}
	if !f.Readable() {
		return t
	}
	for _, other := range before {
		if f.Has("key") && other.Has("key") && other.Key.Prefix() == f.Key.Prefix() {
			f.Problem(fmt.Sprintf("the same text before the first {name} as %s in line %d: %q", other.Name, other.Line, f.Key.Prefix()),
				"Begin the names of each with a text of their own")
		}
	}
	if t.Every.Days > 0 && f.TimeZone != "" {
		t.Every.Zone, _ = time.LoadLocation(f.TimeZone) // proved by its form
	} else if t.Every.Days == 0 && f.Has("time_zone") && !f.Wrong("every") {
		f.Get("time_zone").Problem("a time zone of a timer that does not repeat in calendar days", "Write every: 1d or 1w, or remove time_zone")
	}
	if after := f.Get("missed_after"); after.Given() && t.Missed == report.MissedOnce {
		after.Problem("has no effect without missed: skip", "Write missed: skip, or remove missed_after")
	}
	t.Retry, _ = f.Retry.over(report.DefaultRetry)
	var actions []string
	for _, name := range []string{"submit", "append", "call"} {
		if f.Get(name).Given() {
			actions = append(actions, name)
		}
	}
	switch len(actions) {
	case 0:
		f.Problem("nothing to be done", "Add submit: {report: …}, append: {stream: …} or call: {url: …}")
		return t
	case 1:
	default:
		f.Get(actions[1]).Problem(fmt.Sprintf("both %s and %s", actions[0], actions[1]), "Keep one of them: a timer does one thing")
	}
	switch actions[0] {
	case "submit":
		t.Submit = f.submit(c)
	case "append":
		t.Append = f.append(c)
	case "call":
		t.Call = f.call()
	}
	return t
}

// templates makes templates of texts with {name}, each of which the key must have.
func (f *timerFields) templates(pairs []pair) map[string]report.Template {
	var found map[string]report.Template
	for _, p := range pairs {
		if found == nil {
			found = map[string]report.Template{}
		}
		found[p.Name] = report.NewTemplate(p.Value)
		f.checkNames(p.Setting, found[p.Name])
	}
	return found
}

func (f *timerFields) checkNames(at decode.Setting, t report.Template) {
	for _, name := range t.Names() {
		if f.Has("key") && !slices.Contains(f.Key.Names(), name) {
			at.Problem(fmt.Sprintf("unknown name {%s}: key has no such part", report.Shorten(name)), decode.DidYouMean(name, f.Key.Names()))
		}
	}
}

func (f *timerFields) submit(c *Config) *report.Submit {
	s := &report.Submit{Report: f.Submit.Report, Parameters: f.templates(f.Submit.Parameters)}
	if !f.Submit.Has("report") || !refer(f.Submit.Section, "report", s.Report, "reports", sortedKeys(c.Reports)) {
		return s
	}
	r, parameters := c.Reports[s.Report], f.Submit.Get("parameters")
	known := map[string]bool{}
	for _, p := range r.Parameters {
		_, given := s.Parameters[p.Name]
		known[p.Name] = true
		switch {
		case !given && p.Default == nil:
			parameters.Problem(fmt.Sprintf("no %s, which report %s needs", p.Name, r.Name), "Add it, such as "+p.Name+": \"{user}\"")
		case given && p.List:
			parameters.Problem(fmt.Sprintf("%s is a list in report %s", p.Name, r.Name), "A timer can give single values only: give the parameter a default and leave it out")
		}
	}
	for _, name := range sortedKeys(s.Parameters) {
		if !known[name] {
			parameters.Problem(fmt.Sprintf("%s, which report %s does not have", report.Shorten(name), r.Name), "Available: "+r.ParameterList())
		}
	}
	return s
}

func (f *timerFields) append(c *Config) *report.Append {
	a := &report.Append{Stream: f.Append.Stream, Fields: f.templates(f.Append.Fields)}
	for _, name := range []string{"timer", "due"} {
		if _, taken := a.Fields[name]; taken {
			f.Append.Get("fields").Problem("Fanfold sets "+name+" itself", "Give the field another name")
		}
	}
	if f.Append.Has("stream") && (strings.HasPrefix(a.Stream, c.Keys.Prefix) || strings.HasPrefix(strings.TrimPrefix(a.Stream, "{"), c.Keys.Hash)) {
		f.Append.Get("stream").Problem("a key of Fanfold's own", "Choose a name that does not begin with keys.prefix or keys.hash")
	}
	return a
}

func (f *timerFields) call() *report.Call {
	in := f.Call
	c := &report.Call{URL: in.URL, Method: in.Method, Timeout: in.Timeout, Body: in.Body, Headers: f.templates(in.Headers)}
	if at := in.Get("url").Hidden(); at.Given() { // it may hold a key
		f.checkNames(at, c.URL)
		if wrong := c.URL.BadURL(); wrong != "" {
			at.Problem(wrong, "Write http://host/path, with {name} in the path or after the ?")
		}
	}
	for _, h := range in.Headers {
		wrong := language.Forms["header"](h.Name)
		if wrong == nil {
			wrong = badHeader(h.Name, h.Value, []string{"idempotency-key", "content-length", "transfer-encoding"})
		}
		if wrong != nil {
			in.Get("headers").Hidden().Problem(wrong.Message, wrong.Remedy)
		}
	}
	if body := in.Get("body").Hidden(); body.Given() {
		f.checkNames(body, c.Body)
		if c.Method == "GET" || c.Method == "HEAD" {
			body.Problem("a body with "+c.Method, "Remove it, or use POST")
		}
	}
	return c
}
