package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
	"github.com/fanfold/fanfold/step"
)

// Options configures Files. Sink and Formats are required.
type Options struct {
	Sink    sink.Sink
	Formats format.Kinds // of the files of all reports, now and before
	Spool   *spool.Spool // where large datasets lie; nil: there is none

	// Installation is the tag in the names of this installation's files, see NewTag. It separates
	// the files of installations that share a sink. If it is empty, no file is ever removed.
	Installation string

	SweepEvery time.Duration // between sweeps of the sink for orphaned files; 0 means a day
	OrphanAge  time.Duration // minimum age of the files that it deletes; 0 means a day
	DeletedAge time.Duration // minimum age of those whose row was deleted; 0 means 30 days
	Deletions  Deletions     // nil: files of deleted rows stay
	Sharing    Sharing       // nil: no record shares the file of another
	History    History       // nil: none is deleted
	Acts       Acts          // nil: they are only in the audit stream
}

// Files creates and removes the files of jobs. It is safe for concurrent use.
type Files struct {
	*engine.Engine
	o Options
}

// New returns Files. It does no I/O.
func New(e *engine.Engine, o Options) (*Files, error) {
	if o.Sink == nil || len(o.Formats) == 0 {
		return nil, errors.New("files: Sink and Formats are required")
	}
	if o.Installation != "" && !ValidTag(o.Installation) {
		return nil, fmt.Errorf("files: installation %q is not a tag as NewTag returns it: 6 letters and digits",
			o.Installation)
	}
	o.SweepEvery, o.OrphanAge = cmp.Or(o.SweepEvery, sweepEvery), cmp.Or(o.OrphanAge, orphanAge)
	o.DeletedAge = cmp.Or(o.DeletedAge, deletedAge)
	return &Files{e, o}, nil
}

// Spool returns where large datasets lie; nil: there is none.
func (f *Files) Spool() *spool.Spool { return f.o.Spool }

// Run deletes orphaned files and old histories, and stores acts, until ctx ends, and then returns nil. The first
// partition does it for all.
func (f *Files) Run(ctx context.Context) error {
	if f.Scripts != f.Partitions.First() {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	if f.o.History != nil {
		group.Go(func() error { return step.Every(ctx, f.Log, pruneEvery, "delete old histories", pruner{f}.prune) })
	}
	if f.o.Acts != nil {
		group.Go(func() error { return step.Every(ctx, f.Log, keepEvery, "store acts", (&keeper{Files: f}).keep) })
	}
	group.Go(func() error {
		return step.Every(ctx, f.Log, f.o.SweepEvery/10, "delete orphaned files", sweeper{f}.sweepDaily)
	})
	return group.Wait()
}

// Create begins the object of a job's file. Its errors, and those of the writer, are a step.Failure.
func (f *Files) Create(ctx context.Context, r *report.Report, state *job.State) (sink.Writer, error) {
	parameters := sha256.Sum256(state.Parameters)
	metadata := map[string]string{
		"fanfold-record":     state.ID,
		"fanfold-attempt":    strconv.FormatInt(state.Attempt, 10),
		"fanfold-definition": state.Definition,
		"fanfold-parameters": hex.EncodeToString(parameters[:]),
	}
	if f.o.Installation != "" {
		metadata["fanfold-installation"] = f.o.Installation
	}
	ending := f.o.Formats.Ending(&r.File)
	name, err := saveAs(r, state)
	if err != nil {
		return nil, err
	}
	w, err := f.o.Sink.Create(ctx, sink.Object{
		Name: f.nameWith(ending, state), ContentType: f.o.Formats.ContentType(ending), SaveAs: name + ending,
		Metadata: metadata,
	})
	if err != nil {
		return nil, ofSink(err)
	}
	return writer{w}, nil
}

// saveAs returns the name under which a browser saves a job's file, without its ending.
func saveAs(r *report.Report, state *job.State) (string, error) {
	var values map[string]any
	if r.File.Name != "" {
		var err error
		if values, err = r.Decode(state.Parameters); err != nil {
			return "", &step.Failure{Result: step.Result{Kind: step.Permanent, Err: err, Blame: job.BlameReport}}
		}
	}
	return r.File.SaveAs(r.Name, state.ID, values), nil
}

// Begin begins to write the rows of a job's file, in its format. columns is that of
// format.Kind.New; the caller must call Close or Abort.
func (f *Files) Begin(r *report.Report, state *job.State, columns []dataset.Column, w io.Writer) (*format.File, error) {
	name, err := saveAs(r, state)
	if err != nil {
		return nil, err
	}
	return f.o.Formats.Begin(&r.File, columns, format.Title{Report: r.Name, Name: name}, w)
}

// URL returns the URL of a job's file.
func (f *Files) URL(r *report.Report, state *job.State) string { return f.o.Sink.URL(f.name(state, r)) }

// WriteManifest writes the manifest of a job's file. It sets SaveAs. Its error is a step.Failure.
func (f *Files) WriteManifest(ctx context.Context, r *report.Report, state *job.State, m sink.Manifest) error {
	name, err := saveAs(r, state)
	if err != nil {
		return err
	}
	m.SaveAs = name + f.o.Formats.Ending(&r.File)
	return ofSink(sink.WriteManifest(ctx, f.o.Sink, f.name(state, r), m))
}

// Has tells whether a URL is that of a job's file, under any definition.
func (f *Files) Has(state *job.State, url string) bool {
	name, ours := f.o.Sink.Name(url)
	return ours && slices.Contains(f.names(state), name)
}

// Remove deletes the file of a job that ended without one, and its manifest. Without a tag it is
// unknown whether the file is this job's. Its error is a step.Failure.
func (f *Files) Remove(ctx context.Context, state *job.State) error {
	if f.o.Installation == "" {
		return nil
	}
	others, err := shared(ctx, f, f.names(state)...)
	if err != nil {
		return err
	}
	for _, name := range f.names(state) {
		if others[name] {
			continue
		}
		for _, name := range []string{name, sink.ManifestName(name)} {
			removed, err := f.remove(ctx, name)
			if err != nil {
				return ofSink(err)
			}
			if !removed {
				return nil // the sink would refuse the other names, too
			}
		}
	}
	return nil
}

// remove deletes a file. If the sink refuses, the file stays: that must not keep a job from ending.
func (f *Files) remove(ctx context.Context, name string) (removed bool, err error) {
	err = f.o.Sink.Remove(ctx, name)
	if errors.Is(err, sink.ErrRefused) {
		f.Log.Warn("could not delete an orphaned file", "file", f.o.Sink.URL(name), "err", err)
		return false, nil
	}
	return err == nil, err
}

// name returns the name of a job's file.
func (f *Files) name(state *job.State, r *report.Report) string {
	return f.nameWith(f.o.Formats.Ending(&r.File), state)
}

func (f *Files) nameWith(ending string, state *job.State) string {
	return Name{
		Report: state.Report, ID: state.ID, Attempt: state.Attempt, Tag: f.o.Installation, Ending: ending,
	}.String()
}

// names returns all names that a job's file can have, under any definition.
func (f *Files) names(state *job.State) []string {
	var all []string
	for _, ending := range f.o.Formats.Endings() {
		all = append(all, f.nameWith(ending, state))
	}
	return all
}

// ofSink returns the failure of an operation of the sink. Only a refusal counts as a try, because it may
// be permanent. A file that is too large always is. The text says what failed and what to do.
func ofSink(err error) error {
	if err == nil {
		return nil
	}
	failed := &step.Failure{Result: step.Result{Kind: step.Outage, Err: fmt.Errorf("sink: %w", err),
		Blame: job.BlameSink}}
	switch {
	case errors.Is(err, sink.ErrTooLarge):
		failed.Kind, failed.Blame = step.Permanent, job.BlameReport
	case errors.Is(err, sink.ErrRefused):
		failed.Kind = step.Retry
	}
	return failed
}

// writer returns the errors of a sink as failures.
type writer struct{ sink.Writer }

func (w writer) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	return n, ofSink(err)
}

func (w writer) Commit() (sink.Committed, error) {
	committed, err := w.Writer.Commit()
	return committed, ofSink(err)
}
