package listeners

import (
	"slices"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/report"
)

// stored are the columns that a job stores in Redis, by listener; all of a listener that is missing.
type stored map[string][]string

// storedOf returns the columns that the fold, the file or a query of a later stage uses. The service of an external
// listener can read any column of the stages before its own, and a listener that nothing else uses is one for such a
// service: these have no entry.
func storedOf(r *report.Report) stored {
	kept := stored(fold.Needed(r))
	lastExternal := 0 // stage
	for stage, l := range r.Listeners() {
		if l.From != nil && !slices.Contains(kept[l.From.Listener], l.From.Column) {
			kept[l.From.Listener] = append(kept[l.From.Listener], l.From.Column)
		}
		if l.Kind == report.External {
			lastExternal = stage
		}
	}
	for stage, l := range r.Listeners() {
		if stage < lastExternal {
			delete(kept, l.Name)
		}
	}
	return kept
}

// keeps returns which columns of a listener are stored.
func (s stored) keeps(listener string, columns []dataset.Column) []bool {
	names, some := s[listener]
	keeps := make([]bool, len(columns))
	for i, c := range columns {
		keeps[i] = !some || slices.Contains(names, c.Name)
	}
	return keeps
}
