package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// checkTimer validates a timer. It needs the reports, and the timers before it.
func (k *checker) checkTimer(i int) {
	t := &k.f.Timers[i]
	s := timerCheck{k, k.Of(t), t}
	t.Line = s.Line
	if !s.Readable() {
		return
	}
	for n := range i {
		other := &k.f.Timers[n]
		if s.Has("key") && k.Of(other).Has("key") && other.Key.Prefix() == t.Key.Prefix() {
			s.Problem(fmt.Sprintf("the text before the first {name} is the same as in %s in line %d: %q", other.Name, other.Line, t.Key.Prefix()),
				"Begin every key with a different text")
		}
	}
	if every, cron := s.Get("every"), s.Get("cron"); every.Given() && cron.Given() {
		cron.Problem("both every and cron are set", "Keep one of them")
	}
	switch zone, _ := time.LoadLocation(t.TimeZone); { // its form was checked
	case s.Wrong("every", "cron", "time_zone") || t.TimeZone == "":
	case !t.Cron.None():
		t.Cron.Zone = zone
	case t.Every.Calendar():
		t.Every.Zone = zone
	default:
		s.Get("time_zone").Problem("time_zone has no effect on a timer that does not repeat by the calendar", "Write every: 1d, 1w or 1mo, or cron, or remove time_zone")
	}
	if after := s.Get("missed_after"); after.Given() && t.Missed == report.MissedOnce {
		after.Problem("has no effect without missed: skip", "Write missed: skip, or remove missed_after")
	}
	k.inherit(&t.Retry, report.DefaultRetry)
	actions := s.Present("submit", "append", "call")
	if len(actions) == 0 {
		s.Problem("no action", "Add submit: {report: …}, append: {stream: …} or call: {url: …}")
		return
	}
	if len(actions) > 1 {
		s.Get(actions[1]).Problem(fmt.Sprintf("both %s and %s are set", actions[0], actions[1]), "Keep one of them: a timer has one action")
	}
	switch actions[0] {
	case "submit":
		s.checkSubmit(k.Of(t.Submit), t.Submit)
	case "append":
		s.checkAppend(k.Of(t.Append), t.Append)
	case "call":
		s.checkCall(k.Of(t.Call), t.Call)
	}
}

// timerCheck validates the action of a timer.
type timerCheck struct {
	*checker
	decode.Section
	t *report.Timer
}

// checkTemplates validates the templates of a mapping.
func (k timerCheck) checkTemplates(in decode.Section, field string, templates map[string]report.Template) {
	for name, t := range templates {
		k.checkNames(in.Get(field+"."+name), t)
	}
}

// checkNames proves that the key has every {name} of a template.
func (k timerCheck) checkNames(at decode.Setting, t report.Template) {
	for _, name := range t.Names() {
		if known := k.t.Key.Names(); k.Has("key") && !slices.Contains(known, name) {
			at.Problem(fmt.Sprintf("unknown name {%s}: key has no such part", report.Shorten(name)), report.DidYouMean(name, known))
		}
	}
}

func (k timerCheck) checkSubmit(s decode.Section, submit *report.Submit) {
	k.checkTemplates(s, "parameters", submit.Parameters)
	if !s.Has("report") || !refer(s, "report", submit.Report, "reports", sortedKeys(k.config.Reports)) {
		return
	}
	r, parameters := k.config.Reports[submit.Report], s.Get("parameters")
	known := map[string]bool{}
	for _, p := range r.Parameters {
		_, given := submit.Parameters[p.Name]
		known[p.Name] = true
		switch {
		case !given && p.Default == nil:
			parameters.Problem(fmt.Sprintf("parameter %s of report %s is missing", p.Name, r.Name), "Add it, such as "+p.Name+": \"{user}\"")
		case given && p.List:
			parameters.Problem(fmt.Sprintf("%s is a list in report %s", p.Name, r.Name), "A timer can pass single values only: give the parameter a default and remove it here")
		}
	}
	for _, name := range sortedKeys(submit.Parameters) {
		if !known[name] {
			parameters.Problem(fmt.Sprintf("report %s has no parameter %s", r.Name, report.Shorten(name)), "Available: "+r.ParameterList())
		}
	}
}

func (k timerCheck) checkAppend(s decode.Section, a *report.Append) {
	k.checkTemplates(s, "fields", a.Fields)
	for _, name := range []string{"timer", "due"} {
		if _, taken := a.Fields[name]; taken {
			s.Get("fields").Problem("Fanfold sets "+name+" itself", "Rename the field")
		}
	}
	keys := k.config.Keys
	if s.Has("stream") && (strings.HasPrefix(strings.TrimPrefix(a.Stream, "{"), keys.Prefix) || strings.HasPrefix(a.Stream, keys.Hash)) {
		s.Get("stream").Problem("this name is reserved for keys of Fanfold", "Choose a name that does not begin with keys.prefix or keys.hash")
	}
}

func (k timerCheck) checkCall(s decode.Section, c *report.Call) {
	k.checkTemplates(s, "headers", c.Headers)
	if at := s.Get("url").Hidden(); at.Given() { // it may hold a key
		k.checkNames(at, c.URL)
		if wrong := c.URL.BadURL(); wrong != "" {
			at.Problem(wrong, "Write http://host/path, with {name} in the path or after the ?")
		}
	}
	for _, name := range sortedKeys(c.Headers) {
		wrong := language.Forms["header"](name)
		if wrong == nil {
			wrong = badHeader(name, c.Headers[name].Reveal(), []string{"idempotency-key", "content-length", "transfer-encoding"})
		}
		if wrong != nil {
			s.Get("headers").Hidden().Problem(wrong.Message, wrong.Remedy)
		}
	}
	if body := s.Get("body").Hidden(); body.Given() {
		k.checkNames(body, c.Body)
		if c.Method == "GET" || c.Method == "HEAD" {
			body.Problem(c.Method+" cannot have a body", "Remove it, or use POST")
		}
	}
}
