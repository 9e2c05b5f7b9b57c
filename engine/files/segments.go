package files

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
)

// dropSegments deletes the segments of a job that has ended, and of its earlier attempts, except for those that are
// kept and those of these tickets. If it fails, the daily sweep does it.
func (f sweeper) dropSegments(ctx context.Context, report, id string, last int64, tickets []string) {
	if f.o.Spool == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sweepJobTime)
	defer cancel()
	held, err := f.held(ctx, []string{id}, last)
	if err == nil {
		maps.Copy(held, f.o.Spool.Objects(tickets))
		err = f.o.Spool.Drop(ctx, report, id, last, held)
	}
	if err != nil {
		f.Log.Warn("could not delete segments of the spool; the daily sweep will", "job", id, "err", err)
	}
}

// held returns the segments of jobs that are kept for them or for later jobs, or that running jobs reuse, except for
// those of an attempt that ends.
func (f sweeper) held(ctx context.Context, ids []string, ends int64) (map[string]bool, error) {
	of := map[*scripts.Scripts][]string{}
	for _, id := range ids {
		s := f.Partitions.Of(id)
		of[s] = append(of[s], id)
	}
	var all []string
	for s, ids := range of {
		tickets, err := s.Kept.Tickets(ctx, ids, ends)
		if err != nil {
			return nil, fmt.Errorf("segments that are kept: %w", err)
		}
		left, err := s.Fallbacks.Tickets(ctx, ids)
		if err != nil {
			return nil, fmt.Errorf("segments that later jobs may use: %w", err)
		}
		all = append(append(all, tickets...), left...)
	}
	return f.o.Spool.Objects(all), nil
}

// ticketsOf returns the tickets of the datasets that the end of a job keeps.
func ticketsOf(state *job.State, status string) (tickets []string) {
	for name, t := range state.Tasks {
		if t.Done && t.At != "" && state.Keep.Keeps(name, status) {
			tickets = append(tickets, t.At)
		}
	}
	return tickets
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
	page = slices.DeleteFunc(page, func(s segment) bool {
		r := records[s.of.ID]
		return r.ID == s.of.ID && (r.Attempt < s.of.Attempt || r.Attempt == s.of.Attempt && !r.Status.Final())
	}) // otherwise its job runs, or its row is from a backup
	ids := map[string]bool{}
	for _, s := range page {
		ids[s.of.ID] = true
	}
	held, err := f.held(ctx, slices.Collect(maps.Keys(ids)), 0)
	if err != nil {
		return 0, err
	}
	for _, s := range page {
		if held[s.Object] {
			continue
		}
		if err := f.o.Spool.Sink().Remove(ctx, s.Name); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}
