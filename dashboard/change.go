package dashboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/web/form"
)

// refreshTimeout is how long the answer to a change waits for a sample that shows it.
const refreshTimeout = 3 * time.Second

// outcome is the result of a change in words, the path of the page that shows it, and what takes it back.
type outcome struct {
	message, page string
	undo          []act
}

// change makes the handler of a change. It redirects to the page that shows the outcome.
func (d *Dashboard) change(do func(ctx context.Context, r *http.Request) (outcome, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		if err := r.ParseForm(); err != nil {
			http.Error(w, "The form is not valid: "+err.Error(), http.StatusBadRequest)
			return
		}
		what, err := do(ctx, r)
		if err != nil {
			v := d.view(ctx, r, "")
			if wrong, ok := errors.AsType[*wrongForm](err); ok {
				v.Page, v.Title, v.Static = "reports", "Reports", true
				v.Content = d.lists.definitions(r, v.sample, wrong)
				d.write(w, http.StatusBadRequest, d.reportsPage, v)
				return
			}
			if wrong, ok := errors.AsType[*wrongTerms](err); ok {
				v.Title, v.Static, v.Content = wrong.title, true, wrong.question
				d.write(w, http.StatusBadRequest, d.confirmPage, v)
				return
			}
			d.fail(w, r, v, "The change failed", err)
			return
		}
		d.jobs.contents.Forget()
		limited, cancel := context.WithTimeout(ctx, refreshTimeout)
		defer cancel()
		d.sampler.refresh(limited)
		d.show(w, r, what)
	})
}

// show redirects to the page that shows an outcome.
func (d *Dashboard) show(w http.ResponseWriter, r *http.Request, what outcome) {
	path, query, ok := strings.Cut(what.page, "?")
	if ok {
		query += "&"
	}
	query += "message=" + d.messages.keep(what.message, what.undo)
	http.Redirect(w, r, d.o.Path+path+"?"+query, http.StatusSeeOther)
}

// changes makes the changes of forms, and asks before some of them.
type changes struct {
	operate *operate.Operator
	dead    *deadPages
}

func (c changes) cancel(ctx context.Context, r *http.Request) (outcome, error) {
	id := r.PathValue("id")
	if err := operate.CheckID(id); err != nil {
		return outcome{}, err
	}
	result, err := c.operate.Jobs.Cancel(ctx, id, reasonOf(r))
	return outcome{message: "Job " + id + ": " + result + ".", page: "/jobs/" + id}, err
}

func (c changes) retry(ctx context.Context, r *http.Request) (outcome, error) {
	id := r.PathValue("id")
	if err := operate.CheckID(id); err != nil {
		return outcome{}, err
	}
	plan, err := c.operate.Jobs.Retry(ctx, id, job.AnyAge)
	text := "Job " + id + " was pushed again."
	if plan != "" {
		text = "Job " + id + " was pushed again: it " + plan + "."
	}
	return outcome{message: text, page: "/jobs/" + id}, err
}

// hurry makes the waiting steps of a job due now, or the id of a job that was pushed for later.
func (c changes) hurry(ctx context.Context, r *http.Request) (outcome, error) {
	id := r.PathValue("id")
	if err := operate.CheckID(id); err != nil {
		return outcome{}, err
	}
	members, err := c.operate.Delayed.Find(ctx, []string{id})
	if err != nil {
		return outcome{}, err
	}
	return outcome{message: "Job " + id + " is due now.", page: "/jobs/" + id}, c.operate.Delayed.Hurry(ctx, members)
}

// pagesOf are the pages that show what can be paused, by its kind.
var pagesOf = map[string]string{"source": "/sources", "listener": "/listeners", "report": "/reports"}

// titled returns a word with a capital letter.
func titled(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// pause makes the change that pauses what a path names.
func (c changes) pause(kind string) func(ctx context.Context, r *http.Request) (outcome, error) {
	return func(ctx context.Context, r *http.Request) (outcome, error) {
		name := r.PathValue("name")
		var one inspect.Pause
		terms, err := termsOf(r)
		if err == nil {
			one, err = c.operate.Pauses.Pause(ctx, kind+"/"+name, terms)
		}
		text := titled(kind) + " " + name + " is paused. What runs continues; nothing new starts."
		if len(one.External) > 0 {
			text += " External listeners cannot be paused: " + strings.Join(one.External, ", ") + "."
		}
		done := outcome{message: text, page: pagesOf[kind], undo: []act{pauseOrResume(kind, name, true)}}
		return done, c.again(r, pauseOrResume(kind, name, false).To, err)
	}
}

// termsOf parses the terms of the form of a pause or a limit.
func termsOf(r *http.Request) (operate.Terms, error) {
	return operate.TermsOf(r.PostFormValue("reason"), r.PostFormValue("for"), r.PostFormValue("until"))
}

// resume makes the change that ends a pause.
func (c changes) resume(kind string) func(ctx context.Context, r *http.Request) (outcome, error) {
	return func(ctx context.Context, r *http.Request) (outcome, error) {
		name := r.PathValue("name")
		_, n, err := c.operate.Pauses.Resume(ctx, kind+"/"+name)
		text := titled(kind) + " " + name + " is resumed."
		if kind == "report" {
			text += fmt.Sprintf(" Waiting ids that start now: %d.", n)
		}
		return outcome{message: text, page: pagesOf[kind]}, err
	}
}

// explain sets the reason of the pause of a source.
func (c changes) explain(ctx context.Context, r *http.Request) (outcome, error) {
	name := r.PathValue("name")
	err := c.operate.Pauses.Explain(ctx, scripts.PausedSource(name), r.PostFormValue("reason"))
	return outcome{message: "The reason of the pause of source " + name + " is changed.", page: pagesOf["source"]}, err
}

// limit makes the change that limits something; an empty limit is that of the configuration.
func (c changes) limit(kind string) func(ctx context.Context, r *http.Request) (outcome, error) {
	return func(ctx context.Context, r *http.Request) (outcome, error) {
		name, typed := r.PathValue("name"), strings.TrimSpace(r.PostFormValue("limit"))
		o := outcome{message: titled(kind) + " " + name + " has the limit of the configuration.", page: pagesOf[kind]}
		if typed == "" {
			_, err := c.operate.Limits.Reset(ctx, kind+"/"+name)
			return o, err
		}
		n, err := strconv.Atoi(typed)
		if err != nil {
			err = fault.Input.New("%q is not a limit: write a number, or nothing for that of the configuration", typed)
		}
		var terms operate.Terms
		if err == nil {
			terms, err = termsOf(r)
		}
		if err == nil {
			_, err = c.operate.Limits.Set(ctx, kind+"/"+name, n, terms)
		}
		o.message = fmt.Sprintf("%s %s is limited to %d. What runs continues.", titled(kind), name, n)
		return o, c.again(r, setLimit(kind, name, false)[0].To, err)
	}
}

// run inserts and pushes a record with the parameters of a form.
func (c changes) run(ctx context.Context, r *http.Request) (outcome, error) {
	of, err := c.operate.Jobs.Report(r.PathValue("name"))
	if err != nil {
		return outcome{}, err
	}
	parameters, sent := form.Read(of, r.PostForm, time.Now())
	if len(sent.Wrong) > 0 {
		return outcome{}, &wrongForm{of.Name, sent}
	}
	request := record.Request{Report: of.Name, Parameters: parameters}
	request.Owner, request.Tenant = access.Of(ctx).For(of.Name)
	id, err := c.operate.Jobs.Create(ctx, request)
	if err != nil {
		return outcome{}, err
	}
	access.Note(ctx, "id", id)
	return outcome{message: "Record " + id + " was inserted and pushed.", page: "/jobs/" + id}, nil
}

// wrongForm is the error of a form to run a report.
type wrongForm struct {
	report string
	sent   form.Sent
}

// Error implements error.
func (f *wrongForm) Error() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.sent.Wrong)) {
		m := f.sent.Wrong[name]
		all = append(all, m.Error())
	}
	return strings.Join(all, "; ")
}

func (c changes) delayed(ctx context.Context, r *http.Request) (outcome, error) {
	member, action := r.PostFormValue("member"), r.PostFormValue("action")
	access.Note(ctx, "member", report.Shorten(member), "action", report.Shorten(action))
	members, err := c.operate.Delayed.Find(ctx, []string{member})
	if err != nil {
		return outcome{}, err
	}
	switch action {
	case "run":
		return outcome{message: member + " is due now.", page: "/due"}, c.operate.Delayed.Hurry(ctx, members)
	case "remove":
		if err := confirmed(r); err != nil {
			return outcome{}, err
		}
		return outcome{message: member + " was removed.", page: "/due"}, c.operate.Delayed.Remove(ctx, members)
	}
	return outcome{}, fault.Input.New("no such action")
}

func (c changes) quarantined(ctx context.Context, r *http.Request) (outcome, error) {
	name, action := r.PostFormValue("entry"), r.PostFormValue("action")
	access.Note(ctx, "entry", report.Shorten(name), "action", report.Shorten(action))
	entries, err := c.operate.Quarantine.Find(ctx, []string{name})
	if err != nil {
		return outcome{}, err
	}
	switch action {
	case "requeue":
		says, err := c.operate.Quarantine.Requeue(ctx, entries[0], time.Now())
		return outcome{message: "Entry " + name + " " + says + ".", page: "/quarantine"}, err
	case "remove":
		if err := confirmed(r); err != nil {
			return outcome{}, err
		}
		_, err := c.operate.Quarantine.Remove(ctx, []string{name})
		return outcome{message: "Entry " + name + " was removed.", page: "/quarantine"}, err
	}
	return outcome{}, fault.Input.New("no such action")
}

func (c changes) timer(ctx context.Context, r *http.Request) (outcome, error) {
	name, action := r.PostFormValue("name"), r.PostFormValue("action")
	access.Note(ctx, "timer", report.Shorten(name), "action", report.Shorten(action))
	timers := c.operate.Timers
	if err := timers.Check(name, action == "fire"); err != nil {
		return outcome{}, err
	}
	var err error
	past := ""
	switch action {
	case "fire":
		past = "was fired"
		_, err = timers.Fire(ctx, name)
	case "pause":
		past = "is paused"
		_, err = timers.Pause(ctx, name)
	case "resume":
		past = "was resumed"
		_, err = timers.Resume(ctx, name)
	case "remove":
		if err := confirmed(r); err != nil {
			return outcome{}, err
		}
		past = "was removed"
		err = timers.Remove(ctx, name)
	default:
		err = fault.Input.New("no such action")
	}
	return outcome{message: "Timer " + name + " " + past + ".", page: "/due"}, err
}
