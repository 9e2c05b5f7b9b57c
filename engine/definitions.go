package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bsm/redislock"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// AdoptHint is what helps a job whose definition no process has.
const AdoptHint = "start a process that has it, or start their next attempts with today's definition: fanfold adopt --report "

// orphansEvery is the time between two passes over the definitions of running jobs. A
// longer gap means that Redis may have been away, and processes could not announce theirs.
const (
	orphansEvery = 4 * time.Second
	orphansGap   = scripts.DefinitionSilence - scripts.AnnounceEvery
)

// findOrphans finds running jobs whose definition no process has, until ctx ends.
func (e *Engine) findOrphans(ctx context.Context) error {
	d := &definitions{e: e, locks: e.o.Scripts.Locker(), said: map[string]bool{}}
	return step.Every(ctx, e.log, orphansEvery, "find jobs whose definition no process has", d.look)
}

// definitions is what that loop remembers.
type definitions struct {
	e      *Engine
	locks  *redislock.Client
	looked time.Time       // by Redis's clock; zero: not yet
	since  time.Time       // since when it looks without a gap, so that others could announce theirs
	said   map[string]bool // definitions of which it is logged that no process has them
}

func (d *definitions) look(ctx context.Context) error {
	now, err := d.e.o.Scripts.Definitions.Now(ctx)
	if err != nil {
		return err
	}
	if now.Sub(d.looked) > orphansGap {
		d.since = now
	}
	d.looked = now
	// One process polls for all, and its lock ends with the interval.
	_, err = d.locks.Obtain(ctx, d.e.o.Scripts.Keys.Lock("definitions"), orphansEvery*9/10, nil)
	if errors.Is(err, redislock.ErrNotObtained) || now.Sub(d.since) < scripts.DefinitionSilence {
		return nil // another one polls, or some may not have said yet what they have
	} else if err != nil {
		return err
	}
	orphans, _, err := d.e.o.Scripts.Definitions.Orphans(ctx)
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
	for member := range d.said {
		if len(jobs[member]) == 0 {
			delete(d.said, member)
		}
	}
	for member, list := range jobs {
		d.say(member, list)
		if err := d.adopt(ctx, list); err != nil {
			return err
		}
	}
	if len(wanted) > 0 {
		return d.e.o.Scripts.Definitions.NoteWanted(ctx, wanted)
	}
	return nil
}

// say logs once for each definition that no process has it.
func (d *definitions) say(member string, jobs []scripts.Orphan) {
	if d.said[member] {
		return
	}
	d.said[member] = true
	first := jobs[0]
	d.e.log.Warn("no process has the definition of running jobs", "report", first.Report, "definition", first.Definition,
		"jobs", len(jobs), "first", first.ID, "hint", AdoptHint+first.Report)
}

// adopt starts jobs of reports with on_change: restart anew, once no process has had
// their definition for the grace time, all of which this process could have heard.
func (d *definitions) adopt(ctx context.Context, jobs []scripts.Orphan) error {
	r := d.e.o.Reports[jobs[0].Report]
	if r == nil || !r.RestartOnChange {
		return nil
	}
	gone := jobs[0].Last
	if gone.Before(d.since) {
		gone = d.since
	}
	if d.looked.Sub(gone) < max(d.e.o.Limits.Grace, scripts.DefinitionSilence) {
		return nil
	}
	for _, o := range jobs {
		records, err := d.e.o.Records.Read(ctx, []string{o.ID})
		if err != nil {
			return err
		}
		record, ok := records[o.ID]
		if !ok || record.ID != o.ID || record.Status != report.Processing || record.Attempt != o.Attempt {
			continue // it ends by itself
		}
		ok, err = Adopt(ctx, d.e.o.Records, d.e.o.Scripts, r, record)
		switch {
		case errors.Is(err, ErrNotAdopted):
			d.e.log.Debug("not adopted", "job", o.ID, "err", err)
		case ok && err != nil: // it started in the table of the records
			d.e.log.Warn("not started in Redis", "job", o.ID, "err", err)
		case err != nil:
			return err
		case ok:
			d.e.log.Warn("started anew: no process had its definition", "job", o.ID, "attempt", o.Attempt+1, "report", r.Name,
				"definition", o.Definition, "for", d.looked.Sub(gone).Round(time.Second))
		}
	}
	return nil
}

// ErrNotAdopted is returned by Adopt where the report cannot run with the record.
var ErrNotAdopted = errors.New("engine: not started anew")

// Adopt starts the next attempt of a PROCESSING record with a report's definition of
// now, although its job runs. It is false where the record has another attempt by now,
// or is not PROCESSING any more: of two calls one starts it. What the attempt before
// does from now on has no effect. Where it ends in the middle, the rebuild starts one
// more attempt after the grace time.
func Adopt(ctx context.Context, records Records, s *scripts.Scripts, r *report.Report, record Record) (bool, error) {
	if record.Unread != nil {
		return false, fmt.Errorf("%w: %w", ErrNotAdopted, record.Unread)
	}
	parameters, err := r.Canonical(record.Parameters)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrNotAdopted, err)
	}
	epoch, err := s.Epoch.Read(ctx)
	if err != nil {
		return false, err
	} else if epoch == "" {
		return false, fmt.Errorf("%w: Redis has no %s: start fanfold serve", ErrNotAdopted, s.Keys.Epoch())
	}
	started, err := records.Start(ctx, []Run{{ID: record.ID, Attempt: record.Attempt}})
	if err != nil || !started[0] {
		return false, err
	}
	ctx, cancel := step.Lasting(ctx)
	defer cancel()
	outcomes, err := s.Jobs.Start(ctx, epoch, scripts.Start{ID: record.ID, Attempt: record.Attempt + 1, Parameters: parameters, Plan: planOf(r, r.Hash())})
	switch {
	case err == nil && outcomes[0] == scripts.Gone:
		err = errForgotten
	case err == nil && outcomes[0] == scripts.Broken:
		err = fmt.Errorf("%w: %s", scripts.ErrBroken, s.Keys.Job(record.ID))
	case err == nil && outcomes[0] == scripts.Another:
		err = errors.New("another job of this id has come to Redis meanwhile")
	}
	if err != nil {
		return true, fmt.Errorf("start attempt %d of record %s: %w; the rebuild starts it after limits.grace", record.Attempt+1, record.ID, err)
	}
	return true, nil
}

// planOf is what starts the jobs of a report.
func planOf(r *report.Report, hash string) scripts.Plan {
	return scripts.Plan{Report: r.Name, Definition: hash, Timeout: r.Timeout, Listeners: strings.Join(names(r.Stages[0]), ","), Waits: r.DeadlineWaits}
}
