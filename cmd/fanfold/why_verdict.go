package main

import (
	"fmt"
	"io"
	"time"

	"github.com/fanfold/fanfold/engine"
)

// kind is what keeps a job, in a word that programs can rely on.
type kind string

// The kinds of a verdict. Those of steps are in the order in which they matter:
// the first one of a job's steps is the job's.
const (
	redisAway     kind = "redis-away"     // nothing can go on
	wrongType     kind = "wrong-type"     // another key stands where one of Fanfold's should be
	recordsAway   kind = "records-away"   // the records' database does not answer
	sourceAway    kind = "source-away"    // the database or the API of a listener does not answer
	sourceRefuses kind = "source-refuses" // the database of a listener refuses the login
	pausedKind    kind = "paused"         // somebody has paused what it waits for
	noDefinition  kind = "no-definition"  // no process has the definition that it was started with
	noScheduler   kind = "no-scheduler"   // something was due and nobody has moved it
	noWorker      kind = "no-worker"      // nobody reads the stream
	workerDead    kind = "worker-dead"    // who had it is silent
	retryWaiting  kind = "retry-waiting"  // it failed and will be tried again
	sinkFails     kind = "sink-fails"     // the file could not be made, and will be tried again
	lost          kind = "lost"           // nothing in Redis leads to it
	queued        kind = "queued"         // others are before it
	waiting       kind = "waiting"        // for somebody else, such as a vendor's job
	running       kind = "running"        // somebody works on it
	barrier       kind = "barrier"        // others are done, and it is waited for
	folding       kind = "folding"        // the file is being made
	ending        kind = "ending"         // the record gets its final status
	notPushed     kind = "not-pushed"     // nobody has pushed the id
	noRoom        kind = "no-room"        // as many jobs run as may
	starting      kind = "starting"       // the trigger has it
	delayedUntil  kind = "delayed"        // it was pushed for later
	looking       kind = "looking"        // the trigger looks for its record again
	quarantined   kind = "quarantined"    // it was put aside
	stateless     kind = "stateless"      // PROCESSING, and Redis knows nothing of it
	brokenState   kind = "broken-state"   // the key of the state is something else
	superseded    kind = "superseded"     // the record has another attempt than the state
	ended         kind = "ended"          // the record is final
	noRecord      kind = "no-record"      // no such row, and no trace of the id
	otherID       kind = "other-id"       // the database finds a row that has another id
	unknownReport kind = "unknown-report" // not in this configuration
)

// verdict is the answer to why a job is not done.
type verdict struct {
	ID       string        `json:"id"`
	Kind     kind          `json:"kind"`
	Summary  string        `json:"summary"` // one sentence
	Details  []string      `json:"details,omitempty"`
	Status   engine.Status `json:"status,omitempty"` // of the record; empty where it is not known
	Report   string        `json:"report,omitempty"`
	Attempt  int64         `json:"attempt,omitempty"`
	Job      string        `json:"job,omitempty"` // status of the state
	Stage    int64         `json:"stage,omitempty"`
	Steps    []step        `json:"steps,omitempty"`
	Upcoming []upcoming    `json:"upcoming,omitempty"` // by time
	Remedies []string      `json:"remedies,omitempty"`
	Commands []string      `json:"commands,omitempty"` // for a shell; they show the same
}

// step is a part of a job that is not done.
type step struct {
	Name   string     `json:"name"` // of the listener, or @fanin
	Kind   kind       `json:"kind"`
	Says   string     `json:"says"`
	Try    int64      `json:"try"`             // that runs, ran last, or comes next
	Tries  int        `json:"tries,omitempty"` // at most; 0: not known here, or without limit
	Owner  string     `json:"owner,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	Lease  *time.Time `json:"lease,omitempty"`
	Next   *time.Time `json:"next,omitempty"`
	Error  string     `json:"error,omitempty"` // of the last try that failed
	remedy string
}

// upcoming is something that will happen by itself.
type upcoming struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// text writes a verdict for people.
func (v verdict) text(w io.Writer, now time.Time) error {
	p := &paragraphs{w: w}
	p.line("%s", v.Summary)
	if v.Status != "" {
		p.line("  record: %s, report %s, attempt %d", v.Status, v.Report, v.Attempt)
	}
	if v.Job != "" {
		p.line("  job:    %s, stage %d", v.Job, v.Stage)
	}
	for _, d := range v.Details {
		p.line("  %s", d)
	}
	for _, s := range v.Steps {
		p.line("  %s: %s", s.Name, s.Says)
	}
	p.list("What will happen", len(v.Upcoming), func(i int) string {
		return stamp(v.Upcoming[i].At) + " (" + when(v.Upcoming[i].At, now) + "): " + v.Upcoming[i].What
	})
	p.list("What you can do", len(v.Remedies), func(i int) string { return v.Remedies[i] })
	p.list("See for yourself", len(v.Commands), func(i int) string { return v.Commands[i] })
	return p.err
}

// paragraphs writes lines and keeps the first error.
type paragraphs struct {
	w   io.Writer
	err error
}

func (p *paragraphs) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, oneLine(fmt.Sprintf(format, args...)))
	}
}

func (p *paragraphs) list(title string, n int, item func(int) string) {
	if n > 0 {
		p.line("")
		p.line("%s:", title)
	}
	for i := range n {
		p.line("  %s", item(i))
	}
}

// when says how far a time is from now.
func when(at, now time.Time) string {
	d := at.Sub(now)
	if d < 0 {
		return short(-d) + " ago"
	}
	return "in " + short(d)
}

// short is a duration that people can read.
func short(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
