package engine

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bsm/redislock"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

const (
	// sweepEvery is the time between two sweeps of the whole sink, and orphanAge the minimum age of
	// the files that they delete.
	sweepEvery = 24 * time.Hour
	orphanAge  = 24 * time.Hour
	// sweepPage is how many files are compared with their records at once. After every page a sweep
	// rests: for sweepRest, or sweepShare times as long as the page took, so that it works for a
	// tenth of the time.
	sweepPage  = 500
	sweepRest  = 10 * time.Millisecond
	sweepShare = 9
)

// sweepDaily sweeps the whole sink, unless a process has done so in this interval.
func (e *Engine) sweepDaily(ctx context.Context) error {
	lock, err := e.o.Scripts.Locker().Obtain(ctx, e.o.Scripts.Keys.Lock("sweep"), e.o.SweepEvery*9/10, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	} else if err != nil {
		return err
	}
	if _, err = e.Sweep(ctx); err != nil {
		_ = lock.Release(ctx) // retry before the interval ends
	}
	return err
}

// Sweep lists the whole sink and deletes orphaned files of this installation that are older than
// Options.OrphanAge, and those of deleted rows that are older than Options.DeletedAge. It returns
// how many it deleted. Run calls it every Options.SweepEvery, in one process. Two at once do no
// harm.
func (e *Engine) Sweep(ctx context.Context) (deleted int, err error) {
	g := e.newGone(ctx)
	deleted, err = e.sweep(ctx, e.o.Sink.List(ctx, ""), func(f listed) bool { return time.Since(f.Modified) >= e.o.OrphanAge }, g)
	if deleted > 0 {
		e.log.Warn("deleted orphaned files", "files", deleted)
	}
	if g == nil || err != nil {
		return deleted, err
	}
	g.flush(ctx)
	if g.deleted > 0 {
		e.log.Info("deleted files of deleted records", "files", g.deleted)
	}
	return deleted + g.deleted, g.err
}

// sweepJob deletes the leftovers of a job whose record is final: files of its attempts up to last,
// and those of interrupted writes. If it fails, the daily sweep does it.
func (e *Engine) sweepJob(ctx context.Context, report, id string, last int64) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	files := e.o.Sink.List(ctx, report+"/"+id+"-")
	if _, err := e.sweep(ctx, files, func(f listed) bool {
		return f.of.ID == id && (f.leftover() || f.of.Attempt <= last) // files of the id 1-2 also begin with 1-
	}, nil); err != nil {
		e.log.Warn("could not delete files of earlier attempts; the daily sweep will", "job", id, "err", err)
	}
}

// sweepAttempts is sweepJob for a job that may have left files: it is not its record's first
// attempt, or had several workers.
func (e *Engine) sweepAttempts(ctx context.Context, state *job.State, last int64) {
	if state.Attempt > 1 || state.Fence > 1 {
		e.sweepJob(ctx, state.Report, state.ID, last)
	}
}

// listed is a file of this installation.
type listed struct {
	sink.Listed
	of FileName // the name of the file, or of the file whose manifest it is
}

// leftover tells whether the file is from an interrupted write.
func (f listed) leftover() bool { return f.Name != f.Object }

// manifest tells whether the file is the manifest of another.
func (f listed) manifest() bool { return f.Object != f.of.String() }

// sweep deletes the orphaned files among those for which meant is true. It gives those without a
// row to g.
func (e *Engine) sweep(ctx context.Context, files iter.Seq2[sink.Listed, error], meant func(listed) bool, g *gone) (deleted int, err error) {
	if e.o.Installation == "" {
		return 0, nil // unknown which files are this installation's
	}
	var page []listed
	flush := func() error {
		n, err := e.sweepPage(ctx, page, g)
		deleted, page = deleted+n, page[:0]
		return err
	}
	for file, err := range files {
		if err != nil {
			return deleted, err
		}
		name, ok := ParseFileName(strings.TrimSuffix(file.Object, sink.ManifestName("")))
		if f := (listed{file, name}); ok && name.Tag == e.o.Installation && meant(f) {
			page = append(page, f)
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

// sweepPage compares files with their records and deletes orphaned ones.
func (e *Engine) sweepPage(ctx context.Context, page []listed, g *gone) (deleted int, err error) {
	ids := map[string]bool{}
	for _, f := range page {
		ids[f.of.ID] = true
	}
	if len(ids) == 0 {
		return 0, nil
	}
	records, err := e.o.Records.Read(ctx, slices.Collect(maps.Keys(ids)))
	if err != nil {
		return 0, err
	}
	for _, f := range page {
		r, exists := records[f.of.ID]
		if !exists {
			g.add(ctx, f)
		}
		if !e.orphaned(f, r) {
			continue
		}
		if err := e.remove(ctx, f.Name); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}

// orphaned tells whether a record no longer needs a file. The file stays if there is no row, which
// gone decides, or the row has an earlier attempt, because the rows may be from a backup. It also stays if the record's
// own file is elsewhere, because the sink may have been replaced.
func (e *Engine) orphaned(f listed, r Record) bool {
	pointed, ours := e.o.Sink.Name(r.File)
	switch {
	case r.ID != f.of.ID, f.of.Attempt > r.Attempt, f.of.Attempt == r.Attempt && !r.Status.Final(), r.File != "" && !ours:
		return false
	}
	return f.leftover() || f.of.String() != pointed
}

// remove deletes a file. If the sink refuses, the file stays: that must not keep a job from ending.
func (e *Engine) remove(ctx context.Context, name string) error {
	err := e.o.Sink.Remove(ctx, name)
	if errors.Is(err, sink.ErrRefused) {
		e.log.Warn("could not delete an orphaned file", "file", e.o.Sink.URL(name), "err", err)
		return nil
	}
	return ofSink(err)
}
