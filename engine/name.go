package engine

import (
	"fmt"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// The names of files end with one of these, by whether the report compresses them.
const (
	plain      = ".csv"
	compressed = ".csv.gz"
)

// contentType is that of a report's files. A compressed one is not said to have an
// encoding: whoever downloads it gets what the name says.
func contentType(r *report.Report) string {
	if r.CSV.Gzip {
		return "application/gzip"
	}
	return "text/csv; charset=utf-8"
}

// objectName is the name of a job's file. It holds id and attempt, so no two
// jobs share one.
func objectName(state *scripts.State, r *report.Report) string {
	if r.CSV.Gzip {
		return objectNameOf(state, state.Attempt, compressed)
	}
	return objectNameOf(state, state.Attempt, plain)
}

func objectNameOf(state *scripts.State, attempt int64, ending string) string {
	return fmt.Sprintf("%s/%s-%d%s", state.Report, state.ID, attempt, ending)
}

// objectNames are those that a job's file can have: one, where this process has the
// job's definition.
func (e *Engine) objectNames(state *scripts.State) []string {
	if r := e.definitions[state.Definition]; r != nil {
		return []string{objectName(state, r)}
	}
	return anyNames(state, state.Attempt)
}

// anyNames are those that the file of an attempt can have, whatever its definition was.
func anyNames(state *scripts.State, attempt int64) []string {
	return []string{objectNameOf(state, attempt, plain), objectNameOf(state, attempt, compressed)}
}
