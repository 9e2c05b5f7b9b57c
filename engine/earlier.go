package engine

import (
	"context"
	"fmt"

	"github.com/fanfold/fanfold/scripts"
)

// mostEarlier bounds how many earlier attempts are looked at.
const mostEarlier = 10

// earlierFile is the object to which the record points from an earlier attempt,
// as long as this one runs; empty where it points to none of this sink.
func (e *Engine) earlierFile(ctx context.Context, state *scripts.State) (string, error) {
	if state.Attempt == 1 {
		return "", nil
	}
	records, err := e.o.Records.Read(ctx, []string{state.ID})
	if err != nil {
		return "", fmt.Errorf("%w: read record: %w", errRecord, err)
	}
	r := records[state.ID]
	name, ours := e.o.Sink.Name(r.File)
	if !ours || r.Status != Processing || r.Attempt != state.Attempt {
		return "", nil
	}
	return name, nil
}

// removeEarlier removes the files of a job's earlier attempts, once its record
// is final: the one that it pointed to, if that is given, and what attempts left
// that were lost between the commit of their file and the record. What the
// record points to now stays. That it fails leaves files to which nothing
// points, for the next attempt to remove, and is no reason to keep the job.
func (e *Engine) removeEarlier(ctx context.Context, state *scripts.State, pointed string) {
	if state.Attempt == 1 {
		return
	}
	err := func() error {
		records, err := e.o.Records.Read(ctx, []string{state.ID})
		if err != nil {
			return err
		}
		r := records[state.ID]
		now, ours := e.o.Sink.Name(r.File)
		if r.Attempt != state.Attempt || !r.Status.Final() || r.File != "" && !ours {
			return nil // somebody else's by now, or in a place that we cannot compare
		}
		names := map[string]bool{}
		if pointed != "" {
			names[pointed] = true
		}
		for attempt := max(1, state.Attempt-mostEarlier); attempt < state.Attempt; attempt++ {
			names[objectNameOf(state, attempt)] = true
		}
		delete(names, objectName(state))
		delete(names, now)
		for name := range names {
			if err := e.removeObject(ctx, name); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		e.log.Warn("files of earlier attempts are left", "job", state.ID, "attempt", state.Attempt, "err", err)
	}
}
