package dashboard

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/moment"
	"github.com/fanfold/fanfold/internal/words"
)

// question asks before a change that destroys something, or restarts many jobs.
type question struct {
	Text   string // what will happen
	To     string // path of the change
	Back   string // path of the page that it came from
	Button string
	DryRun bool // it can be tried without a change
	Fields []field
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
func (d *Dashboard) confirm(ctx context.Context, r *http.Request, s *sample) (string, any, error) {
	if !access.Of(r.Context()).Operator() {
		return "", nil, fault.Refused.New("you may only read")
	}
	q := question{To: r.FormValue("to"), Button: "Remove"}
	pass := func(name string) string {
		q.Fields = append(q.Fields, field{name, r.FormValue(name)})
		return r.FormValue(name)
	}
	var err error
	switch q.To {
	case "/dead/retry", "/dead/discard":
		return d.confirmSweep(r, s, q)
	case "/quarantine":
		entry := pass("entry")
		q.Text, q.Back = "Entry "+entry+" is removed from the quarantine. It cannot be requeued afterwards.", "/quarantine"
		_, err = d.o.Operate.Quarantine.Find(ctx, []string{entry})
	case "/due/delayed":
		member := pass("member")
		q.Text, q.Back = member+" is removed from what is due later. Its record is not changed.", "/due"
		_, err = d.o.Operate.Delayed.Find(ctx, []string{member})
	case "/due/timers":
		name := pass("name")
		q.Text, q.Back = "Timer "+name+" is removed. It does not fire.", "/due"
		err = d.o.Operate.Timers.Exists(ctx, name)
	default:
		err = errNotFound
	}
	if err != nil {
		return "", nil, err
	}
	q.Fields = append(q.Fields, field{"action", "remove"})
	return "Remove?", q, nil
}

// confirmSweep asks before a change of a group of dead jobs. Jobs that fail after the question are not in it.
func (d *Dashboard) confirmSweep(r *http.Request, s *sample, q question) (string, any, error) {
	now := time.Now()
	span, err := spanOf(r, now)
	if err != nil {
		return "", nil, err
	}
	if span.Until.IsZero() {
		span.Until = now
	}
	group := deadGroup(r.FormValue("group"), span)
	first, n := slices.IndexFunc(s.Dead, group), 0
	if first < 0 {
		return "", nil, errNoGroup
	}
	for _, j := range s.Dead {
		if group(j) {
			n++
		}
	}
	jobs, what := words.Count(n, "job"), describe(s.Dead[first])
	if s.DeadCut() {
		jobs = "at least " + jobs
	}
	q.Back, q.DryRun = "/dead", true
	for _, f := range []field{{"group", r.FormValue("group")}, {"since", fieldOf(span.Since)}, {"until", fieldOf(span.Until)}} {
		if f.Value != "" {
			q.Fields = append(q.Fields, f)
		}
	}
	if q.To == "/dead/retry" {
		q.Button = "Run " + jobs + " again"
		q.Text = what + ". Each job starts its next attempt, which queries its sources again."
	} else {
		q.Button = "Discard " + jobs
		q.Text = what + ". The jobs are removed from the list, and their records stay FAILED. fanfold retry can still run each of them again by its id."
	}
	return q.Button + "?", q, nil
}

// errNoGroup is the error of a group without a dead job.
var errNoGroup = fault.NotFound.New("this group of dead jobs no longer exists: its jobs were retried or discarded")

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
