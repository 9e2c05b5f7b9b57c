package trigger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/quiet"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// AdoptHint is the remedy for a job whose definition no process has.
const AdoptHint = "start a process that has it, or restart the jobs with the current definition: " +
	"fanfold adopt --report "

// orphansEvery is the time between two passes over the definitions of running jobs. A gap above
// orphansGap means that Redis may have been down, so that processes could not announce their
// definitions.
const (
	orphansEvery = 4 * time.Second
	orphansGap   = scripts.DefinitionTimeout - scripts.AnnounceEvery
)

// findOrphans finds running jobs whose definition no process has, until ctx ends.
func findOrphans(ctx context.Context, e *engine.Engine) error {
	d := &definitions{Engine: e, logged: map[string]bool{}}
	return step.Every(ctx, e.Log, orphansEvery, "find jobs whose definition no process has", d.poll)
}

// definitions is the state of that loop.
type definitions struct {
	*engine.Engine
	polled time.Time       // last poll, by Redis's clock; zero: none
	since  time.Time       // start of polling without a gap, during which others could announce
	logged map[string]bool // definitions that were logged as missing
}

func (d *definitions) poll(ctx context.Context) error {
	now, err := d.Scripts.Definitions.Now(ctx)
	if err != nil {
		return err
	}
	if now.Sub(d.polled) > orphansGap {
		d.since = now
	}
	d.polled = now
	// One process polls for all; its lock expires with the interval.
	ok, err := d.Scripts.TryLock(ctx, "definitions", orphansEvery*9/10)
	if !ok || now.Sub(d.since) < scripts.DefinitionTimeout {
		return err // another process polls, or some may not have announced their definitions yet
	}
	orphans, _, err := d.Scripts.Definitions.Orphans(ctx)
	if err != nil {
		return err
	}
	jobs := map[string][]scripts.Orphan{}
	var wanted []string
	for _, o := range orphans {
		if o.Last.IsZero() {
			wanted = append(wanted, o.Member())
			continue
		}
		jobs[o.Member()] = append(jobs[o.Member()], o)
	}
	for member := range d.logged {
		if len(jobs[member]) == 0 {
			delete(d.logged, member)
		}
	}
	for member, list := range jobs {
		d.log(member, list)
		if err := d.adopt(ctx, list); err != nil {
			return err
		}
	}
	if len(wanted) > 0 {
		return d.Scripts.Definitions.NoteWanted(ctx, wanted)
	}
	return nil
}

// log logs every missing definition once.
func (d *definitions) log(member string, jobs []scripts.Orphan) {
	if d.logged[member] {
		return
	}
	d.logged[member] = true
	first := jobs[0]
	hint := AdoptHint + first.Report
	if r := d.Reports[first.Report]; r != nil && !r.WaitOnChange {
		hint = "they start anew with the current definition after limits.recover_after, unless a process with theirs starts before"
	}
	d.Log.Warn("no process has the definition of running jobs", "report", first.Report, "definition", first.Definition,
		"jobs", len(jobs), "first", quiet.Varies(first.ID), "hint", hint)
}

// adopt restarts jobs, except those of reports with on_change: wait. It waits until no process has announced
// their definition for the grace time, during all of which this process was polling.
func (d *definitions) adopt(ctx context.Context, jobs []scripts.Orphan) error {
	r := d.Reports[jobs[0].Report]
	if r == nil || r.WaitOnChange {
		return nil
	}
	gone := jobs[0].Last
	if gone.Before(d.since) {
		gone = d.since
	}
	if d.polled.Sub(gone) < max(d.Limits.RecoverAfter, scripts.DefinitionTimeout) {
		return nil
	}
	for _, o := range jobs {
		records, err := d.Records.Read(ctx, []string{o.ID})
		if err != nil {
			return err
		}
		record, ok := records[o.ID]
		if !ok || record.ID != o.ID || record.Status != report.Processing || record.Attempt != o.Attempt {
			continue // the job ends on its own
		}
		ok, err = Adopt(ctx, d.Records, d.Scripts, r, record)
		switch {
		case errors.Is(err, ErrNotAdopted):
			d.Log.Debug("did not restart the job with the current definition", "job", o.ID, "err", err)
		case ok && err != nil: // the record has the next attempt, Redis does not
			d.Log.Warn("could not start the job in Redis; the rebuild will", "job", o.ID, "err", err)
		case err != nil:
			return err
		case ok:
			d.Log.Warn("restarted the job with the current definition: no process had its own",
				"job", o.ID, "attempt", o.Attempt+1, "report", r.Name, "definition", o.Definition, "for",
				d.polled.Sub(gone).Round(time.Second))
		}
	}
	return nil
}

// ErrNotAdopted is returned by Adopt if the report cannot run with the record.
var ErrNotAdopted = fault.Refused.New("not restarted")

// Adopt starts the next attempt of a PROCESSING record with the current definition of a report,
// even if its job is running; the running attempt then has no further effect. Adopt returns false
// if the record has another attempt by now or is no longer PROCESSING, so of two concurrent calls
// one starts it. If Adopt is interrupted, the rebuild starts one more attempt after the grace time.
func Adopt(
	ctx context.Context, records engine.Records, s *scripts.Scripts, r *report.Report, record engine.Record,
) (bool, error) {
	if record.Unread != nil {
		return false, fmt.Errorf("%w: %w", ErrNotAdopted, record.Unread)
	}
	parameters, err := r.Canonical(record.Parameters, time.Now())
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrNotAdopted, err)
	}
	epoch, err := s.Epoch.Read(ctx)
	if err != nil {
		return false, err
	} else if epoch == "" {
		return false, fmt.Errorf("%w: Redis has no %s: start fanfold serve", ErrNotAdopted, s.Keys.Epoch)
	}
	started, err := records.Start(ctx, []engine.Run{{ID: record.ID, Attempt: record.Attempt}})
	if err != nil || !started[0] {
		return false, err
	}
	ctx, cancel := step.Lasting(ctx)
	defer cancel()
	outcomes, err := s.Jobs.Start(ctx, epoch, scripts.Start{
		ID: record.ID, Attempt: record.Attempt + 1, Parameters: parameters, Plan: planOf(r, r.Hash()),
	})
	if err == nil {
		err = startError(outcomes[0], s.Keys.Job(record.ID))
	}
	if err != nil {
		return true, fmt.Errorf("start attempt %d of record %s: %w; the rebuild starts it after limits.recover_after",
			record.Attempt+1, record.ID, err)
	}
	return true, nil
}

// planOf returns the plan with which jobs of a report start.
func planOf(r *report.Report, hash string) scripts.Plan {
	return scripts.Plan{
		Report: r.Name, Definition: hash, Timeout: r.Timeout, Keep: job.KeepOf(r).String(),
		Listeners: strings.Join(r.Stages[0].Names(), ","), Waits: r.DeadlineWaits,
	}
}
