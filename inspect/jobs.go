package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// Jobs are the records and the states of their jobs.
type Jobs struct{ o *Options }

// historyTime bounds the read of what an ended job did.
const historyTime = time.Second

// Get reads a record and the state of its job. It returns engine.ErrNoRecord if the row does not
// exist.
func (j Jobs) Get(ctx context.Context, id string) (Job, error) {
	r, err := j.Record(ctx, id)
	if err != nil {
		return Job{}, err
	}
	v := OfRecord(r)
	if !v.Status.HasFile() {
		v.File = "" // of an earlier attempt
	}
	state, err := j.State(ctx, id)
	if err != nil {
		return v, err
	}
	if r.Status == report.Failed || r.Status == report.Cancelled {
		if v.Kept, err = j.Kept(ctx, r, job.AnyAge); err != nil {
			return v, err
		}
	}
	if !r.Status.Final() {
		found, err := j.o.Scripts.Of(id).Gate.Holds(ctx)
		if err != nil {
			return v, err
		}
		pauses := Pauses{j.o}
		v.Paused = state.pausedBy(found, r.Report, j.o.Config.Reports[r.Report])
		for _, what := range v.Paused {
			v.Pauses = append(v.Pauses, pauses.Text(pauses.Of(what, found[what])))
		}
	}
	if v.Status == report.Pending {
		if v.SharedWith, err = j.Leader(ctx, r); err != nil {
			v.Unread = "whether an equal job makes its file: " + err.Error()
		}
		at, err := j.o.Scripts.Of(id).Lanes.Place(ctx, id)
		if err != nil {
			return v, err
		}
		if at != nil {
			v.Turn = &Turn{at.Class, at.Lane, at.Before, at.Queue, at.Running}
		}
	}
	if r.Status.Final() {
		short, cancel := context.WithTimeout(ctx, historyTime)
		h, err := j.o.Records.History(short, id, r.Attempt)
		cancel()
		switch {
		case err != nil && ctx.Err() == nil: // the record and its file can be read
			v.Unread = "what the job did: " + err.Error()
		case err != nil:
			return v, err
		case h != nil && h.Status == r.Status: // otherwise a retry was cancelled before it started
			if state != nil && state.Attempt == r.Attempt {
				v.Job = state.Status
			}
			v.addHistory(*h)
			v.Ended = &h.Ended // like the start, to the millisecond: updated may have whole seconds
			return v, nil
		}
	}
	if state == nil || state.Attempt != r.Attempt {
		return v, nil
	}
	v.Job, v.Stage, v.Definition = state.Status, state.Stage, state.Definition
	if !r.Status.Final() {
		v.Started, v.Deadline = &state.Started, &state.Deadline
		v.Bytes, v.Spooled = state.Bytes, state.InSpool()
	}
	ours := j.o.Config.Reports[state.Report]
	v.Listeners = state.listeners(ours)
	if state.Runs() && !state.Querying() {
		fanIn := Listener{Name: state.FanIn.Name, Stage: state.Stage}
		fanIn.is(state.FanIn)
		v.FanIn = &fanIn
	}
	if state.NeedsDefinition() && !state.Of(ours) {
		seen, err := j.o.Scripts.First().Definitions.Seen(ctx)
		v.Orphan = err == nil && state.Orphan(ours, seen)
		return v, err
	}
	return v, nil
}

// Leader returns the job for whose file a PENDING record waits; empty: none. The first partition knows it, which may be
// on another server than the job.
func (j Jobs) Leader(ctx context.Context, r engine.Record) (string, error) {
	if of := j.o.Config.Reports[r.Report]; of == nil || of.Once == nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, engine.SlotsTime)
	defer cancel()
	g, ok, err := j.o.Scripts.First().Once.GroupOf(ctx, r.ID, 1)
	if err != nil || !ok || g.Leader == r.ID {
		return "", err
	}
	return g.Leader, nil
}

// Record reads a record, or returns engine.ErrNoRecord.
func (j Jobs) Record(ctx context.Context, id string) (engine.Record, error) {
	records, err := j.Records(ctx, []string{id})
	return records[id], err
}

// Records reads records by their ids. It returns engine.ErrNoRecord if one does not exist.
func (j Jobs) Records(ctx context.Context, ids []string) (map[string]engine.Record, error) {
	records, err := j.o.Records.Read(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if r, ok := records[id]; !ok || r.ID != id {
			return nil, j.NoRecord(id)
		}
	}
	return records, nil
}

// NoRecord returns the error for an id without a record.
func (j Jobs) NoRecord(id string) error {
	table := j.o.Config.Records
	return fmt.Errorf("%w: %s is not in table %s of database %s", engine.ErrNoRecord, id, table.Table, table.Database)
}

// List returns jobs from their records, with Times, the most recently changed record first.
func (j Jobs) List(ctx context.Context, of record.Filter, limit int) ([]Job, error) {
	records, err := j.Search(ctx, of, limit)
	if err != nil {
		return nil, err
	}
	jobs := make([]Job, len(records))
	each := make([]*Job, len(records))
	for i, r := range records {
		jobs[i] = OfRecord(r)
		each[i] = &jobs[i]
	}
	return jobs, j.Times(ctx, each...)
}

// Search returns records, the most recently changed first.
func (j Jobs) Search(ctx context.Context, of record.Filter, limit int) ([]engine.Record, error) {
	return j.o.Records.List(ctx, of, limit)
}
