package fanin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// writeManifest writes the manifest of a job's file: what the file was made from.
func (f *finisher) writeManifest(ctx context.Context, w *work, committed sink.Committed) error {
	r, state, made := w.report, w.State, w.file
	manifest := sink.Manifest{
		Job: sink.ManifestJob{
			Record: state.ID, Attempt: state.Attempt, Report: state.Report, StartedAt: state.Started,
		},
		Definition: state.Definition, Parameters: state.Parameters,
		Rows: made.Rows, Bytes: committed.Bytes, CRC32C: sink.Checksum(committed.CRC32C),
		File: f.files.URL(r, state), CreatedAt: time.Now(), TimeZone: r.File.TimeZone,
	}
	for i, stage := range r.Stages {
		for _, l := range stage.Listeners {
			task := state.Tasks[l.Name]
			given := sink.ManifestListener{
				Name: l.Name, Stage: i + 1, Rows: task.Rows, Tries: task.Tries,
				DoneAt: task.DoneAt, DurationMS: task.Took.Milliseconds(),
				Omitted: task.Policy, Error: task.Failed, ReusedFrom: task.Reused,
			}
			if given.Parts = task.Parts; task.Parts > 0 {
				given.Snapshot = cmp.Or(task.Snapshot, string(report.SnapshotApproximate))
			}
			if task.Policy != "" {
				given.Columns = []dataset.Column{}
			} else {
				var err error
				if given.Columns, err = f.columns.parse(task.Columns); err != nil {
					return fmt.Errorf("write manifest: columns of %s: %w", l.Name, err)
				}
				given.AsOf, given.Stale = task.ReadAt(), !task.StaleAt.IsZero()
			}
			if at := slices.IndexFunc(made.matches, func(m fold.Match) bool { return m.Listener == l.Name }); at >= 0 &&
				task.Policy == "" {
				match := made.matches[at]
				given.Unmatched, given.FirstUnmatched = new(task.Rows-match.Matched), new(match.Missing)
			}
			manifest.Listeners = append(manifest.Listeners, given)
		}
	}
	for i, c := range made.of.File.Columns {
		column := sink.ManifestColumn{
			Label: c.Label, Listener: c.Listener, Column: c.Column, Escaped: made.Formulas[c.Label],
		}
		if c.Listener == "" || state.Tasks[c.Listener].Policy == "" { // otherwise, it has no values
			column.Type = made.columns[i].Kind
		}
		manifest.Columns = append(manifest.Columns, column)
	}
	for _, s := range made.steps {
		step := sink.ManifestStep{Step: s.Text, Depth: s.Depth, How: string(s.How)}
		if s.Rows >= 0 {
			step.Rows = new(s.Rows)
		}
		manifest.Fold = append(manifest.Fold, step)
	}
	return f.files.WriteManifest(ctx, r, state, manifest)
}
