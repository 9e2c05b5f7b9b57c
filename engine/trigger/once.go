package trigger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// once lets equal jobs share one run: the first leads, the others wait for its file.
type once struct {
	*engine.Engine
	files *files.Files
}

// take returns the pushes that run. Those that may have the file of another job get it, and those that must
// wait for one are kept in Redis; they get their results. If the partition with the groups does not answer,
// all run.
func (o once) take(ctx context.Context, pushes []*push) (run []*push) {
	if findKept(ctx, o.Engine, slices.DeleteFunc(slices.Clone(pushes), func(p *push) bool {
		return p.report.Once == nil
	})) != nil {
		return nil
	}
	for range onceRounds {
		some, gone := o.ask(ctx, pushes)
		if run = append(run, some...); len(gone) == 0 {
			return run
		}
		pushes = gone
	}
	return append(run, pushes...)
}

// onceRounds is how often jobs ask again whose file was deleted, or whose parameters have changed.
const onceRounds = 3

// ask is one round of take. It returns the pushes that run, and those that ask again.
func (o once) ask(ctx context.Context, pushes []*push) (run, again []*push) {
	var asked []*push
	var alone []engine.OnceEnd
	var questions []scripts.Question
	for _, p := range pushes {
		r := p.report
		if r.Once == nil || !files.CanShare(o.files) {
			run = append(run, p)
		} else if p.reuses() { // rows that are too old for others
			alone, run = append(alone, endOfWait(p)), append(run, p)
		} else if p.digest = r.Once.Digest(r.Name, r.Hash(), p.parameters, p.record.Owner); p.digest == "" {
			run = append(run, p)
		} else {
			asked = append(asked, p)
			questions = append(questions, scripts.Question{ID: p.id, Digest: p.digest, Window: r.Once.Window,
				Again: p.record.Attempt > 0})
		}
	}
	o.EndOnce(ctx, alone...)
	if len(asked) == 0 {
		return pushes, nil
	}
	short, cancel := context.WithTimeout(ctx, engine.SlotsTime)
	answers, err := o.Partitions.First().Once.Ask(short, questions)
	cancel()
	if err != nil {
		o.Log.Warn("could not find out whether equal jobs run; jobs run alone", "jobs", len(asked), "err", err)
		return pushes, nil
	}
	var moved []engine.OnceEnd
	waits, shares := map[string][]*push{}, map[engine.Run][]*push{} // by leader, by maker
	for i, p := range asked {
		switch a := answers[i]; a.Kind {
		case scripts.Waits:
			waits[a.Leader] = append(waits[a.Leader], p)
		case scripts.Shares:
			maker := engine.Run{ID: a.Maker, Attempt: a.Attempt}
			shares[maker] = append(shares[maker], p)
		case scripts.Moves:
			moved, again = append(moved, endOfWait(p)), append(again, p)
		case scripts.Leads:
			o.takeOver(ctx, p)
			run = append(run, p)
		default:
			run = append(run, p)
		}
	}
	o.EndOnce(ctx, moved...)
	for leader, pushes := range waits {
		o.wait(ctx, leader, pushes)
	}
	for maker, pushes := range shares {
		again = append(again, o.share(ctx, maker, pushes)...)
	}
	return run, again
}

// waitsFor begins the text in the record of a job that waits for another.
const waitsFor = "waiting for "

// takeOver tells people that the others of a group now wait for this job, which waited with them.
func (o once) takeOver(ctx context.Context, p *push) {
	if !strings.HasPrefix(p.record.Error, waitsFor) {
		return
	}
	short, cancel := context.WithTimeout(ctx, engine.SlotsTime)
	defer cancel()
	g, _, err := o.Partitions.First().Once.GroupOf(short, p.id, oncePage)
	var runs []engine.Run
	for _, id := range g.Waits {
		runs = append(runs, engine.Run{ID: id}) // one that ran before does not wait
	}
	if err != nil {
		o.Log.Debug("records name a job that has ended as the one that they wait for", "now", p.id, "err", err)
		return
	}
	o.note(ctx, p.id, runs)
}

// note tells people that records wait for a job. They wait without it, too.
func (o once) note(ctx context.Context, leader string, runs []engine.Run) {
	short, cancel := context.WithTimeout(ctx, engine.SlotsTime)
	defer cancel()
	if err := o.Records.Note(short, runs, waitsFor+leader); err != nil {
		o.Log.Warn("could not note in records for which job they wait", "leader", leader, "jobs", len(runs), "err", err)
	}
}

// wait tells people that records wait for a job. Redis has them already.
func (o once) wait(ctx context.Context, leader string, pushes []*push) {
	runs := make([]engine.Run, len(pushes))
	for i, p := range pushes {
		runs[i] = engine.Run{ID: p.id, Attempt: p.record.Attempt}
	}
	o.note(ctx, leader, runs)
	result := step.Result{Kind: step.Void}
	for _, p := range pushes {
		if result.Kind == step.Void {
			result = ensured(step.Ensure(ctx, o.Log, "note that a record waits", func() error {
				return o.Scripts.Jobs.Note(ctx, p.id, p.record.Attempt, "shares", "with", leader)
			}))
		}
		p.ends(result)
	}
}

// share gives records the file of a job that has ended. It returns those that ask again, because the file is gone.
func (o once) share(ctx context.Context, maker engine.Run, pushes []*push) (again []*push) {
	made, err := o.madeBy(ctx, maker)
	if err == nil && made.File != "" {
		ids := make([]string, len(pushes))
		for i, p := range pushes {
			ids[i] = p.id
		}
		if err := files.Share(ctx, o.files, made.File, ids); err != nil {
			o.Log.Warn("could not note that records share a file; trying again", "maker", maker.ID, "jobs", len(pushes),
				"err", err)
			for _, p := range pushes {
				p.ends(o.pollAgain(ctx, p))
			}
			return nil
		}
		// Read again: from now on, a sweep that would delete the file sees that it is shared.
		made, err = o.madeBy(ctx, maker)
	}
	if err != nil {
		o.Log.Info("cannot share a file; it is made again", "jobs", len(pushes), "why", err)
		if err := o.Partitions.First().Once.Forget(ctx, pushes[0].digest); err != nil {
			o.Log.Debug("could not forget a file that is gone", "err", err)
		}
		return pushes
	}
	runs := make([]engine.Run, len(pushes))
	for i, p := range pushes {
		p.run = engine.Run{ID: p.id, Attempt: p.record.Attempt, Next: p.next()}
		runs[i] = p.run
	}
	started, err := step.Insist(ctx, o.Log, "start records",
		func() ([]bool, error) { return o.Records.Start(ctx, runs) })
	if err != nil {
		return nil // their entries are delivered again
	}
	var group errgroup.Group // so that their updates share statements
	for i, p := range pushes {
		if !started[i] {
			p.ends(o.pollAgain(ctx, p))
			continue
		}
		group.Go(func() error {
			p.ends(o.succeed(ctx, p, made))
			return nil
		})
	}
	_ = group.Wait()
	var ends []engine.OnceEnd
	for i, p := range pushes {
		if started[i] { // the others ask again, and still have waited
			ends = append(ends, endOfWait(p))
		}
	}
	o.EndOnce(ctx, ends...)
	return nil
}

// madeBy returns the record of a job that made a file, or none because the result was empty.
func (o once) madeBy(ctx context.Context, maker engine.Run) (engine.Record, error) {
	records, err := step.Insist(ctx, o.Log, "read the record that made a file",
		func() (map[string]engine.Record, error) { return o.Records.Read(ctx, []string{maker.ID}) })
	if err != nil {
		return engine.Record{}, err
	}
	r := records[maker.ID]
	if r.ID != maker.ID || r.Attempt != maker.Attempt || !r.Status.HasFile() ||
		r.File == "" && !report.Skipped(r.Status, r.File, r.Rows) {
		return r, fmt.Errorf("record %s has no file of attempt %d any more", maker.ID, maker.Attempt)
	}
	return r, nil
}

// succeed ends a record that has just started with the file of another.
func (o once) succeed(ctx context.Context, p *push, made engine.Record) step.Result {
	run, rows, changed := engine.Run{ID: p.id, Attempt: p.run.Next}, int64(0), false
	if made.Rows != nil {
		rows = *made.Rows
	}
	for _, effect := range []struct {
		what string
		do   func() error
	}{
		{"report the end of a record", func() error {
			return o.Scripts.Receipts.Ended(ctx, p.id, run.Attempt, o.Notifies(p.record.Report))
		}},
		{"share a file", func() (err error) {
			if made.Status == report.Partial {
				changed, err = o.Records.SucceedPartly(ctx, run, made.File, rows, made.Error)
			} else {
				changed, err = o.Records.Succeed(ctx, run, made.File, rows)
			}
			return err
		}},
		{"note that a file is shared", func() error {
			if !changed {
				return nil
			}
			return o.Scripts.Jobs.Note(ctx, p.id, run.Attempt, "finished", "status", string(made.Status),
				"report", p.record.Report, "file", made.File, "with", made.ID)
		}},
	} {
		if err := step.Ensure(ctx, o.Log, effect.what, effect.do); err != nil {
			return step.Result{Kind: step.Elsewhere, Err: err}
		}
	}
	if changed {
		o.Log.Info("job shares the file of another", "job", p.id, "attempt", run.Attempt, "report", p.record.Report,
			"with", made.ID, "status", made.Status)
		o.CountEnd(p.record.Report, string(made.Status))
		o.CountShared(p.record.Report)
	}
	return step.Result{Kind: step.Void}
}

// pollAgain lets a record that did not start be read again: another session has locked it, or it has changed.
func (o once) pollAgain(ctx context.Context, p *push) step.Result {
	d := p.pollSoon()
	return ensured(step.Ensure(ctx, o.Log, "poll a record again", func() error {
		return o.Scripts.Clock.Delay(ctx, d.member.String(), d.pause)
	}))
}

// leave takes a push out of its group that does not start, such as because its record has ended or does not exist.
func (o once) leave(ctx context.Context, p *push) {
	if p.record == nil {
		o.EndOnce(ctx, engine.OnceEnd{Of: &job.State{ID: p.id}})
		return
	}
	o.EndOnce(ctx, o.EndOfRecord(p.id, *p.record))
}

// endOfWait is the end of a wait whose job did not run.
func endOfWait(p *push) engine.OnceEnd {
	return engine.OnceEnd{Of: &job.State{ID: p.id, Report: p.record.Report}}
}

// waiting adds to all those of the pushes whose PENDING records wait for another job.
func (o once) waiting(ctx context.Context, pushes []*push, all map[string]bool) error {
	var ids []string
	for _, p := range pushes {
		if p.report != nil && p.report.Once != nil && p.record != nil && p.record.Status == report.Pending {
			ids = append(ids, p.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, engine.SlotsTime)
	defer cancel()
	waits, err := o.Partitions.First().Once.Waiting(short, ids)
	if err != nil && o.Scripts != o.Partitions.First() {
		// The jobs of this partition do not wait until the first one is back. A later pass finds these.
		o.Log.Warn("could not find out which records wait for others; they are left alone", "records", len(ids),
			"err", err)
		for _, id := range ids {
			all[id] = true
		}
		return nil
	}
	maps.Copy(all, waits)
	return err
}
