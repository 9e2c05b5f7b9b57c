package files

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
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

// mayHaveSegments tells whether a job may have written segments. A try may have, whose rows are part of no dataset, and
// a listener that is read in parts has a memo.
func mayHaveSegments(state *job.State) bool {
	if state.Spooled > 0 {
		return true
	}
	for _, t := range state.Tasks {
		if t.Generation > 0 || t.Tries > 1 || t.Policy != "" || t.Memo != nil {
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
	return inPages(ctx, f.o.Spool.Sink().List(ctx, ""), func(l sink.Listed) (segment, bool) {
		name, ours := f.o.Spool.Ours(l)
		return segment{l, name}, ours && time.Since(l.Modified) >= f.o.OrphanAge
	}, func(page []segment) (int, error) { return f.sweepSegmentPage(ctx, page) })
}

// sweepSegmentPage compares segments with the records of their jobs.
func (f sweeper) sweepSegmentPage(ctx context.Context, page []segment) (deleted int, err error) {
	records, err := recordsOf(ctx, f, page, func(s segment) string { return s.of.ID })
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
