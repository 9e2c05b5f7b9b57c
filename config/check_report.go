package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
)

// draft is a report that is being made of its fields, each part proved against those
// before it.
type draft struct {
	*report.Report
	f         *reportFields
	config    *Config
	listeners []*draftListener
	used      map[string]bool // parameters
	guessed   bool            // a timeout or a retry is wrong, so the time that listeners take is not known
	nameless  bool            // a listener has no usable name, so an unknown name may be its
}

// check makes the report. readers has the first listener of each name, in any report.
func (f *reportFields) check(c *Config, readers map[string]*draftListener) *report.Report {
	d := &draft{f: f, config: c, used: map[string]bool{}, Report: &report.Report{
		Name: f.Name, Line: f.line, DeadlineWaits: f.PausedDeadline, RestartOnChange: f.OnChange, Stages: make([]report.Stage, len(f.Stages)),
	}}
	if f.fields == nil {
		return d.Report
	}
	for i := range f.Parameters {
		d.Parameters = append(d.Parameters, f.Parameters[i].check())
	}
	d.Retry = d.retry(f.Retry, report.DefaultRetry)
	d.guessed = d.guessed || f.wrong["timeout"]
	for s := range f.Stages {
		stage := &f.Stages[s]
		d.nameless = d.nameless || len(stage.Listeners) == 0
		for i := range stage.Listeners {
			d.addListener(s, &stage.Listeners[i], readers)
		}
	}
	d.checkFieldNames()
	d.resolve()
	if d.checkJoin() {
		d.checkCSV()
	}
	d.checkFirst()
	d.checkUse()
	d.checkTimeout()
	return d.Report
}

// retry takes what the file gives over what a step has otherwise.
func (d *draft) retry(f retryFields, base report.Retry) report.Retry {
	r, ok := f.over(base)
	d.guessed = d.guessed || !ok
	return r
}

// over takes the fields that are given over a base. False if one of them is wrong.
func (f retryFields) over(r report.Retry) (report.Retry, bool) {
	if f.has("retries") {
		r.Retries = f.Retries
	}
	if f.has("delay") {
		r.Delay = f.Delay
	}
	if f.has("backoff") {
		r.Exponential = f.Exponential
	}
	if f.has("max_delay") {
		r.MaxDelay = f.MaxDelay
	}
	for _, wrong := range f.wrong {
		if wrong {
			return r, false // the others may be right
		}
	}
	switch {
	case f.has("max_delay") && !r.Exponential:
		f.get("max_delay").problem("a max_delay, but the delay is fixed", "Add backoff: exponential, or remove max_delay")
	case r.Exponential && r.MaxDelay < r.Delay:
		delay := report.ShortDuration(r.Delay)
		f.first("max_delay", "delay", "backoff").problem("max_delay "+report.ShortDuration(r.MaxDelay)+" is shorter than delay "+delay,
			"Give a max_delay of at least "+delay+", a shorter delay, or backoff: fixed")
		r.MaxDelay = r.Delay // so that what inherits it does not say so again
	default:
		return r, !f.given() || f.fields != nil
	}
	return r, false
}

// check makes a parameter with its default, which must be one of its values.
func (f *parameterFields) check() report.Parameter {
	p := report.Parameter{Name: f.Name, Type: f.Type, List: f.List}
	if !f.Default.given() || f.wrong["type"] {
		return p
	}
	text := "null"
	if !f.Default.isNull() {
		raw, ok := f.Default.parameterJSON(p)
		if !ok {
			return p
		}
		value, wrong := p.Bind(raw)
		if wrong != nil {
			f.Default.problem(wrong.Message, wrong.Remedy)
			return p
		}
		text = string(report.EncodeBound(value))
	}
	p.Default = &text
	return p
}

// parameterJSON turns YAML into the JSON that a record would give.
func (p setting) parameterJSON(parameter report.Parameter) (json.RawMessage, bool) {
	if !parameter.List {
		text, ok := p.text()
		if parameter.Type == report.ParamBoolean && (text == "true" || text == "false") {
			return json.RawMessage(text), ok
		}
		return report.EncodeBound(text), ok
	}
	items, ok := p.list()
	parameter.List = false
	parts := make([]string, len(items))
	for i, item := range items {
		raw, itemOK := item.parameterJSON(parameter)
		parts[i], ok = string(raw), ok && itemOK
	}
	return json.RawMessage("[" + strings.Join(parts, ",") + "]"), ok
}

// checkUse finds parameters that change nothing: most often a misspelt name.
func (d *draft) checkUse() {
	for i := range d.f.Parameters {
		if p := &d.f.Parameters[i]; !d.used[p.Name] && !d.nameless && d.queriesKnown() {
			p.problem("a parameter that no query uses", fmt.Sprintf("Use :%s in a query, or remove it", p.Name))
		}
	}
}

// queriesKnown tells whether every query could be read; if not, what seems unused may be
// used in one of the others, or by an external service.
func (d *draft) queriesKnown() bool {
	return len(d.listeners) > 0 && !slices.ContainsFunc(d.listeners, func(l *draftListener) bool { return !l.whole })
}

// checkTimeout takes the explicit timeout. It is a deadline, and may leave the listeners
// less than all their retries can take: that is a warning, or with strict_timeout a
// problem.
func (d *draft) checkTimeout() {
	at, needed, byDefault, max := d.f.get("timeout"), d.StagesTime(), d.DefaultTimeout(), duration(maxDuration)
	if d.Timeout = d.f.Timeout; !at.given() {
		d.Timeout = byDefault
	}
	const fewer = "Allow fewer retries, or shorten timeouts or delays"
	switch {
	case d.guessed:
		return
	case d.Timeout > max: // it was left out
		at.problem(fmt.Sprintf("its default of %s is more than the maximum of %s", report.ShortDuration(byDefault), report.ShortDuration(max)),
			fmt.Sprintf("%s, or give a timeout of at most %s", fewer, report.ShortDuration(max)))
		return
	case d.Timeout >= needed:
		return
	}
	message := fmt.Sprintf("%s is shorter than %s, which the longest listener of each stage can take with its retries",
		report.ShortDuration(d.Timeout), d.arithmetic(needed))
	if !d.f.StrictTimeout {
		at.warn(message, "A job fails at its timeout, however many tries are left")
		return
	}
	remedy := fewer
	if needed <= max {
		remedy = fmt.Sprintf("Give at least %s and the time for the file", report.ShortDuration(needed))
		if slices.ContainsFunc(d.LongestListeners(), func(l *report.Listener) bool { return l.Retry.Retries > 0 }) {
			remedy += ", or allow fewer retries"
		}
	}
	if byDefault <= max {
		remedy += ", or leave it out for " + report.ShortDuration(byDefault)
	}
	at.problem(message, remedy+". Without strict_timeout it is a deadline")
}

// arithmetic spells out how the time of the stages comes about, such as
// 5m × 7 + 6m = 41m.
func (d *draft) arithmetic(sum time.Duration) string {
	var terms []string
	stages := d.LongestListeners()
	for _, l := range stages {
		term := report.ShortDuration(l.Try())
		if l.HTTP != nil && l.HTTP.Submit != nil {
			term = report.ShortDuration(l.HTTP.Total)
		} else if n := l.Retry.Retries; n > 0 {
			term += fmt.Sprintf(" × %d + %s", n+1, report.ShortDuration(l.Retry.Total()))
			if len(stages) > 1 {
				term = "(" + term + ")"
			}
		}
		terms = append(terms, term)
	}
	text, total := strings.Join(terms, " + "), report.ShortDuration(sum)
	switch {
	case sum == report.Forever:
		return text
	case text == total:
		return total
	}
	return text + " = " + total
}
