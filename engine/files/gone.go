package files

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/sink"
)

const (
	// deletedAge is the minimum age of the files of deleted rows that a sweep deletes, and how long
	// the table must not have been restored from a backup: until then a missing row can come back.
	deletedAge = 30 * 24 * time.Hour
	// sweepGap is the longest time between two sweeps after which it is still known that the table
	// was not restored in between from a backup that is older than this.
	sweepGap = 3 * 24 * time.Hour
)

// Deletions finds rows that were deleted. All methods are safe for concurrent use.
type Deletions interface {
	// Deleted returns which of these ids have no row, whether or not it would match records.filter,
	// although the table has a row with a later id. So rows that an older backup lacks are not
	// among them before others have taken their place.
	Deleted(ctx context.Context, ids []string) (map[string]bool, error)
	// Pointed returns which of these files any row points to.
	Pointed(ctx context.Context, files []string) (map[string]bool, error)
	// Unbroken notes in the database that a sweep runs. It returns for how long it has been called
	// without a longer gap; 0 the first time. After the restore of an older backup there is a gap.
	Unbroken(ctx context.Context, gap time.Duration) (time.Duration, error)
}

// gone deletes the files of rows that were deleted, a page at a time. A nil one deletes none.
type gone struct {
	*Files
	page    []listed
	deleted int
	err     error // ends it; orphaned files of rows that exist are deleted nevertheless
}

// newGone notes the sweep.
func newGone(ctx context.Context, f *Files) *gone {
	if f.o.Deletions == nil || f.o.Installation == "" {
		return nil
	}
	g := &gone{Files: f}
	_, g.err = f.o.Deletions.Unbroken(ctx, sweepGap)
	return g
}

// add takes a file without a row that the filter lets through.
func (g *gone) add(ctx context.Context, f listed) {
	if g == nil || g.err != nil {
		return
	}
	age := g.o.DeletedAge
	if f.manifest() {
		age += g.o.OrphanAge // usually the file goes first, and takes it along
	}
	if time.Since(f.Modified) < age {
		return
	}
	if g.page = append(g.page, f); len(g.page) >= sweepPage {
		g.flush(ctx)
	}
}

// flush deletes what was added. The order matters: while a backup is being restored, a row that is
// found missing counts only if the time of the last sweep is still there afterwards.
func (g *gone) flush(ctx context.Context) {
	if g == nil || g.err != nil || len(g.page) == 0 {
		return
	}
	page := g.page
	g.page = nil
	ids := make([]string, len(page))
	for i, f := range page {
		ids[i] = f.of.ID
	}
	var deleted, pointed map[string]bool
	if deleted, g.err = g.o.Deletions.Deleted(ctx, ids); g.err != nil {
		return
	}
	var files []string
	for _, f := range page {
		if deleted[f.of.ID] {
			files = append(files, g.o.Sink.URL(f.of.String()))
		}
	}
	if len(files) == 0 {
		return
	}
	if pointed, g.err = g.o.Deletions.Pointed(ctx, files); g.err != nil {
		return
	}
	unbroken, err := g.o.Deletions.Unbroken(ctx, sweepGap)
	if g.err = err; err != nil || unbroken < g.o.DeletedAge {
		return
	}
	for _, f := range page {
		if !deleted[f.of.ID] || pointed[g.o.Sink.URL(f.of.String())] {
			continue
		}
		if _, g.err = g.remove(ctx, f.Name); g.err != nil {
			return
		}
		g.deleted++
		if f.Name == f.of.String() {
			unshare(ctx, g.Files, []string{f.Name})
			if _, g.err = g.remove(ctx, sink.ManifestName(f.Name)); g.err != nil {
				return
			}
		}
	}
}
