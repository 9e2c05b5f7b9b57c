package job

import (
	"bytes"
	"time"

	"github.com/fanfold/fanfold/report"
)

// Usable tells whether a listener whose tries have failed may use the dataset that an earlier job of its report has
// left: of the same definition of the listener and parameters, no older than its max age, by Redis's clock, and with
// all columns of stored, as of Readings.
func Usable(
	r *report.Report, l *report.Listener, stored map[string][]string, good *State, parameters []byte, now time.Time,
) bool {
	task := good.Tasks[l.Name]
	return task.Done && good.Report == r.Name && now.Before(task.KeptUntil) &&
		now.Sub(task.ReadAt()) <= l.OnFailure.Stale &&
		good.Keep.Definitions[l.Name] == report.ListenerHash(r, l) && lacking(l, stored, task) == "" &&
		bytes.Equal(good.Parameters, parameters)
}
