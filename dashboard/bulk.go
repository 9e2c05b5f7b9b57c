package dashboard

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// bulkChange is a change of selected rows of a table.
type bulkChange struct {
	Name string // in forms, such as jobs/cancel
	Verb string // on its button
	noun string // what a row is
	text string // what happens, after the number of rows
	past string // what it did to a row; empty: done
	undo string // name of the change that takes it back; empty: none does
	do   rowChange
	// because makes do of the reason that the question asks for; nil: it asks for none.
	because func(reason string) rowChange
	// of returns the jobs of a row, which change instead of it; nil: rows themselves change.
	of func(inspect.Flood) []string
}

// rowChange changes the row with a key.
type rowChange func(ctx context.Context, o *operate.Operator, key string) error

// bulkChanges are the changes of the rows of every table, by the name of the table.
var bulkChanges = map[string][]bulkChange{
	"running": {{
		Name: "jobs/cancel", Verb: "Cancel", noun: "job", because: cancelJob,
		text: "Each job ends, and its record becomes CANCELLED.",
	}},
	"records": {{
		Name: "records/retry", Verb: "Run again", noun: "job", do: retryJob, past: ranAgain,
		text: "Each job that has ended starts its next attempt, and its file is deleted when that ends.",
	}, {
		Name: "records/cancel", Verb: "Cancel", noun: "job", because: cancelJob,
		text: "Each job that has not ended ends, and its record becomes CANCELLED.",
	}},
	"dead": {{
		Name: "dead/retry", Verb: "Run again", noun: "job", do: retryJob, past: ranAgain,
		text: "Each job starts its next attempt, which queries its sources again.",
	}, {
		Name: "dead/discard", Verb: "Discard", noun: "job", do: discard,
		text: "The jobs are removed from the list, and their records stay FAILED.",
	}},
	"quarantine": {{
		Name: "quarantine/requeue", Verb: "Requeue", noun: "entry", do: requeue,
		text: "Entries that would be quarantined again stay.",
	}, {
		Name: "quarantine/remove", Verb: "Remove", noun: "entry", do: removeEntry,
		text: "They cannot be requeued afterwards.",
	}},
	"listeners": {{
		Name: "listeners/pause", Verb: "Pause", noun: "listener", do: pauseAll("listener"), undo: "listeners/resume",
		text: "Running tasks continue; new ones do not start.",
	}, {
		Name: "listeners/resume", Verb: "Resume", noun: "listener", do: resumeAll("listener"), undo: "listeners/pause",
		text: "New tasks start again.",
	}},
	"reports": {{
		Name: "reports/pause", Verb: "Pause", noun: "report", do: pauseAll("report"), undo: "reports/resume",
		text: "Running jobs continue; new ones do not start.",
	}, {
		Name: "reports/resume", Verb: "Resume", noun: "report", do: resumeAll("report"), undo: "reports/pause",
		text: "Waiting ids start now.",
	}},
	"timers": {{
		Name: "timers/pause", Verb: "Pause", noun: "timer", do: pauseTimer, undo: "timers/resume",
		text: "They do not fire until they are resumed.",
	}, {
		Name: "timers/resume", Verb: "Resume", noun: "timer", do: resumeTimer, undo: "timers/pause",
		text: "They fire when they are due.",
	}},
	"floods": {{
		Name: "floods/cancel", Verb: "Cancel", noun: "job", because: cancelJob,
		of:   func(f inspect.Flood) []string { return slices.Concat(f.Queued, f.Runs) },
		text: "Each job that waits or runs ends, and its record becomes CANCELLED.",
	}, {
		Name: "floods/delay", Verb: "Delay by an hour", noun: "job", do: postpone, undo: "later/advance",
		of:   func(f inspect.Flood) []string { return f.Queued },
		text: "Those that are due later, or wait in a lane, start an hour later. Without lanes, a queued job starts as before.",
	}},
	"later": {{
		Name: "later/run", Verb: "Run now", noun: "id", do: hurry, text: "They are due now.",
	}, {
		Name: "later/delay", Verb: "Delay by an hour", noun: "id", do: shift(time.Hour), undo: "later/advance",
		text: "They are due an hour later.",
	}, {
		Name: "later/advance", Verb: "Advance by an hour", noun: "id", do: shift(-time.Hour), undo: "later/delay",
		text: "They are due an hour earlier.",
	}, {
		Name: "later/remove", Verb: "Remove", noun: "id", do: removeLater, text: "Their records are not changed.",
	}},
}

// maxBulk is the maximum number of rows that one change has: their keys are in one form.
const maxBulk = 10_000

func bulkNamed(name string) (bulkChange, error) {
	for _, all := range bulkChanges {
		for _, c := range all {
			if c.Name == name {
				return c, nil
			}
		}
	}
	return bulkChange{}, errNotFound
}

// tables is the content of a page with tables.
type tables interface{ tables() []table }

func (v jobs) tables() []table         { return []table{v.Table} }
func (v records) tables() []table      { return []table{v.Table} }
func (v dead) tables() []table         { return []table{v.Table} }
func (v quarantine) tables() []table   { return []table{v.Table} }
func (v listenerRows) tables() []table { return []table{v.Listeners} }
func (v due) tables() []table          { return []table{v.Timers, v.Later} }
func (v floods) tables() []table       { return []table{v.Table} }
func (v reports) tables() []table      { return []table{v.Table} }

// bulk changes selected rows.
type bulk struct {
	o      Options
	sweeps *sweeps
	pages  map[string]contentFunc // those with tables, by path
	wakeUp func()                 // takes a sample, which shows the change
}

// read returns the change of a form, and the view that it came from.
func (b bulk) read(r *http.Request) (bulkChange, *url.URL, error) {
	change, err := bulkNamed(r.PostFormValue("change"))
	if err != nil {
		return change, nil, err
	}
	view, err := url.Parse(r.PostFormValue("view"))
	if err != nil || b.pages[view.Path] == nil || view.Host != "" {
		return change, nil, errNotFound
	}
	return change, view, nil
}

// ask says how many rows change, and what happens with them. Rows that come into the view later are not in it.
func (b bulk) ask(ctx context.Context, r *http.Request, s *sample) (string, any, error) {
	change, back, err := b.read(r)
	if err != nil {
		return "", nil, err
	}
	keys, more, none := r.PostForm["row"], "", "Nothing was changed: select the rows first."
	if r.PostFormValue("all") != "" || change.of != nil {
		content, err := b.content(ctx, r, s, back)
		if err != nil {
			return "", nil, err
		}
		if r.PostFormValue("all") != "" {
			keys = keysOf(content, r.PostFormValue("table"))
		}
		if of, ok := content.(floods); ok && change.of != nil && len(keys) > 0 {
			more = of.says(keys)
			none = "Nothing was changed: " + more
			if keys = of.jobs(keys, change.of); len(keys) > maxBulk {
				all := words.Count(len(keys), change.noun)
				more += fmt.Sprintf("These are the first %s of %s. ", count(maxBulk), all)
				keys = keys[:maxBulk]
			}
		}
	}
	if len(keys) == 0 {
		return "", nil, &unchanged{outcome{message: none, page: back.RequestURI()}}
	}
	if len(keys) > maxBulk {
		return "", nil, fault.Input.New("select 1 to %s rows", count(maxBulk))
	}
	rows := words.Count(len(keys), change.noun)
	if len(keys) <= maxHits {
		more += strings.Join(keys, ", ") + ". "
	}
	q := question{
		Text: more + change.text, To: "/bulk", Back: back.RequestURI(), Button: change.Verb + " " + rows,
		Reason: change.because != nil,
	}
	q.Fields = append(fieldsOf(change.Name, keys), field{"view", q.Back})
	return change.Verb + ": " + rows + "?", q, nil
}

// unchanged is the error of a change that concerns nothing. The page that it came from says why.
type unchanged struct{ outcome }

func (u *unchanged) Error() string { return u.message }

// content returns the content of a view.
func (b bulk) content(ctx context.Context, r *http.Request, s *sample, view *url.URL) (tables, error) {
	get := r.Clone(ctx)
	get.Method, get.URL, get.Form, get.PostForm, get.Body = http.MethodGet, view, nil, nil, http.NoBody
	_, content, err := b.pages[view.Path](ctx, get, s)
	if err != nil {
		return nil, err
	}
	return content.(tables), nil
}

// keysOf returns the keys of all rows of a table, also of those on other pages.
func keysOf(of tables, name string) []string {
	for _, t := range of.tables() {
		if t.Name == name {
			return t.keys
		}
	}
	return nil
}

// fieldsOf are the fields of a form that changes rows.
func fieldsOf(change string, keys []string) []field {
	all := []field{{"change", change}}
	for _, key := range keys {
		all = append(all, field{"row", key})
	}
	return all
}

// change starts a confirmed change of rows in the background.
func (b bulk) change(ctx context.Context, r *http.Request) (outcome, error) {
	change, view, err := b.read(r)
	if err != nil {
		return outcome{}, err
	}
	if err := confirmed(r); err != nil {
		return outcome{}, err
	}
	keys, user := r.PostForm["row"], access.Of(ctx).Name
	rows, do := words.Count(len(keys), change.noun), change.do
	if change.because != nil {
		do = change.because(reasonOf(r))
	}
	access.Note(ctx, "change", change.Name, "rows", len(keys))
	one := sweep{What: change.Verb, Past: change.past, Group: rows, Noun: change.noun, Page: view.Path, Of: len(keys)}
	err = b.sweeps.start(ctx, one, func(ctx context.Context, each func(operate.Swept)) (operate.Swept, error) {
		swept := operate.Swept{Left: map[string]int{}}
		for _, key := range keys {
			if ctx.Err() != nil {
				return swept, context.Cause(ctx)
			}
			if err := do(ctx, b.o.Operate, key); err != nil {
				swept.Left[strings.ReplaceAll(err.Error(), key, "it")]++
			} else {
				swept.Done++
			}
			each(operate.Swept{Done: swept.Done, Left: maps.Clone(swept.Left)})
		}
		return swept, nil
	}, func(s sweep) {
		b.o.Log.Info("rows changed", "user", user, "what", change.Name, "done", s.Done, "left", s.left(), "err", s.Err)
		b.wakeUp()
	})
	done := outcome{message: change.Verb + " " + rows + ": started.", page: view.RequestURI()}
	if change.undo != "" {
		fields := append(fieldsOf(change.undo, keys), field{"view", done.page}, field{"confirm", "yes"})
		done.undo = []act{{Label: "Undo", Of: rows, To: "/bulk", Fields: fields}}
	}
	return done, err
}

// cancelReason is the reason of a record that a user cancels. It does not name the user, because more people see
// records than acts.
const cancelReason = "cancelled in the dashboard"

// reasonOf is the reason of a cancellation, with what the person has typed.
func reasonOf(r *http.Request) string {
	if why := strings.TrimSpace(r.PostFormValue("reason")); why != "" {
		return cancelReason + ": " + report.ShortenTo(why, 200)
	}
	return cancelReason
}

func cancelJob(reason string) rowChange {
	return func(ctx context.Context, o *operate.Operator, id string) error {
		_, err := o.Jobs.Cancel(ctx, id, reason)
		return err
	}
}

func retryJob(ctx context.Context, o *operate.Operator, id string) error {
	_, err := o.Jobs.Retry(ctx, id, job.AnyAge)
	return err
}

func discard(ctx context.Context, o *operate.Operator, id string) error {
	return o.Dead.Remove(ctx, id)
}

func hurry(ctx context.Context, o *operate.Operator, member string) error {
	return o.Delayed.Hurry(ctx, []string{member})
}

func removeLater(ctx context.Context, o *operate.Operator, member string) error {
	return o.Delayed.Remove(ctx, []string{member})
}

func postpone(ctx context.Context, o *operate.Operator, id string) error {
	return o.Delayed.Postpone(ctx, id, time.Hour)
}

// shift returns a change that moves the due time of a member.
func shift(by time.Duration) func(ctx context.Context, o *operate.Operator, member string) error {
	return func(ctx context.Context, o *operate.Operator, member string) error {
		return o.Delayed.Shift(ctx, member, by)
	}
}

func requeue(ctx context.Context, o *operate.Operator, entry string) error {
	entries, err := o.Quarantine.Find(ctx, []string{entry})
	if err != nil {
		return err
	}
	_, err = o.Quarantine.Requeue(ctx, entries[0], time.Now())
	return err
}

func removeEntry(ctx context.Context, o *operate.Operator, entry string) error {
	_, err := o.Quarantine.Remove(ctx, []string{entry})
	return err
}

func pauseAll(kind string) func(ctx context.Context, o *operate.Operator, name string) error {
	return func(ctx context.Context, o *operate.Operator, name string) error {
		_, err := o.Pauses.Pause(ctx, kind+"/"+name, operate.Terms{})
		return err
	}
}

func resumeAll(kind string) func(ctx context.Context, o *operate.Operator, name string) error {
	return func(ctx context.Context, o *operate.Operator, name string) error {
		_, _, err := o.Pauses.Resume(ctx, kind+"/"+name)
		return err
	}
}

func pauseTimer(ctx context.Context, o *operate.Operator, name string) error {
	_, err := o.Timers.Pause(ctx, name)
	return err
}

func resumeTimer(ctx context.Context, o *operate.Operator, name string) error {
	_, err := o.Timers.Resume(ctx, name)
	return err
}
