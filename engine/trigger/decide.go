package trigger

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// push is an id that a service pushed or a rebuild found, and what is known of it.
type push struct {
	items []*item // entries that carry the id; none if a rebuild found it
	id    string
	polls int64  // how often its record was polled
	trace string // traceparent of the first entry that carries it; empty: none

	record  *engine.Record // nil: no such row
	attempt int64          // of the state in Redis; 0: no state
	ended   bool           // the state is of a job that has ended
	broken  bool           // the state's key has another type
	garbled bool           // the state cannot be read
	yielded bool           // the state is of an attempt that was preempted
	turn    scripts.Turn
	report  *report.Report
	paused  bool // its report is paused

	digest     string         // of the jobs with which it may share a run; empty: none
	within     time.Duration  // maximum age of what it reuses
	parameters []byte         // of the run to start
	reuse      *scripts.Reuse // what the run takes from an earlier attempt; nil: nothing is kept
	run        engine.Run     // the run to start
	traced     job.Trace
	began      time.Time // when its entry was read
}

// ends sets the result of all entries.
func (p *push) ends(r step.Result) {
	for _, i := range p.items {
		i.ends(r.Kind, r.Err)
	}
}

// next returns the attempt with which the job starts. The attempt in Redis can be later than the
// record's if the row was replaced by another one of the same id, or reset, while the old job may
// still run. The next attempt supersedes it.
func (p *push) next() int64 { return max(p.record.Attempt, p.attempt) + 1 }

// found stores the state of the job in Redis.
func (p *push) found(attempt int64, status string) {
	p.attempt, p.ended, p.yielded = attempt, false, status == job.StatusPreempted
	p.broken, p.garbled = status == scripts.StatusBroken, status == scripts.StatusGarbled
	switch status {
	case "", scripts.StatusBroken, scripts.StatusGarbled,
		job.StatusRun, job.StatusReady, job.StatusFold, job.StatusPublishing, job.StatusFailing:
	default:
		p.ended = true
	}
}

// preempted tells whether the job was preempted in a full Redis and has not started again.
func (p *push) preempted() bool {
	return p.record.Status == report.Processing && !p.turn.Since.IsZero()
}

// outwaited tells whether a preempted job has waited for longer than its report allows.
func (p *push) outwaited() bool {
	return p.preempted() && p.report != nil && p.turn.Waited > p.report.Timeout
}

// overwritten tells whether what stands in the place of the state is not a state. No script works on
// it, so no worker can continue the job, and only its record can still be changed.
func (p *push) overwritten() bool { return p.broken || p.garbled }

// act is what to do about a push.
type act int

const (
	actStart      act = iota // start the job with the next attempt
	actIgnore                // ignore the push; an event says why
	actPollLater             // poll again after a pause
	actQuarantine            // quarantine it, with the reason
	actFail                  // fail the record, with the reason
	actPark                  // keep it until its report is resumed
)

// decision is an act with its reason.
type decision struct {
	act        act
	why        string
	parameters []byte        // of actStart: those of the record, bound
	member     job.Later     // of actPollLater: what waits
	pause      time.Duration // of actPollLater
}

// decide implements the table "What a push means", line by line. It does no I/O.
// Relative dates in parameters are computed for now.
func decide(p *push, grace time.Duration, now time.Time) decision {
	switch {
	case p.record == nil && int(p.polls) < len(report.RecordPolls):
		return p.pollLater("there is no such record yet")
	case p.record == nil:
		return decision{act: actQuarantine, why: "no record with this id was found within 31 s"}
	case p.record.ID != p.id:
		return decision{act: actQuarantine, why: fmt.Sprintf("the record's id is %q: push exactly that", p.record.ID)}
	case !p.record.Status.Known():
		return decision{act: actQuarantine, why: fmt.Sprintf("the record has the unknown status %q", p.record.Status)}
	case p.record.Status.Final():
		return decision{act: actIgnore, why: "the record is " + string(p.record.Status) +
			"; run it again with fanfold retry"}
	case p.overwritten() && p.record.Status == report.Processing:
		return decision{act: actFail, why: "another program overwrote the job's state in Redis; see fanfold quarantine"}
	case p.broken:
		return decision{act: actQuarantine, why: "the key of its state is not a hash"}
	case p.record.Status == report.Processing && p.attempt >= p.record.Attempt && !p.ended:
		return decision{act: actIgnore, why: "duplicate: attempt " + strconv.FormatInt(p.attempt, 10) + " is running"}
	case p.record.Status == report.Processing && p.record.Age < grace && !(p.yielded && p.attempt == p.record.Attempt):
		// Another trigger may be between updating the record and writing the state.
		return decision{
			act: actPollLater, why: "the record is PROCESSING and has no state yet",
			pause: grace - p.record.Age, member: job.Later{ID: p.id},
		}
	case p.paused:
		return decision{act: actPark, why: "its report " + p.record.Report + " is paused"}
	case p.outwaited() && p.turn.After != "":
		return decision{act: actFail, why: "the deadline passed while the job waited for memory in Redis: " +
			"raise maxmemory, reduce the result size, or limit the running jobs"}
	case p.preempted() && p.turn.After != "":
		return decision{
			act: actPollLater, why: "it waits for memory in Redis, after job " + p.turn.After,
			pause: p.turn.Pause(), member: job.Later{ID: p.id},
		}
	case p.report == nil && int(p.polls) < len(report.RecordPolls):
		// A process with a newer configuration may know the report.
		return p.pollLater(fmt.Sprintf("report %q is not in this configuration", p.record.Report))
	case p.report == nil:
		return decision{act: actQuarantine, why: fmt.Sprintf("report %q is not in the configuration", p.record.Report)}
	}
	if p.record.Unread != nil {
		return decision{act: actFail, why: p.record.Unread.Error()}
	}
	parameters, err := p.report.Canonical(p.record.Parameters, now)
	if err != nil {
		return decision{act: actFail, why: err.Error()}
	}
	return decision{act: actStart, parameters: parameters}
}

// pollLater polls for the record or report once more.
func (p *push) pollLater(why string) decision {
	return decision{
		act: actPollLater, why: why, pause: report.RecordPolls[p.polls],
		member: job.Later{ID: p.id, Attempt: p.polls + 1, Step: job.StepTrigger},
	}
}

// pollSoon polls again for a record that could not be started just now.
func (p *push) pollSoon() decision {
	return decision{
		act: actPollLater, why: "another session has locked the record", pause: lockedPause,
		member: job.Later{ID: p.id, Attempt: max(p.polls, 1), Step: job.StepTrigger},
	}
}

// lockedPause is the delay before a locked record is polled again.
const lockedPause = 2 * time.Second
