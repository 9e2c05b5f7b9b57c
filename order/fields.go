package order

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/waiting"
	"github.com/fanfold/fanfold/web/form"
	"github.com/fanfold/fanfold/web/languages"
	"github.com/fanfold/fanfold/web/seal"
)

// asked is the form of a report.
type asked struct {
	Report, Description string
	Key                 string // random, so that a repeated form creates one job
	Wrong               bool   // a field is wrong
	Fields              []field
}

// field is the field of a parameter.
type field struct {
	form.Field
	Label  string
	Must   string // says that a value is required; empty: it is not
	Hints  []string
	Wrong  string   // what is wrong; empty: nothing
	Input  string   // type of the input element
	Select []choice // of which the person selects one; none: the person types
}

// choice is a value that a person can select.
type choice struct{ Value, Text string }

// DescribedBy are the ids of the elements that explain the field, with spaces between them.
func (f field) DescribedBy() string {
	var ids []string
	if len(f.Hints) > 0 {
		ids = append(ids, "h-"+f.ID)
	}
	if f.Wrong != "" {
		ids = append(ids, "w-"+f.ID)
	}
	return strings.Join(ids, " ")
}

// Required reports whether the person must give a value.
func (f field) Required() bool { return f.Default == nil }

// form shows the form of a report. Its fields have the defaults, or the values of a record of the person.
func (p *Pages) form(w http.ResponseWriter, r *http.Request) {
	pass, ok := p.open(w, r)
	if !ok {
		return
	}
	of := p.report(w, r, pass)
	if of == nil {
		return
	}
	var parameters []byte
	if id := r.URL.Query().Get("from"); id != "" {
		was, err := mine{p}.record(r.Context(), pass, id)
		switch {
		case errors.Is(err, engine.ErrNoRecord), err == nil && was.Report != of.Name:
			p.refuse(w, r, seal.ErrToken)
			return
		case err != nil:
			p.unavailable(w, r, err)
			return
		}
		parameters = was.Parameters
	}
	p.ask(w, r, http.StatusOK, pass, of, form.Of(of, parameters))
}

// ask shows the form of a report, with the text of a key and of what stands in it; none: without a text.
func (p *Pages) ask(w http.ResponseWriter, r *http.Request, code int, pass Pass, of *report.Report, sent form.Sent,
	says ...string) {
	c := p.content(r, pass, waiting.Title(p.o.Reports, of.Name))
	c.Form = &asked{Report: of.Name, Description: of.Description, Key: rand.Text(), Wrong: len(sent.Wrong) > 0}
	if len(says) > 0 {
		c.Says = []string{c.In.Say(says[0], says[1:]...)}
	}
	for _, f := range sent.Fields(of, "p-") {
		c.Form.Fields = append(c.Form.Fields, newField(c.In, of, f, time.Now()))
	}
	p.write(w, r, code, c)
}

// local are the forms of the values that browsers accept in their fields for dates and datetimes.
var local = map[report.ParameterType]*regexp.Regexp{
	report.ParamDate:     regexp.MustCompile(`^(\d{4}-\d\d-\d\d)?$`),
	report.ParamDatetime: regexp.MustCompile(`^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)?$`),
}

// newField returns the field of a parameter, in a language.
func newField(in *languages.Language, of *report.Report, f form.Field, now time.Time) field {
	one := field{Field: f, Label: f.Description, Input: "text"}
	if one.Label == "" {
		one.Label = strings.ReplaceAll(f.Name, "_", " ")
	}
	if f.Mistake != nil {
		one.Wrong = waiting.Wrong(in, of, *f.Mistake)
	}
	if one.Required() {
		one.Must = in.Say("order.required")
	}
	for _, value := range f.Choices() {
		text := value
		if f.Type == report.ParamBoolean {
			text = in.Say("order." + value)
		}
		one.Select = append(one.Select, choice{value, text})
	}
	if one.Select == nil && one.Wrong == "" { // what is wrong says it, too
		one.Hints = append(one.Hints, waiting.Give(in, f.Parameter))
	}
	if usual := form.Of(of, nil).Typed[f.Name]; usual != "" {
		usual = in.List(strings.Split(usual, "\n"))
		one.Hints = append(one.Hints, in.Say("order.default", "value", usual))
	}
	if f.List && len(f.Options) == 0 {
		one.Hints = append(one.Hints, in.Say("order.lines"))
		return one
	}
	if text := relative(of, f, now); text != "" {
		one.Hints = append(one.Hints, in.Say("order.relative", "value", f.Typed, "means", text))
		if f.Type == report.ParamDate {
			one.Typed = text
		}
	}
	if form := local[f.Type]; form != nil && form.MatchString(one.Typed) {
		one.Input = "date"
		if f.Type == report.ParamDatetime {
			one.Input = "datetime-local"
		}
	}
	return one
}

// relative returns what a relative date or datetime is now; empty: the field has none.
func relative(of *report.Report, f form.Field, now time.Time) string {
	value, err := json.Marshal(f.Typed)
	if err != nil || local[f.Type] == nil || local[f.Type].MatchString(f.Typed) {
		return ""
	}
	alone := report.Report{TimeZone: of.TimeZone, Parameters: []report.Parameter{{Name: "p", Type: f.Type}}}
	values, err := alone.Bind(fmt.Appendf(nil, `{"p": %s}`, value), now)
	switch v := values["p"].(type) {
	case string:
		return v
	case time.Time:
		return v.In(report.Location(of.TimeZone)).Format(time.DateTime)
	}
	return ""
}
