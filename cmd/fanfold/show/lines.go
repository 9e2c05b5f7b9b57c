package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/watch"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/report"
)

// Lines shows jobs as one line per change, for people or as JSON.
type Lines struct {
	out    io.Writer
	json   bool
	told   map[string]string    // job, or job and listener → its last line
	rows   map[string]time.Time // listener → time of the last line with its rows
	pauses pauses
}

// rowsEvery is how often the row count of a running listener is shown.
const rowsEvery = 2 * time.Second

// NewLines returns Lines that write to a writer.
func NewLines(out io.Writer, json bool) *Lines {
	return &Lines{out: out, json: json, told: map[string]string{}, rows: map[string]time.Time{}, pauses: pauses{}}
}

// Line is one change.
type Line struct {
	At       time.Time         `json:"at"`
	ID       string            `json:"id"`
	Event    string            `json:"event"` // job, listener, ended, or the name of an event of fanfold:events
	Status   report.Status     `json:"status,omitempty"`
	Attempt  int64             `json:"attempt,omitempty"`
	Job      string            `json:"job,omitempty"` // status of the state
	Stage    int64             `json:"stage,omitempty"`
	Waits    string            `json:"waits,omitempty"` // why the job has not started
	Listener *inspect.Listener `json:"listener,omitempty"`
	File     string            `json:"file,omitempty"`
	Error    string            `json:"error,omitempty"`

	Fields map[string]string `json:"fields,omitempty"` // of an event
}

// Show implements watch.Watcher. It shows what has changed.
func (l *Lines) Show(v inspect.Job) error {
	text, now := string(v.Status), time.Now()
	if v.Attempt > 0 {
		text += fmt.Sprintf(", attempt %d", v.Attempt)
	}
	if !v.Status.Final() {
		if v.Job != "" {
			text += fmt.Sprintf(", %s, stage %d", v.Job, v.Stage)
		}
		same := text + " " + v.Waiting
		text += suffix(": ", v.Waits)
		if kind := why.Kind(v.Waiting); kind == why.KindNoRoom || kind == why.KindQueued {
			same = text // others before it start
		}
		if err := l.say(v.ID, text, same, Line{
			At: now, ID: v.ID, Event: "job", Status: v.Status, Attempt: v.Attempt,
			Job: v.Job, Stage: v.Stage, Waits: v.Waits,
		}); err != nil {
			return err
		}
	}
	for _, p := range l.pauses.changes(v) {
		of := Line{At: now, ID: v.ID, Event: "resumed", Fields: map[string]string{"what": p.what}}
		if p.paused {
			of.Event = "paused"
		}
		if err := l.write(v.ID+" "+p.says(), of); err != nil {
			return err
		}
	}
	for _, listener := range v.Listeners {
		if err := l.showListener(now, v.ID, listener); err != nil {
			return err
		}
	}
	if !v.Status.Final() {
		return nil
	}
	text += suffix(": ", About(v))
	return l.say(v.ID, text, text, Line{
		At: now, ID: v.ID, Event: "ended", Status: v.Status, Attempt: v.Attempt, File: v.File, Error: v.Error,
	})
}

// showListener shows what has changed of a listener.
func (l *Lines) showListener(now time.Time, id string, v inspect.Listener) error {
	key, text := id+" "+v.Name, v.State
	switch {
	case v.State == "waiting" && v.Next != nil:
		text = "waits until " + v.Next.Local().Format(time.TimeOnly) + suffix(": ", v.Why)
	case v.Origin(now) != "":
		text += ", " + words.Count(v.Rows, "row") + ", " + v.Origin(now)
		if l.told[key] != "" {
			return nil // its age has changed
		}
	case v.State == "running" || v.State == "done" || v.Rows > 0:
		text += ", " + words.Count(v.Rows, "row") + suffix(", ", tried(v))
	default:
		text += suffix(", ", tried(v))
	}
	same := text
	switch {
	case v.State == "waiting" && v.Next != nil && v.Waits:
		same = waitsFor + v.Why // every poll changes the time
	case v.State == "running" && v.Rows == 0 && strings.HasPrefix(l.told[key], waitsFor):
		return nil // it polls again
	case v.State == "waiting" && v.Next != nil:
		same = waitsUntil(v.Next.UnixMilli()) // which an event may have told
	case v.State == "waiting", v.State == "failed", v.State == "stopped":
		return nil
	case v.State == "running" && now.Sub(l.rows[key]) < rowsEvery && strings.HasPrefix(l.told[key], v.State):
		return nil
	case v.State == "running":
		l.rows[key] = now
	}
	return l.say(key, text, same, Line{At: now, ID: id, Event: "listener", Listener: &v})
}

// waitsFor is the beginning of a line about a listener that waits for something.
const waitsFor = "waits for "

func waitsUntil(ms int64) string { return "waits until " + strconv.FormatInt(ms, 10) }

// Event implements watch.Watcher. It shows what Show does not.
func (l *Lines) Event(e watch.Event) error {
	f := maps.Clone(e.Fields)
	delete(f, "id")
	delete(f, "event")
	of := Line{At: e.At, ID: e.ID, Event: e.Name, Fields: maps.Clone(f)}
	key, text := e.ID+" "+f["step"], ""
	next, err := strconv.ParseInt(f["next"], 10, 64)
	if err == nil {
		f["next"] = time.UnixMilli(next).Local().Format(time.TimeOnly)
	}
	switch e.Name {
	case "started", "stage", "done", "publishing", "finished":
		return nil // Show shows these
	case "retry":
		if err == nil {
			l.told[key] = waitsUntil(next)
		}
		text = fmt.Sprintf("%s failed, next try at %s: %s", f["step"], f["next"], f["error"])
		if f["counts"] != "1" {
			text = fmt.Sprintf("%s is retried at %s, which does not count as a try%s",
				f["step"], f["next"], suffix(": ", f["error"]))
		}
	case "waits":
		if l.told[key] == waitsFor+f["for"] {
			return nil
		}
		l.told[key] = waitsFor + f["for"]
		text = fmt.Sprintf("%s waits until %s for %s", f["step"], f["next"], f["for"])
	case "omitted":
		text = fmt.Sprintf("%s was given up (%s): %s", f["listener"], f["policy"], f["reason"])
	case "stale":
		text = fmt.Sprintf("%s has failed, and older data of it is used: %s", f["listener"], f["reason"])
	case "failing":
		text = "will fail: " + f["reason"]
		if f["by"] == "@cancel" {
			text = "will be cancelled: " + f["reason"]
		}
	case "refused":
		text = fmt.Sprintf("%s: an entry of worker %s was refused: %s", f["listener"], f["worker"], f["reason"])
	case "ignored":
		text = "a push had no effect: " + f["reason"]
	default:
		delete(f, "attempt")
		text = e.Name
		for _, name := range slices.Sorted(maps.Keys(f)) {
			text += fmt.Sprintf(" %s=%q", name, f[name])
		}
	}
	return l.write(e.ID+" "+text, of)
}

// say writes a line unless it repeats the last one.
func (l *Lines) say(key, text, same string, of Line) error {
	if l.told[key] == same {
		return nil
	}
	l.told[key] = same
	return l.write(key+" "+text, of)
}

func (l *Lines) write(text string, of Line) error {
	if l.json {
		return json.NewEncoder(l.out).Encode(of)
	}
	at := cmp.Or(of.At, time.Now())
	_, err := fmt.Fprintln(l.out, at.Local().Format(time.TimeOnly), printable(text))
	return err
}

// pauses has the pauses that were shown for every job.
type pauses map[string][]string

// pauseChange is a pause that a job now waits for, or no longer waits for.
type pauseChange struct {
	what   string // report/<name> or listener/<name>
	paused bool
}

// changes returns the changes since the last call for a job. A job that has ended without a file was
// not resumed.
func (p pauses) changes(v inspect.Job) (list []pauseChange) {
	before := p[v.ID]
	for _, what := range before {
		if (!v.Status.Final() || v.Status.HasFile()) && !slices.Contains(v.Paused, what) {
			list = append(list, pauseChange{what: what})
		}
	}
	for _, what := range v.Paused {
		if !slices.Contains(before, what) {
			list = append(list, pauseChange{what: what, paused: true})
		}
	}
	p[v.ID] = v.Paused
	return list
}

func (p pauseChange) says() string {
	if p.paused {
		return "waits: " + p.what + " is paused, until fanfold resume " + strings.Replace(p.what, "/", " ", 1)
	}
	return "continues: " + p.what + " was resumed"
}

// tried returns the number of a try, unless it is the first.
func tried(v inspect.Listener) string {
	if v.Tries < 2 {
		return ""
	}
	return "try " + strconv.FormatInt(v.Tries, 10)
}

func suffix(between, text string) string {
	if text == "" {
		return ""
	}
	return between + text
}

// printable returns a foreign text as one line without control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// About returns the file, the error, or both.
func About(v inspect.Job) string {
	if v.File != "" && v.Error != "" {
		return v.File + " (" + v.Error + ")"
	}
	return v.File + v.Error
}
