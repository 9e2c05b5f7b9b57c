package config

import (
	"slices"
	"time"

	"github.com/fanfold/fanfold/report"
)

// readJob decodes how a job is made, looked at and ended.
func (l *draftListener) readJob(f fields, api API) {
	submit, poll := f.get("submit"), f.get("poll")
	if !submit.given() {
		for _, name := range []string{"poll", "cancel", "total"} {
			if at := f.get(name); at.given() {
				at.problem(name+" without submit", "Add submit: {path: /…, id: $.…}, or remove it: then the rows are there at once")
			}
		}
		return
	}
	l.HTTP.Submit = l.submit(submit, api)
	l.HTTP.Total = f.get("total").duration(2 * time.Hour)
	if !poll.given() {
		poll.problem("missing", "Say how to look at the job: {path: \"/…/{id}\", status: $.…, done: [done], failed: [failed]}")
	} else {
		l.HTTP.Poll = l.poll(poll)
	}
	if at := f.get("cancel"); at.given() {
		in := at.fields(requestFields...)
		r := l.request(in, "DELETE", places{id: true, key: true, nothing: true})
		needJob(r, in, "{id}", "{key}")
		l.HTTP.Cancel = &r
	}
}

func (l *draftListener) submit(at setting, api API) *report.HTTPSubmit {
	f := at.fields(slices.Concat(requestFields, []string{"id", "unknown"})...)
	s := &report.HTTPSubmit{HTTPRequest: l.request(f, "POST", places{values: true, key: true})}
	if id, ok := f.need("id", "Say where the job's id is in the answer: id: $.id"); ok {
		s.ID, _ = id.jsonPath()
	}
	if s.Method == "GET" {
		f.get("method").problem("a GET that makes something", "Use POST or PUT")
	}
	unknown := f.get("unknown")
	switch {
	case f.broken || api.Name == "":
	case api.Idempotency == "":
		at.problem("a job for an API of which it is not said whether it tells repetitions", "Add idempotency to the API: the header that it honours, such as Idempotency-Key, or none")
	case api.Idempotency != NotIdempotent && unknown.given():
		unknown.problem("of no meaning where the API tells repetitions by "+api.Idempotency, "Remove it: a request whose answer is lost is sent again with the same key")
	case api.Idempotency == NotIdempotent && !unknown.given():
		unknown.problem("missing", "Say what to do where it is not known whether the API has made the job: resubmit (there may be two), fail, or {look_up: {path: /…, query: {…: \"{key}\"}, id: $.…}}")
	case unknown.isText():
		text, ok := unknown.text()
		if s.Unknown = report.HTTPUnknown(text); ok && s.Unknown != report.ResubmitJob && s.Unknown != report.FailJob {
			unknown.problem("neither resubmit nor fail nor {look_up: {…}}", "")
		}
	case unknown.given():
		s.Unknown = report.LookUpJob
		if in, ok := unknown.fields("look_up").need("look_up", "Write {look_up: {path: /…, id: $.…}}"); ok {
			s.LookUp = l.lookUp(in)
			if s.LookUp.UsesKey() && !s.UsesKey() {
				at.problem("no {key}, by which look_up looks for the job", "Put {key} where the API keeps it, such as json: {reference: \"{key}\"}")
			}
		}
	}
	return s
}

func (l *draftListener) lookUp(at setting) *report.HTTPLookUp {
	f := at.fields(slices.Concat(requestFields, []string{"id"})...)
	look := &report.HTTPLookUp{HTTPRequest: l.request(f, "GET", places{key: true, nothing: true})}
	if id, ok := f.need("id", "Say where the job's id is in the answer: id: $.jobs[0].id"); ok {
		look.ID, _ = id.jsonPath()
	}
	if !look.UsesKey() && !f.broken {
		at.problem("no {key}, by which the job is found", "Put {key} into submit, where the API keeps it, and here where it is looked for")
	}
	return look
}

func (l *draftListener) poll(at setting) report.HTTPPoll {
	f := at.fields(slices.Concat(requestFields, []string{"every", "status", "done", "failed", "working", "error"})...)
	p := report.HTTPPoll{
		HTTPRequest: l.request(f, "GET", places{id: true, key: true}),
		Every:       f.get("every").duration(10 * time.Second), Error: f.get("error").optionalPath(),
		Done: f.get("done").statuses(), Failed: f.get("failed").statuses(), Working: f.get("working").statuses(),
	}
	if status, ok := f.need("status", "Say where the job's status is in the answer: status: $.status"); ok {
		p.Status, _ = status.jsonPath()
	}
	if done := f.get("done"); !done.given() && !f.broken {
		done.problem("missing", "List the statuses of a job whose rows are there: done: [done]")
	}
	if failed := f.get("failed"); !failed.given() && len(p.Working) == 0 && !f.broken {
		failed.problem("neither failed nor working", "List the statuses of a job that has failed: failed: [failed]")
	}
	needJob(p.HTTPRequest, f, "{id}", "{key}")
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
	return p
}

// needJob refuses a request that is the same for every job. Any of the names tells one.
func needJob(r report.HTTPRequest, f fields, names ...string) {
	if r.Path == "" || slices.ContainsFunc(names, r.UsesName) {
		return
	}
	f.get("path").problem("no {id} in path, query or json: it would not be about the job that submit has made", "Put {id} where the API wants the job's id, such as /exports/{id}")
}

// statuses decodes a list of texts.
func (p setting) statuses() []string {
	items, _ := p.oneOrMore()
	if p.given() && len(items) == 0 {
		p.problem("an empty list", "Name at least one status, or remove it")
	}
	var all []string
	for _, item := range items {
		if text, ok := item.text(); ok {
			all = append(all, text)
		}
	}
	return all
}
