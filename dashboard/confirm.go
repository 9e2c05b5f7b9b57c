package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/moment"
)

// question asks before a change that destroys something, or restarts many jobs.
type question struct {
	Text   string // what will happen
	To     string // path of the change
	Back   string // path of the page that it came from
	Button string
	DryRun bool  // it can be tried without a change
	Reason bool  // it asks for a reason
	Terms  bool  // it asks for how long
	Limit  bool  // it asks for a limit
	Other  []act // other changes of the same
	Fields []field
	Sent   url.Values // what was typed into a form that is asked again
	Wrong  string     // why it is; empty: it was not sent
}

// field is a hidden field of a form.
type field struct{ Name, Value string }

func (question) static() {}

// confirmed returns nil if a person has confirmed a change.
func confirmed(r *http.Request) error {
	if r.PostFormValue("confirm") != "yes" {
		return fault.Input.New("this change was not confirmed: make it from its page, which asks first")
	}
	return nil
}

// confirm asks whether to make the change that the fields of the form describe. What is to be removed must exist:
// a link from elsewhere cannot show its own text.
func (c changes) confirm(ctx context.Context, r *http.Request, s *sample) (string, any, error) {
	q := question{To: r.FormValue("to"), Button: "Remove"}
	pass := func(name string) string {
		q.Fields = append(q.Fields, field{name, r.FormValue(name)})
		return r.FormValue(name)
	}
	var err error
	switch q.To {
	case "/dead/retry", "/dead/discard":
		return c.dead.confirm(r, s, q)
	case "/quarantine":
		entry := pass("entry")
		q.Text, q.Back = "Entry "+entry+
			" is removed from the quarantine. It cannot be requeued afterwards.", "/quarantine"
		_, err = c.operate.Quarantine.Find(ctx, []string{entry})
	case "/due/delayed":
		member := pass("member")
		q.Text, q.Back = member+" is removed from what is due later. Its record is not changed.", "/due"
		_, err = c.operate.Delayed.Find(ctx, []string{member})
	case "/due/timers":
		name := pass("name")
		q.Text, q.Back = "Timer "+name+" is removed. It does not fire.", "/due"
		err = c.operate.Timers.Exists(ctx, name)
	default:
		return c.confirmHold(s, q)
	}
	if err != nil {
		return "", nil, err
	}
	q.Fields = append(q.Fields, field{"action", "remove"})
	return "Remove?", q, nil
}

// confirmHold asks for the terms of a pause of /sources/NAME/pause, of a limit of /sources/NAME/limit, and so on.
func (c changes) confirmHold(s *sample, q question) (string, any, error) {
	path, what := path.Split(strings.TrimPrefix(q.To, "/"))
	kind, name, _ := strings.Cut(strings.TrimSuffix(path, "/"), "s/")
	if q.Back = pagesOf[kind]; q.Back == "" {
		return "", nil, errNotFound
	}
	check := c.operate.Pauses.Check
	q.Reason, q.Terms = true, true
	switch what {
	case "pause":
		q.Text, q.Button = "What runs continues; nothing new starts.", "Pause "+kind+" "+name
	case "limit":
		check, q.Limit = c.operate.Limits.Check, true
		q.Text, q.Button = "What runs continues; above the limit, nothing new starts.", "Limit "+kind+" "+name
		if slices.ContainsFunc(s.Limits, func(one inspect.Limit) bool { return one.What == kind+"/"+name }) {
			q.Other = setLimit(kind, name, true)[1:]
		}
	default:
		return "", nil, errNotFound
	}
	if err := check(kind + "/" + name); err != nil {
		return "", nil, err
	}
	return q.Button + "?", q, nil
}

// wrongTerms is the error of the form of a pause or a limit whose values cannot be used.
type wrongTerms struct {
	error
	title    string
	question any
}

// again makes wrongTerms of an error in the form of a change. Other errors stay as they are.
func (c changes) again(r *http.Request, to string, err error) error {
	if !errors.Is(err, fault.Input) {
		return err
	}
	q := question{To: to, Sent: r.PostForm, Wrong: err.Error()}
	title, asked, unknown := c.confirmHold(c.dead.sampler.latest(r.Context()), q)
	if unknown != nil {
		return unknown
	}
	return &wrongTerms{err, title, asked}
}

// spanOf returns the span of the fields since and until of a form.
func spanOf(r *http.Request, now time.Time) (moment.Span, error) {
	span, end, err := moment.ParseSpan(r.FormValue("since"), r.FormValue("until"), now, time.Local)
	if err != nil {
		return span, fault.Input.New("%s: %v", end, err)
	}
	return span, nil
}

// fieldOf writes a time for a field of a form, which spanOf reads; empty: the zero time.
func fieldOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
