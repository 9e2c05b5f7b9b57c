package files

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/scripts"
)

// Acts is what people did. It is kept for longer than the audit stream keeps it.
type Acts interface {
	// After returns the entry after which acts of the audit stream are to be stored. Newest is its newest entry.
	After(ctx context.Context, newest string) (string, error)
	// Store stores acts. It may store them again.
	Store(ctx context.Context, acts []audit.Act) error
	// Prune deletes a few rows that are older than they are kept. It tells whether there may be more.
	Prune(ctx context.Context) (more bool, err error)
}

// keepEvery is the time between two copies of the audit stream, which has room for the acts of that time, and those of
// a database that does not answer for some hours.
const keepEvery = 10 * time.Second

// keeper stores acts, and deletes old ones.
type keeper struct{ *Files }

// keep stores new acts and deletes old ones, unless another process has just done so. The lock is only for economy.
func (k keeper) keep(ctx context.Context) error {
	ok, err := k.Scripts.TryLock(ctx, "audit", keepEvery*9/10)
	if !ok || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, keepEvery)
	defer cancel()
	err = k.store(ctx)
	for n := 0; ok && err == nil && n < pruneMost; n++ {
		ok, err = k.o.Acts.Prune(ctx)
	}
	return err
}

// store stores the acts of the audit stream that are not stored yet.
func (k keeper) store(ctx context.Context) error {
	newest, err := k.Scripts.Entries.Last(ctx, k.Scripts.Keys.Audit)
	if err != nil {
		return err
	}
	after, err := k.o.Acts.After(ctx, newest)
	for full := true; full && err == nil && after != newest; {
		var page []scripts.Entry
		if page, full, err = k.Scripts.Entries.After(ctx, k.Scripts.Keys.Audit, after); err != nil || len(page) == 0 {
			break
		}
		var acts []audit.Act
		for _, e := range page {
			after = e.ID
			acts = append(acts, audit.Parse(e.ID, scripts.EntryTime(e.ID), e.Fields))
		}
		err = k.o.Acts.Store(ctx, acts)
	}
	return err
}
