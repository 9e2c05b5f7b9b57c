package files

import (
	"context"
	"time"
)

// History is what ended jobs did.
type History interface {
	// PruneHistory deletes a few rows that are older than they are kept. It tells whether there may be more.
	PruneHistory(ctx context.Context) (more bool, err error)
}

const (
	// pruneEvery is the time between two deletions of old histories, and pruneMost how many statements each has: with
	// more than about 500 jobs per second, they stay for longer than configured.
	pruneEvery = 10 * time.Second
	pruneMost  = 10
)

// pruner deletes old histories.
type pruner struct{ *Files }

// prune deletes old histories, unless another process has just done so.
func (p pruner) prune(ctx context.Context) error {
	ok, err := p.Scripts.TryLock(ctx, "history", pruneEvery*9/10)
	if !ok || err != nil {
		return err
	}
	return prune(ctx, p.o.History.PruneHistory)
}

// prune deletes old rows a few times.
func prune(ctx context.Context, some func(context.Context) (more bool, err error)) error {
	more, err := true, error(nil)
	for n := 0; more && err == nil && n < pruneMost; n++ {
		more, err = some(ctx)
	}
	return err
}
