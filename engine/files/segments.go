package files

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
)

// dropSegments deletes the segments of a job that has ended, and of its earlier attempts. If it fails, the daily sweep
// does it.
func (f sweeper) dropSegments(ctx context.Context, report, id string, last int64) {
	if f.o.Spool == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sweepJobTime)
	defer cancel()
	if err := f.o.Spool.Drop(ctx, report, id, last); err != nil {
		f.Log.Warn("could not delete segments of the spool; the daily sweep will", "job", id, "err", err)
	}
}

// mayHaveSegments tells whether a job may have written segments. A try may have, whose rows are part of no dataset.
func mayHaveSegments(state *job.State) bool {
	if state.Spooled > 0 {
		return true
	}
	for _, t := range state.Tasks {
		if t.Generation > 0 || t.Tries > 1 {
			return true
		}
	}
	return false
}

// segment is a segment of this installation.
type segment struct {
	sink.Listed
	of spool.Name
}

// sweepSegments deletes the segments older than Options.OrphanAge whose jobs have ended.
func (f sweeper) sweepSegments(ctx context.Context) (deleted int, err error) {
	var page []segment
	flush := func() error {
		n, err := f.sweepSegmentPage(ctx, page)
		deleted, page = deleted+n, page[:0]
		return err
	}
	for listed, err := range f.o.Spool.Sink().List(ctx, "") {
		if err != nil {
			return deleted, err
		}
		name, ours := f.o.Spool.Ours(listed)
		if ours && time.Since(listed.Modified) >= f.o.OrphanAge {
			page = append(page, segment{listed, name})
		}
		if len(page) < sweepPage {
			continue
		}
		began := time.Now()
		if err := flush(); err != nil {
			return deleted, err
		}
		if err := step.Wait(ctx, max(sweepRest, sweepShare*time.Since(began))); err != nil {
			return deleted, err
		}
	}
	return deleted, flush()
}

// sweepSegmentPage compares segments with the records of their jobs.
func (f sweeper) sweepSegmentPage(ctx context.Context, page []segment) (deleted int, err error) {
	ids := map[string]bool{}
	for _, s := range page {
		ids[s.of.ID] = true
	}
	if len(ids) == 0 {
		return 0, nil
	}
	records, err := f.Records.Read(ctx, slices.Collect(maps.Keys(ids)))
	if err != nil {
		return 0, err
	}
	for _, s := range page {
		r := records[s.of.ID]
		if r.ID == s.of.ID && (r.Attempt < s.of.Attempt || r.Attempt == s.of.Attempt && !r.Status.Final()) {
			continue // its job runs, or its row is from a backup
		}
		if err := f.o.Spool.Sink().Remove(ctx, s.Name); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}
