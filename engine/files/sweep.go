package files

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bsm/redislock"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/step"
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
	// sweepJobTime bounds the sweep of one job.
	sweepJobTime = 5 * time.Second
)

// sweeper deletes the orphaned files of a sink.
type sweeper struct{ *Files }

// sweepDaily sweeps the whole sink, unless a process has done so in this interval.
func (f sweeper) sweepDaily(ctx context.Context) error {
	lock, err := f.Scripts.Locker().Obtain(ctx, f.Scripts.Keys.Lock("sweep"), f.o.SweepEvery*9/10, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	} else if err != nil {
		return err
	}
	if _, err = f.Sweep(ctx); err != nil {
		_ = lock.Release(ctx) // retry before the interval ends
	}
	return err
}

// Sweep lists the whole sink and deletes orphaned files of this installation that are older than
// Options.OrphanAge, and those of deleted rows that are older than Options.DeletedAge. It returns
// how many it deleted. Run calls it every Options.SweepEvery, in one process. Two at once do no
// harm.
func (f *Files) Sweep(ctx context.Context) (deleted int, err error) {
	g := newGone(ctx, f)
	old := func(l listed) bool { return time.Since(l.Modified) >= f.o.OrphanAge }
	deleted, err = sweeper{f}.sweep(ctx, f.o.Sink.List(ctx, ""), old, g)
	if deleted > 0 {
		f.Log.Warn("deleted orphaned files", "files", deleted)
	}
	if g != nil && err == nil {
		g.flush(ctx)
		if g.deleted > 0 {
			f.Log.Info("deleted files of deleted records", "files", g.deleted)
		}
		deleted, err = deleted+g.deleted, g.err
	}
	places := []sink.Sink{f.o.Sink}
	if f.o.Spool != nil {
		places = append(places, f.o.Spool.Sink())
		segments, failed := sweeper{f}.sweepSegments(ctx)
		if segments > 0 {
			f.Log.Warn("deleted segments of ended jobs from the spool", "segments", segments)
		}
		deleted, err = deleted+segments, errors.Join(err, failed)
	}
	for _, place := range places {
		if err == nil {
			var probes int
			probes, err = sweeper{f}.sweepProbes(ctx, place)
			deleted += probes
		}
	}
	return deleted, err
}

// SweepJob deletes the leftovers of a job whose record is final: files and segments of its attempts up to last,
// and those of interrupted writes. If it fails, the daily sweep does it.
func (f *Files) SweepJob(ctx context.Context, report, id string, last int64) {
	sweeper{f}.dropSegments(ctx, report, id, last, nil)
	sweeper{f}.sweepFiles(ctx, report, id, last)
}

// sweepFiles is SweepJob for files.
func (f sweeper) sweepFiles(ctx context.Context, report, id string, last int64) {
	ctx, cancel := context.WithTimeout(ctx, sweepJobTime)
	defer cancel()
	files := f.o.Sink.List(ctx, report+"/"+id+"-")
	if _, err := f.sweep(ctx, files, func(l listed) bool {
		return l.of.ID == id && (l.leftover() || l.of.Attempt <= last) // files of the id 1-2 also begin with 1-
	}, nil); err != nil {
		f.Log.Warn("could not delete files of earlier attempts; the daily sweep will", "job", id, "err", err)
	}
}

// SweepAttempts is SweepJob for a job that has ended and may have left something: it is not its record's first
// attempt, or had several workers. Its own segments go, too, unless its end with this status keeps them; last is that
// of the files.
func (f *Files) SweepAttempts(ctx context.Context, state *job.State, last int64, status string) {
	again := state.Attempt > 1 || state.Fence > 1
	if again || mayHaveSegments(state) {
		sweeper{f}.dropSegments(ctx, state.Report, state.ID, state.Attempt, ticketsOf(state, status))
	}
	if again {
		sweeper{f}.sweepFiles(ctx, state.Report, state.ID, last)
	}
}

// listed is a file of this installation.
type listed struct {
	sink.Listed
	of Name // the name of the file, or of the file whose manifest it is
}

// leftover tells whether the file is from an interrupted write.
func (l listed) leftover() bool { return l.Name != l.Object }

// manifest tells whether the file is the manifest of another.
func (l listed) manifest() bool { return l.Object != l.of.String() }

// sweep deletes the orphaned files among those for which meant is true. It gives those without a
// row to g.
func (f sweeper) sweep(
	ctx context.Context, files iter.Seq2[sink.Listed, error], meant func(listed) bool, g *gone,
) (deleted int, err error) {
	if f.o.Installation == "" {
		return 0, nil // unknown which files are this installation's
	}
	endings := f.o.Formats.Endings()
	return inPages(ctx, files, func(file sink.Listed) (listed, bool) {
		name, ok := Parse(strings.TrimSuffix(file.Object, sink.ManifestName("")), endings)
		l := listed{file, name}
		return l, ok && name.Tag == f.o.Installation && meant(l)
	}, func(page []listed) (int, error) { return f.sweepPage(ctx, page, g) })
}

// inPages calls sweep for the objects that of returns, a page at a time, with rests, and returns how many it deleted.
func inPages[T any](
	ctx context.Context, objects iter.Seq2[sink.Listed, error], of func(sink.Listed) (T, bool),
	sweep func(page []T) (deleted int, err error),
) (deleted int, err error) {
	var page []T
	flush := func() error {
		n, err := sweep(page)
		deleted, page = deleted+n, page[:0]
		return err
	}
	for object, err := range objects {
		if err != nil {
			return deleted, err
		}
		if l, ok := of(object); ok {
			page = append(page, l)
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

// recordsOf returns the records of a page.
func recordsOf[T any](ctx context.Context, f sweeper, page []T, id func(T) string) (map[string]engine.Record, error) {
	ids := map[string]bool{}
	for _, l := range page {
		ids[id(l)] = true
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return f.Records.Read(ctx, slices.Collect(maps.Keys(ids)))
}

// sweepProbes deletes the objects of checks that were interrupted, of any installation.
func (f sweeper) sweepProbes(ctx context.Context, s sink.Sink) (deleted int, err error) {
	for _, prefix := range []string{sink.ProbePrefix, sink.ProbeFolder} {
		for l, err := range s.List(ctx, prefix) {
			if err != nil {
				return deleted, err
			}
			if !sink.IsProbe(l.Object) || time.Since(l.Modified) < f.o.OrphanAge {
				continue
			}
			if err := s.Remove(ctx, l.Name); errors.Is(err, sink.ErrRefused) {
				return deleted, nil // the sink's check warns of that
			} else if err != nil {
				return deleted, err
			}
			deleted++
		}
	}
	return deleted, nil
}

// sweepPage compares files with their records and deletes orphaned ones.
func (f sweeper) sweepPage(ctx context.Context, page []listed, g *gone) (deleted int, err error) {
	records, err := recordsOf(ctx, f, page, func(l listed) string { return l.of.ID })
	if err != nil {
		return 0, err
	}
	var orphans []listed
	var names []string
	for _, l := range page {
		r, exists := records[l.of.ID]
		if !exists {
			g.add(ctx, l)
		}
		if f.orphaned(l, r) {
			orphans, names = append(orphans, l), append(names, l.of.String())
		}
	}
	others, err := shared(ctx, f.Files, names...)
	if err != nil {
		return 0, err
	}
	var gone []string
	for _, l := range orphans {
		if others[l.of.String()] && !l.leftover() {
			continue
		}
		if _, err := f.remove(ctx, l.Name); err != nil {
			return deleted, err
		}
		if deleted++; l.Name == l.of.String() {
			gone = append(gone, l.Name)
		}
	}
	unshare(ctx, f.Files, gone)
	return deleted, nil
}

// orphaned tells whether a record no longer needs a file. The file stays if there is no row, which
// gone decides, or the row has an earlier attempt, because the rows may be from a backup. It also stays if the record's
// own file is elsewhere, because the sink may have been replaced.
func (f sweeper) orphaned(l listed, r engine.Record) bool {
	pointed, ours := f.o.Sink.Name(r.File)
	switch {
	case r.ID != l.of.ID, l.of.Attempt > r.Attempt, l.of.Attempt == r.Attempt && !r.Status.Final(),
		r.File != "" && !ours:
		return false
	}
	return l.leftover() || l.of.String() != pointed
}
