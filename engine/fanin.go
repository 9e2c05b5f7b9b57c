package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/internal/stream"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// fanIn handles one entry of the fan-in stream: a job whose barrier was reached,
// or that is to end.
func (e *Engine) fanIn(ctx context.Context, entry stream.Entry) {
	from := e.o.Scripts.FanIn()
	id := entry.Fields["id"]
	attempt, err := strconv.ParseInt(entry.Fields["attempt"], 10, 64)
	if !report.ValidID(id) || err != nil || attempt < 1 {
		e.quarantine(ctx, from, entry, "not a job: id and attempt are needed")
		return
	}
	stage, _ := strconv.ParseInt(entry.Fields["stage"], 10, 64)
	bytes, _ := strconv.ParseInt(entry.Fields["bytes"], 10, 64)
	var outcome scripts.Outcome
	var state *scripts.State
	worker := e.o.Consumer + "/" + strconv.FormatInt(e.claims.Add(1), 10)
	if err := e.insist(ctx, "claim job", func() (err error) {
		outcome, state, err = e.o.Scripts.Claim(ctx, scripts.Claim{
			ID: id, Attempt: attempt, Stage: stage,
			Worker: worker, Lease: e.o.Limits.Lease, Known: e.known, Bytes: bytes,
		})
		return err
	}); err != nil {
		if errors.Is(err, scripts.ErrBroken) {
			e.quarantine(ctx, from, entry, err.Error())
		}
		return
	}
	log := e.log.With("job", id, "attempt", attempt)
	acknowledged := false
	switch outcome {
	case scripts.OK, scripts.ToFail:
		message := scripts.Entry{Stream: from, Group: scripts.Group, Consumer: e.o.Consumer, ID: entry.ID}
		state.Entry = message
		held, stop := e.holds.Keep(ctx, id, e.o.Limits.Lease, func(ctx context.Context) (bool, error) {
			kept, err := e.o.Scripts.KeepFold(ctx, state, e.o.Limits.Lease, message)
			return kept == scripts.OK, err
		})
		if outcome == scripts.OK {
			err = e.forward(held, state)
		} else {
			err = e.finishFailed(held, state)
		}
		if err != nil && !errors.Is(err, errElsewhere) && !errors.Is(context.Cause(held), stream.ErrLost) {
			err = e.giveUp(held, state, err)
		}
		stop()
		acknowledged = state.Entry.ID == ""
	case scripts.Unknown:
		err = e.handBack(ctx, id, attempt)
	case scripts.Gone:
		if report := entry.Fields["report"]; report != "" {
			e.ended.note(report, id, attempt) // cancelled without a job
		}
	case scripts.Busy:
		return // its worker may die: the entry comes again
	case scripts.Already:
		if state != nil {
			err = e.insist(ctx, "send again", func() error { return e.o.Scripts.Resend(ctx, state) })
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			log.Warn("left for later", "err", err)
		}
		return
	}
	if !acknowledged {
		e.ack(ctx, from, entry.ID)
	}
}

// handBack leaves a job to a process that has its definition. One that was
// published and whose record is final needs none: it is ended here, since the
// process that made its file may have been the last of its version.
func (e *Engine) handBack(ctx context.Context, id string, attempt int64) error {
	state, err := e.o.Scripts.Read(ctx, id)
	if err == nil && state.Attempt == attempt && state.Status == scripts.StatusPublishing {
		f, err := e.foreign(ctx, state)
		if err != nil {
			return err
		}
		if !f.running {
			_, claimed, err := e.o.Scripts.Claim(ctx, scripts.Claim{
				ID: id, Attempt: attempt, Worker: e.o.Consumer, Lease: e.o.Limits.Lease, Known: []string{state.Definition},
			})
			if err != nil || claimed == nil {
				return errors.Join(errElsewhere, err)
			}
			return e.finishForeign(ctx, claimed, true)
		}
	}
	if state != nil {
		if _, said := e.handed.LoadOrStore(state.Definition, true); !said {
			e.log.Info("jobs are handed back: their definition is not in this configuration", "report", state.Report, "definition", state.Definition, "first", id)
		}
	}
	return e.insist(ctx, "hand back", func() error {
		return e.o.Scripts.HandBack(ctx, id, attempt, scripts.StepFanIn)
	})
}

// errElsewhere ends work on a job that is not, or no longer, this claim's.
var errElsewhere = errors.New("engine: the job is claimed elsewhere")

// finally runs the last script for an entry, after which it is acknowledged. Where
// another claim has the job, it is errElsewhere: that worker has the same entry,
// and may die.
func (e *Engine) finally(ctx context.Context, what string, script func() (scripts.Outcome, error)) error {
	var outcome scripts.Outcome
	err := e.insist(ctx, what, func() (err error) {
		if outcome, err = script(); errors.Is(err, scripts.ErrFull) {
			// Waiting here would keep others from ending, who make room.
			return stream.Final(err)
		}
		return err
	})
	if err == nil && outcome == scripts.Busy {
		return errElsewhere
	}
	return err
}

// forward sends a claimed job into its next stage, or makes its file.
func (e *Engine) forward(ctx context.Context, state *scripts.State) error {
	r := e.definitions[state.Definition]
	if state.Status != scripts.StatusPublishing && state.Fold.Tries > int64(r.Retry.Retries)+1 {
		// None of its workers lived to say why.
		return e.fail(ctx, state, fmt.Sprintf("fan-in: given up after %d tries: %s", state.Fold.Tries-1, state.Fold.Error), false)
	}
	if int(state.Stage) >= len(r.Stages) {
		return e.fold(ctx, r, state)
	}
	return e.finally(ctx, "advance job", func() (scripts.Outcome, error) {
		return e.o.Scripts.Advance(ctx, state, names(r.Stages[state.Stage]))
	})
}
