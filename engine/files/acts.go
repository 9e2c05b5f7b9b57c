package files

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/scripts"
)

// Acts is what people did. It is kept for longer than the audit stream keeps it.
type Acts interface {
	// Store stores acts, unless they are stored already.
	Store(ctx context.Context, acts []audit.Act) error
	// Prune deletes a few rows that are older than they are kept. It tells whether there may be more.
	Prune(ctx context.Context) (more bool, err error)
}

// keepEvery is the time between two copies of the audit stream, which has room for the acts of that time, and those of
// a database that does not answer for some hours.
const keepEvery = 10 * time.Second

// keeper stores acts, and deletes old ones.
type keeper struct {
	*Files
	stored string // the last entry that it has stored; empty: none
}

// keep stores new acts and deletes old ones, unless another process has just done so. The lock is only for economy.
func (k *keeper) keep(ctx context.Context) error {
	ok, err := k.Scripts.TryLock(ctx, "audit", keepEvery*9/10)
	if !ok || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, keepEvery)
	defer cancel()
	return errors.Join(k.store(ctx), prune(ctx, k.o.Acts.Prune))
}

// store stores the acts of the audit stream that this process has not stored. It begins with the oldest if the last
// one that it has stored is gone: the stream may be another one, whose clock is behind.
func (k *keeper) store(ctx context.Context) error {
	stream := k.Scripts.Keys.Audit
	if k.stored != "" {
		last, err := k.Scripts.Entries.Get(ctx, stream, k.stored)
		if err != nil {
			return err
		} else if last == nil {
			k.stored = ""
		}
	}
	for {
		page, full, err := k.Scripts.Entries.After(ctx, stream, cmp.Or(k.stored, "0-0"))
		if err != nil || len(page) == 0 {
			return err
		}
		acts := make([]audit.Act, len(page))
		for i, e := range page {
			acts[i] = audit.Parse(e.ID, scripts.EntryTime(e.ID), e.Fields)
		}
		if err := k.o.Acts.Store(ctx, acts); err != nil {
			return err
		}
		if k.stored = page[len(page)-1].ID; !full {
			return nil
		}
	}
}
