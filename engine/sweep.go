package engine

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bsm/redislock"

	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/internal/step"
)

const (
	// sweepEvery is the time between two sweeps of the whole sink, and orphanAge the
	// age from which they delete a file.
	sweepEvery = 24 * time.Hour
	orphanAge  = 24 * time.Hour
	// sweepPage is how many files are compared with their records at once. A sweep rests
	// after each page: sweepRest, or sweepShare times as long as the page took, so that
	// it works for a tenth of the time.
	sweepPage  = 500
	sweepRest  = 10 * time.Millisecond
	sweepShare = 9
	// endedEvery is the time between two sweeps for jobs that have ended, and maxEnded
	// how many of these a process remembers. The sweep of the whole sink finds the files
	// of the others.
	endedEvery = time.Second
	maxEnded   = 10_000
)

// ended are jobs that have ended and may have left files. The zero value is ready.
type ended struct {
	mu   sync.Mutex
	last map[string]int64 // by what the names of their files begin with: up to which attempt
}

// note remembers a job of a report until the next sweep.
func (e *ended) note(report, id string, last int64) { e.add(report+"/"+id+"-", last) }

func (e *ended) add(prefix string, last int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil {
		e.last = map[string]int64{}
	}
	if len(e.last) < maxEnded {
		e.last[prefix] = max(e.last[prefix], last)
	}
}

// take empties the list.
func (e *ended) take() map[string]int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.last
	e.last = nil
	return last
}

// sweepEnded deletes what the jobs have left that have ended since the last sweep.
func (e *Engine) sweepEnded(ctx context.Context) error {
	last := e.ended.take()
	if len(last) == 0 {
		return nil
	}
	files := e.o.Sink.List(ctx, slices.Collect(maps.Keys(last))...)
	_, err := e.sweep(ctx, files, func(f listed) bool {
		return f.leftover() || f.of.Attempt <= last[f.of.Report+"/"+f.of.ID+"-"]
	})
	if err != nil {
		for prefix, attempt := range last {
			e.ended.add(prefix, attempt)
		}
	}
	return err
}

// sweepDaily sweeps the whole sink, if no process has done so in this interval.
func (e *Engine) sweepDaily(ctx context.Context) error {
	lock, err := e.o.Scripts.Locker().Obtain(ctx, e.o.Scripts.Lock("sweep"), e.o.SweepEvery*9/10, nil)
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil
	} else if err != nil {
		return err
	}
	if _, err = e.Sweep(ctx); err != nil {
		// The next try does not wait for the end of the interval.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = lock.Release(ctx)
	}
	return err
}

// Sweep lists the whole sink and deletes the files of this installation that are
// orphaned and older than Options.OrphanAge. It returns how many it has deleted. Run
// calls it every Options.SweepEvery, in one process.
func (e *Engine) Sweep(ctx context.Context) (deleted int, err error) {
	deleted, err = e.sweep(ctx, e.o.Sink.List(ctx), func(f listed) bool { return time.Since(f.Modified) >= e.o.OrphanAge })
	if deleted > 0 {
		e.log.Warn("orphaned files were deleted", "files", deleted)
	}
	return deleted, err
}

// listed is a file of this installation.
type listed struct {
	sink.Listed
	of FileName // the file itself, or the one whose manifest it is
}

// leftover tells whether an interrupted write left the file.
func (f listed) leftover() bool { return f.Name != f.Object }

// sweep deletes the orphaned files among those that are meant.
func (e *Engine) sweep(ctx context.Context, files iter.Seq2[sink.Listed, error], meant func(listed) bool) (deleted int, err error) {
	if e.o.Installation == "" {
		return 0, nil // it is not known which files are this installation's
	}
	var page []listed
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
		n, err := e.sweepPage(ctx, page)
		if deleted += n; err != nil {
			return deleted, err
		}
		page = page[:0]
		if step.Wait(ctx, max(sweepRest, sweepShare*time.Since(began))) != nil {
			return deleted, context.Cause(ctx)
		}
	}
	n, err := e.sweepPage(ctx, page)
	return deleted + n, err
}

// sweepPage compares files with their records.
func (e *Engine) sweepPage(ctx context.Context, page []listed) (deleted int, err error) {
	if len(page) == 0 {
		return 0, nil
	}
	ids := map[string]bool{}
	for _, f := range page {
		ids[f.of.ID] = true
	}
	records, err := e.o.Records.Read(ctx, slices.Collect(maps.Keys(ids)))
	if err != nil {
		return 0, err
	}
	for _, f := range page {
		if !e.orphaned(f, records[f.of.ID]) {
			continue
		}
		if err := e.remove(ctx, f.Name); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}

// orphaned tells whether a record is done with a file. Where there is no row, or the row
// knows fewer attempts, the file stays: the rows may come from a backup. It stays, too,
// where the record's own file is elsewhere: the sink may be another one than it was.
func (e *Engine) orphaned(f listed, r Record) bool {
	pointed, ours := e.o.Sink.Name(r.File)
	switch {
	case r.ID != f.of.ID, f.of.Attempt > r.Attempt, f.of.Attempt == r.Attempt && !r.Status.Final(), r.File != "" && !ours:
		return false
	}
	return f.leftover() || f.of.String() != pointed
}

// remove deletes a file. What the sink refuses to delete stays: that must keep no job
// from its end.
func (e *Engine) remove(ctx context.Context, name string) error {
	err := e.o.Sink.Remove(ctx, name)
	if errors.Is(err, sink.ErrRefused) {
		e.log.Warn("a file is left to which no record points", "file", e.o.Sink.URL(name), "err", err)
		return nil
	}
	return ofSink(err)
}
