package main

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
	"github.com/fanfold/fanfold/report"
)

// lines shows jobs as a line for each change: for people, or as JSON.
type lines struct {
	out  io.Writer
	json bool
	told map[string]string // job, or job and listener → what was said last
	rows map[string]time.Time

	pauses pauses
}

// rowsEvery is how often it is said how many rows a listener has so far.
const rowsEvery = 2 * time.Second

func newLines(out io.Writer, json bool) *lines {
	return &lines{out: out, json: json, told: map[string]string{}, rows: map[string]time.Time{}, pauses: pauses{}}
}

// line is one change.
type line struct {
	At       time.Time         `json:"at"`
	ID       string            `json:"id"`
	Event    string            `json:"event"` // job, listener, ended, or what fanfold:events calls it
	Status   report.Status     `json:"status,omitempty"`
	Attempt  int64             `json:"attempt,omitempty"`
	Job      string            `json:"job,omitempty"` // status of the state
	Stage    int64             `json:"stage,omitempty"`
	Listener *inspect.Listener `json:"listener,omitempty"`
	File     string            `json:"file,omitempty"`
	Error    string            `json:"error,omitempty"`

	Fields map[string]string `json:"fields,omitempty"` // of an event
}

// look says what is another than before.
func (l *lines) Look(v inspect.Job) error {
	now := time.Now()
	if !v.Status.Final() {
		text := string(v.Status)
		if v.Attempt > 0 {
			text += fmt.Sprintf(", attempt %d", v.Attempt)
		}
		if v.Job != "" {
			text += fmt.Sprintf(", %s, stage %d", v.Job, v.Stage)
		}
		if err := l.say(v.ID, text, text, line{At: now, ID: v.ID, Event: "job", Status: v.Status, Attempt: v.Attempt, Job: v.Job, Stage: v.Stage}); err != nil {
			return err
		}
	}
	for _, p := range l.pauses.changes(v) {
		of := line{At: now, ID: v.ID, Event: "resumed", Fields: map[string]string{"what": p.what}}
		if p.paused {
			of.Event = "paused"
		}
		if err := l.write(v.ID+" "+p.says(), of); err != nil {
			return err
		}
	}
	for _, listener := range v.Listeners {
		if err := l.lookAt(now, v.ID, listener); err != nil {
			return err
		}
	}
	if !v.Status.Final() {
		return nil
	}
	text := string(v.Status)
	if v.Attempt > 0 {
		text += fmt.Sprintf(", attempt %d", v.Attempt)
	}
	text += suffix(": ", about(v))
	return l.say(v.ID, text, text, line{At: now, ID: v.ID, Event: "ended", Status: v.Status, Attempt: v.Attempt, File: v.File, Error: v.Error})
}

// lookAt says what is another than before of a listener.
func (l *lines) lookAt(now time.Time, id string, v inspect.Listener) error {
	key, text := id+" "+v.Name, says(v)
	same := text
	switch {
	case v.State == "waiting" && v.Next != nil && v.Waits:
		same = waitsFor + v.Why // until when changes with each look
	case v.State == "running" && v.Rows == 0 && strings.HasPrefix(l.told[key], waitsFor):
		return nil // it looks again at what it waits for
	case v.State == "waiting" && v.Next != nil:
		same = waitsUntil(v.Next.UnixMilli()) // which an event may have told
	case v.State == "waiting", v.State == "stopped":
		return nil
	case v.State == "running" && now.Sub(l.rows[key]) < rowsEvery && strings.HasPrefix(l.told[key], v.State):
		return nil
	case v.State == "running":
		l.rows[key] = now
	}
	return l.say(key, text, same, line{At: now, ID: id, Event: "listener", Listener: &v})
}

// waitsFor begins what was told of a listener that waits for something.
const waitsFor = "waits for "

func waitsUntil(ms int64) string { return "waits until " + strconv.FormatInt(ms, 10) }

func suffix(between, text string) string {
	if text == "" {
		return ""
	}
	return between + text
}

// says is the listener's part of a line.
func says(v inspect.Listener) string {
	text := v.State
	switch {
	case v.State == "waiting" && v.Next != nil:
		return "waits until " + v.Next.Local().Format(time.TimeOnly) + suffix(": ", v.Why)
	case v.State == "running" || v.Rows > 0:
		text += fmt.Sprintf(", %d rows", v.Rows)
	case v.State == "done":
		text += ", 0 rows"
	}
	return text + suffix(", ", tried(v))
}

// tried says which try it is, where that is not the first.
func tried(v inspect.Listener) string {
	if v.Tries < 2 {
		return ""
	}
	return "try " + strconv.FormatInt(v.Tries, 10)
}

// toldByLook are events of which look says as much, or more.
var toldByLook = map[string]bool{"started": true, "stage": true, "done": true, "publishing": true, "finished": true}

// event says what a look does not.
func (l *lines) Event(e inspect.Event) error {
	if toldByLook[e.Name] {
		return nil
	}
	fields := maps.Clone(e.Fields)
	for _, name := range []string{"id", "event"} {
		delete(fields, name)
	}
	next, err := strconv.ParseInt(fields["next"], 10, 64)
	switch key := e.ID + " " + fields["step"]; {
	case e.Name == "waits" && l.told[key] == waitsFor+fields["for"]:
		return nil
	case e.Name == "waits":
		l.told[key] = waitsFor + fields["for"]
	case err == nil && e.Name == "retry":
		l.told[key] = waitsUntil(next)
	}
	written := line{At: e.At, ID: e.ID, Event: e.Name, Fields: fields}
	if l.json {
		return l.write("", written)
	}
	if err == nil {
		fields["next"] = time.UnixMilli(next).Local().Format(time.TimeOnly)
	}
	var text string
	switch e.Name {
	case "retry":
		text = fmt.Sprintf("%s failed, next try at %s: %s", fields["step"], fields["next"], fields["error"])
		if fields["counts"] != "1" {
			text = fmt.Sprintf("%s comes again at %s, which uses no try%s", fields["step"], fields["next"], suffix(": ", fields["error"]))
		}
	case "waits":
		text = fmt.Sprintf("%s waits until %s for %s", fields["step"], fields["next"], fields["for"])
	case "omitted":
		text = fmt.Sprintf("%s was given up (%s): %s", fields["listener"], fields["policy"], fields["reason"])
	case "failing":
		text = "is to fail: " + fields["reason"]
		if fields["by"] == "@cancel" {
			text = "is to be cancelled: " + fields["reason"]
		}
	case "refused":
		text = fmt.Sprintf("%s: an entry of worker %s was refused: %s", fields["listener"], fields["worker"], fields["reason"])
	case "ignored":
		text = "a push had no effect: " + fields["reason"]
	default:
		delete(fields, "attempt")
		text = e.Name
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			text += fmt.Sprintf(" %s=%q", name, fields[name])
		}
	}
	return l.write(e.ID+" "+text, written)
}

// say writes a line unless the same was said last.
func (l *lines) say(key, text, same string, of line) error {
	if l.told[key] == same {
		return nil
	}
	l.told[key] = same
	return l.write(key+" "+text, of)
}

func (l *lines) write(text string, of line) error {
	if l.json {
		return json.NewEncoder(l.out).Encode(of)
	}
	at := cmp.Or(of.At, time.Now())
	_, err := fmt.Fprintln(l.out, at.Local().Format(time.TimeOnly), printable(text))
	return err
}

// printable is a text of foreign hands as one line, without what a terminal would do.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
