package engine

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// push is one id that a service pushed, or that a rebuild found, and what is known of it.
type push struct {
	entries []string       // that carry it; none if a rebuild found it
	results []*step.Result // of the entries
	id      string
	look    int64  // how often its record was polled
	trace   string // traceparent of the first entry that carries it; empty: none

	record  *Record // nil: no such row
	attempt int64   // of the state in Redis; 0: there is none, or the record is final
	ended   bool    // that state is of a job that has ended
	broken  bool    // the key of the state is something else
	report  *report.Report
	paused  bool // its report is

	run    Run // that is started
	traced job.Trace
	began  time.Time // when its entry was read
}

// ends says what came of the entries.
func (p *push) ends(r step.Result) {
	for _, result := range p.results {
		*result = r
	}
}

// next is the attempt with which its job starts. The one in Redis can be later than the
// record's: its row was replaced by another one of the same id, or set back, while the
// job of that one may still run. Then this attempt supersedes it.
func (p push) next() int64 { return max(p.record.Attempt, p.attempt) + 1 }

// found notes what Redis has of the job.
func (p *push) found(attempt int64, status string) {
	p.attempt, p.broken, p.ended = attempt, status == scripts.StatusBroken, false
	switch status {
	case "", scripts.StatusBroken, job.StatusRun, job.StatusReady, job.StatusFold, job.StatusPublishing, job.StatusFailing:
	default:
		p.ended = true
	}
}

// act is what is done about a push.
type act int

const (
	actStart      act = iota // with the next attempt
	actIgnore                // an event says why
	actLookLater             // after a pause
	actQuarantine            // with the reason
	actFail                  // the record, with the reason
	actPark                  // until its report is resumed
)

// decision is an act with its reason, and for actLookLater the pause.
type decision struct {
	act    act
	why    string
	member job.Later
	pause  time.Duration
}

// decide is the table "What a push means", line by line. It needs no server.
func decide(p push, grace time.Duration) decision {
	switch {
	case p.record == nil && int(p.look) < len(report.RecordPolls):
		return p.lookLater("there is no such record yet")
	case p.record == nil:
		return decision{act: actQuarantine, why: "there is no record with this id, after looking for it for 31 s"}
	case p.record.ID != p.id:
		return decision{act: actQuarantine, why: fmt.Sprintf("the record's id is %q: push exactly that", p.record.ID)}
	case !p.record.Status.Known():
		return decision{act: actQuarantine, why: fmt.Sprintf("the record has the unknown status %q", p.record.Status)}
	case p.record.Status.Final():
		return decision{act: actIgnore, why: "the record is " + string(p.record.Status) + "; run it again with fanfold retry"}
	case p.broken:
		return decision{act: actQuarantine, why: "the key of its state is not a hash"}
	case p.record.Status == report.Processing && p.attempt >= p.record.Attempt && !p.ended:
		return decision{act: actIgnore, why: "duplicate: attempt " + strconv.FormatInt(p.attempt, 10) + " is running"}
	case p.record.Status == report.Processing && p.record.Age < grace:
		// Another trigger may be between the record and the state right now.
		return decision{
			act: actLookLater, why: "the record is PROCESSING and has no state yet",
			pause: grace - p.record.Age, member: job.Later{ID: p.id},
		}
	case p.paused:
		return decision{act: actPark, why: "its report " + p.record.Report + " is paused"}
	case p.report == nil && int(p.look) < len(report.RecordPolls):
		// A process with a newer configuration may know it.
		return p.lookLater(fmt.Sprintf("report %q is not in this configuration", p.record.Report))
	case p.report == nil:
		return decision{act: actQuarantine, why: fmt.Sprintf("report %q is not in the configuration", p.record.Report)}
	}
	if p.record.Unread != nil {
		return decision{act: actFail, why: Reason(p.record.Unread)}
	}
	if _, err := p.report.Bind(p.record.Parameters); err != nil {
		return decision{act: actFail, why: Reason(err)}
	}
	return decision{act: actStart}
}

// lookLater polls once more for what a push needs.
func (p push) lookLater(why string) decision {
	return decision{
		act: actLookLater, why: why, pause: report.RecordPolls[p.look],
		member: job.Later{ID: p.id, Attempt: p.look + 1, Step: job.StepTrigger},
	}
}

// lookSoon polls again a record that could not be started just now.
func (p push) lookSoon() decision {
	return decision{
		act: actLookLater, why: "another session has locked the record", pause: lockedPause,
		member: job.Later{ID: p.id, Attempt: max(p.look, 1), Step: job.StepTrigger},
	}
}

// lockedPause is how long it takes until a record is looked at again that somebody has
// locked.
const lockedPause = 2 * time.Second
