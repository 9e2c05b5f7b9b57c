package engine

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold/scripts"
)

// mostEarlier bounds how many earlier attempts are looked at.
const mostEarlier = 10

// removeEarlier removes the files of a job's earlier attempts: the one that the
// record points to, unless that is to be kept, and what attempts left that were
// lost between the commit of their file and the record.
func (e *Engine) removeEarlier(ctx context.Context, state *scripts.State, keep bool) error {
	if state.Attempt == 1 {
		return nil
	}
	records, err := e.o.Records.Read(ctx, []string{state.ID})
	if err != nil {
		return err
	}
	record, ok := records[state.ID]
	if !ok || record.Attempt != state.Attempt {
		return nil // somebody else's by now
	}
	pointed, ours := e.o.Sink.Name(record.File)
	earlier := map[string]bool{}
	if ours {
		earlier[pointed] = true
	}
	for attempt := max(1, state.Attempt-mostEarlier); attempt < state.Attempt; attempt++ {
		earlier[objectNameOf(state, attempt)] = true
	}
	delete(earlier, objectName(state))
	if keep && ours {
		delete(earlier, pointed)
	}
	var all error
	for name := range earlier {
		all = errors.Join(all, e.removeObject(ctx, name))
	}
	return all
}
