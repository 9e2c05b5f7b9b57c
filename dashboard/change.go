package dashboard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
)

// refreshTime is how long a page waits to show what a change has done.
const refreshTime = 3 * time.Second

// done is what a change has done, and the page that shows it.
type done struct{ said, page string }

// change makes the handler of a change. The answer is the page that shows it.
func (d *Dashboard) change(do func(ctx context.Context, r *http.Request) (done, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTime)
		defer cancel()
		if err := r.ParseForm(); err != nil {
			http.Error(w, "This form cannot be read: "+err.Error(), http.StatusBadRequest)
			return
		}
		what, err := do(ctx, r)
		if err != nil {
			d.fail(w, d.view(ctx, r, ""), "Not done", err)
			return
		}
		d.asked.forget()
		limited, cancel := context.WithTimeout(ctx, refreshTime)
		defer cancel()
		d.sampler.refresh(limited)
		http.Redirect(w, r, d.o.Path+what.page+"?said="+d.said.keep(what.said), http.StatusSeeOther)
	})
}

func (d *Dashboard) cancel(ctx context.Context, r *http.Request) (done, error) {
	id := r.PathValue("id")
	if err := operate.CheckID(id); err != nil {
		return done{}, err
	}
	reason := "cancelled in the dashboard"
	if who := access.Of(ctx).Name; who != "" {
		reason += " by " + who
	}
	if why := strings.TrimSpace(r.PostFormValue("reason")); why != "" {
		reason += ": " + report.ShortenTo(why, 200)
	}
	outcome, err := d.o.Operate.Jobs.Cancel(ctx, id, reason)
	return done{"Job " + id + ": " + outcome + ".", "/jobs/" + id}, err
}

func (d *Dashboard) retry(ctx context.Context, r *http.Request) (done, error) {
	id := r.PathValue("id")
	if err := operate.CheckID(id); err != nil {
		return done{}, err
	}
	return done{"Job " + id + " was pushed again.", "/jobs/" + id}, d.o.Operate.Jobs.Retry(ctx, id)
}

func (d *Dashboard) pauseListener(ctx context.Context, r *http.Request) (done, error) {
	name := r.PathValue("name")
	_, err := d.o.Operate.Pauses.Listener(ctx, name)
	return done{"Listener " + name + " is paused: running tasks go on, and no new one begins.", "/listeners"}, err
}

func (d *Dashboard) resumeListener(ctx context.Context, r *http.Request) (done, error) {
	name := r.PathValue("name")
	if _, err := d.o.Operate.Pauses.ResumeListener(ctx, name); err != nil {
		return done{}, err
	}
	return done{"Listener " + name + " works again.", "/listeners"}, nil
}

func (d *Dashboard) pauseReport(ctx context.Context, r *http.Request) (done, error) {
	name := r.PathValue("name")
	_, err := d.o.Operate.Pauses.Report(ctx, name)
	return done{"Report " + name + " is paused: its running jobs go on, and no new one begins.", "/reports"}, err
}

func (d *Dashboard) resumeReport(ctx context.Context, r *http.Request) (done, error) {
	name := r.PathValue("name")
	_, n, err := d.o.Operate.Pauses.ResumeReport(ctx, name)
	return done{fmt.Sprintf("Jobs of report %s begin again; ids that have waited: %d.", name, n), "/reports"}, err
}

// run inserts and pushes a record with the parameters of a form: fields p.NAME, each line of a list
// one value. An empty field is not given.
func (d *Dashboard) run(ctx context.Context, r *http.Request) (done, error) {
	of, err := d.o.Operate.Jobs.Report(r.PathValue("name"))
	if err != nil {
		return done{}, err
	}
	given := map[string]json.RawMessage{}
	for _, p := range of.Parameters {
		text := strings.ReplaceAll(r.PostFormValue("p."+p.Name), "\r\n", "\n")
		texts := []string{text}
		if p.List {
			texts = strings.Split(strings.TrimSpace(text), "\n")
		}
		if text == "" {
			continue
		}
		given[p.Name] = p.FromTexts(texts)
	}
	values, wrong := of.Check(given)
	if len(wrong) > 0 {
		texts := make([]string, len(wrong))
		for i, m := range wrong {
			texts[i] = m.Error()
		}
		return done{}, operate.ErrInput.Because("%s", strings.Join(texts, "; "))
	}
	id, err := d.o.Operate.Jobs.Create(ctx, of.Name, report.EncodeBound(values))
	if err != nil {
		return done{}, err
	}
	access.Note(ctx, "id", id)
	return done{"Record " + id + " was inserted and pushed.", "/jobs/" + id}, nil
}

func (d *Dashboard) changeDelayed(ctx context.Context, r *http.Request) (done, error) {
	member, action := r.PostFormValue("member"), r.PostFormValue("action")
	access.Note(ctx, "member", report.Shorten(member), "action", report.Shorten(action))
	members, err := d.o.Operate.Delayed.Find(ctx, []string{member})
	if err != nil {
		return done{}, err
	}
	switch action {
	case "run":
		return done{member + " is due now.", "/due"}, d.o.Operate.Delayed.Hurry(ctx, members)
	case "remove":
		return done{member + " was removed.", "/due"}, d.o.Operate.Delayed.Remove(ctx, members)
	}
	return done{}, operate.ErrInput.Because("no such action")
}

func (d *Dashboard) changeQuarantined(ctx context.Context, r *http.Request) (done, error) {
	name, action := r.PostFormValue("entry"), r.PostFormValue("action")
	access.Note(ctx, "entry", report.Shorten(name), "action", report.Shorten(action))
	entries, err := d.o.Operate.Quarantine.Find(ctx, []string{name})
	if err != nil {
		return done{}, err
	}
	switch action {
	case "requeue":
		says, err := d.o.Operate.Quarantine.Requeue(ctx, entries[0], time.Now())
		return done{"Entry " + name + " " + says + ".", "/quarantine"}, err
	case "remove":
		_, err := d.o.Operate.Quarantine.Remove(ctx, []string{name})
		return done{"Entry " + name + " was removed.", "/quarantine"}, err
	}
	return done{}, operate.ErrInput.Because("no such action")
}

func (d *Dashboard) changeTimer(ctx context.Context, r *http.Request) (done, error) {
	name, action := r.PostFormValue("name"), r.PostFormValue("action")
	access.Note(ctx, "timer", report.Shorten(name), "action", report.Shorten(action))
	timers := d.o.Operate.Timers
	if err := timers.Check(name, action == "fire"); err != nil {
		return done{}, err
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
		past = "was removed"
		err = timers.Remove(ctx, name)
	default:
		err = operate.ErrInput.Because("no such action")
	}
	return done{"Timer " + name + " " + past + ".", "/due"}, err
}

// outcomes are what changes have done, for the pages after them. A page names one by a word that
// nobody guesses: no link can have a page say what another site wants.
type outcomes struct {
	mu    sync.Mutex
	known map[string]outcome
}

type outcome struct {
	at   time.Time
	text string
}

const (
	outcomeAge  = 5 * time.Minute
	maxOutcomes = 1000
)

// keep remembers a text for a while, and returns its word.
func (o *outcomes) keep(text string) string {
	word := rand.Text()
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.known, func(_ string, one outcome) bool { return time.Since(one.at) > outcomeAge })
	if o.known == nil || len(o.known) >= maxOutcomes {
		o.known = map[string]outcome{}
	}
	o.known[word] = outcome{time.Now(), text}
	return url.QueryEscape(word)
}

// of returns the text of a word; empty: there is none.
func (o *outcomes) of(word string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[word].text
}
