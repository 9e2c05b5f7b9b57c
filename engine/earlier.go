package engine

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/scripts"
)

// mostEarlier bounds how many earlier attempts are looked at: the files of those
// before are never looked for.
const mostEarlier = 10

// earlierFile is the object of an earlier attempt to which the record points, as long
// as this one runs; empty where it points to none.
func (e *Engine) earlierFile(ctx context.Context, state *scripts.State) (string, error) {
	if state.Attempt == 1 {
		return "", nil
	}
	var records map[string]Record
	if err := e.onRecord(ctx, "read record", func() (err error) {
		records, err = e.o.Records.Read(ctx, []string{state.ID})
		return err
	}); err != nil {
		return "", err
	}
	r := records[state.ID]
	if r.Status.Final() || r.Attempt != state.Attempt {
		return "", nil
	}
	return e.pointedBefore(r, state.Attempt), nil
}

// pointedBefore is the object of an attempt before this one to which a record points.
// The column alone proves nothing: rows are copied and edited, so that it can name the
// file of another record.
func (e *Engine) pointedBefore(r Record, before int64) string {
	name, ours := e.o.Sink.Name(r.File)
	if attempt, own := e.owns(name, r.ID); ours && own && attempt < before {
		return name
	}
	return ""
}

// removeLost removes what earlier attempts left that were lost between the commit
// of their file and the record. It comes before the record is final: after that,
// nobody comes back for a job of which Redis has lost the state. What the record
// points to (pointed, if that is given) stays; a later attempt than this one makes its
// files under other names.
func (e *Engine) removeLost(ctx context.Context, state *scripts.State, pointed string) error {
	if state.Attempt == 1 {
		return nil
	}
	// Noted first, since more may come while these are removed, and after it.
	run := Run{state.ID, state.Attempt}
	if err := e.noteLate(ctx, Late{run, state.Report}); err != nil {
		return err
	}
	if n, ok := ParseFileName(pointed); ok && n.Report != state.Report {
		if err := e.noteLate(ctx, Late{run, n.Report}); err != nil {
			return err
		}
	}
	return e.removeAttempts(ctx, state, state.Attempt-1, "", func(r Record) bool { return !r.Status.Final() })
}

// removeEarlier is removeLost once the record is final, for what was committed
// since, and for the file to which the record pointed before, if that is given.
// That it fails leaves files to which nothing points, for the next attempt to
// remove, and is no reason to keep the job.
func (e *Engine) removeEarlier(ctx context.Context, state *scripts.State, pointed string) {
	if err := e.removeAttempts(ctx, state, state.Attempt-1, pointed, func(r Record) bool { return r.Status.Final() }); err != nil {
		e.left(state, err)
	}
}

// left says that files of earlier attempts are left.
func (e *Engine) left(state *scripts.State, err error) {
	e.log.Warn("files of earlier attempts are left", "job", state.ID, "attempt", state.Attempt, "err", err)
}

// mostFence is the fence number from which the files of a job's earlier attempts
// keep it no longer from its end: it grows with each claim, and each time that one
// is given up.
const mostFence = 10

// removeAttempts removes the files of a job's attempts up to this one, and one more
// that may be given, where the record is as it should be. What it points to stays, and
// what the sink refuses to remove.
func (e *Engine) removeAttempts(ctx context.Context, state *scripts.State, last int64, more string, right func(Record) bool) error {
	if e.o.Installation == "" || last < 1 && more == "" {
		return nil
	}
	var records map[string]Record
	if err := e.onRecord(ctx, "read record", func() (err error) {
		records, err = e.o.Records.Read(ctx, []string{state.ID})
		return err
	}); err != nil {
		return err
	}
	r := records[state.ID]
	now, ours := e.o.Sink.Name(r.File)
	if r.Attempt != state.Attempt || !right(r) || r.File != "" && !ours {
		return nil // somebody else's by now, or in a place that we cannot compare
	}
	names := map[string]bool{}
	if more != "" {
		names[more] = true
	}
	for attempt := max(1, last+1-mostEarlier); attempt <= last; attempt++ {
		for _, name := range e.anyNames(state, attempt) {
			names[name] = true
		}
	}
	delete(names, now)
	for name := range names {
		if err := e.removeObject(ctx, state.ID, name); errors.Is(err, sink.ErrRefused) {
			e.log.Warn("a file is left to which no record points", "file", e.o.Sink.URL(name), "err", err)
		} else if err != nil {
			return ofSink(err)
		}
	}
	return nil
}

// removeObject removes a file of this record and its manifest, and what interrupted
// writes left of both. A file of which it is not certain that it is this record's stays.
func (e *Engine) removeObject(ctx context.Context, id, name string) error {
	remove := e.o.Sink.Remove
	if _, own := e.owns(name, id); !own {
		remove = e.o.Sink.Clean
	}
	if err := remove(ctx, name); err != nil {
		return err
	}
	return remove(ctx, sink.ManifestName(name))
}
