package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/engine/sink"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// writeManifest writes beside a job's file what it was made from.
func (e *Engine) writeManifest(ctx context.Context, state *scripts.State, rows int64, committed sink.Committed, file string) error {
	m := sink.Manifest{
		Job:        sink.ManifestJob{Record: state.ID, Attempt: state.Attempt, Report: state.Report},
		Definition: state.Definition, Parameters: state.Parameters,
		Rows: rows, Bytes: committed.Bytes, CRC32C: sink.Checksum(committed.CRC32C),
		File: file, CreatedAt: time.Now(),
	}
	for i, stage := range e.definitions[state.Definition].Stages {
		for _, l := range stage.Listeners {
			task := state.Tasks[l.Name]
			made := sink.ManifestListener{Name: l.Name, Stage: i + 1, Rows: task.Rows, DurationMS: task.Took.Milliseconds()}
			made.OnFailure, made.Error = task.Policy, task.Failed
			if task.Policy != "" {
				made.Columns = []report.Column{}
			} else if err := json.Unmarshal(task.Columns, &made.Columns); err != nil {
				return fmt.Errorf("columns of %s: %w", l.Name, err)
			}
			m.Listeners = append(m.Listeners, made)
		}
	}
	return sink.WriteManifest(ctx, e.o.Sink, objectName(state), m)
}
