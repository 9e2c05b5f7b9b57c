package engine

import (
	"context"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// EndOnce tells those that share a run that jobs of these reports have ended, or their waits. If it fails, the
// trigger's sweep finds them.
func (e *Engine) EndOnce(ctx context.Context, ends ...OnceEnd) {
	var all []scripts.OnceEnd
	for _, end := range ends {
		if r := e.Reports[end.Report]; r != nil && r.Once != nil {
			end.Window = r.Once.Window
			all = append(all, end.OnceEnd)
		}
	}
	if len(all) == 0 {
		return
	}
	short, cancel := context.WithTimeout(ctx, SlotsTime)
	defer cancel()
	if err := scripts.EndOnce(short, e.Partitions, all...); err != nil {
		e.Log.Debug("could not tell those that share a run of its end; a sweep will", "jobs", len(all), "err", err)
	}
}

// OnceEnd is a scripts.OnceEnd of a report. EndOnce sets the window.
type OnceEnd struct {
	scripts.OnceEnd
	Report string
}

// EndOf returns the end of an attempt with a final status.
func EndOf(of, id string, attempt int64, status report.Status) OnceEnd {
	end := OnceEnd{scripts.OnceEnd{ID: id, Whole: status == report.Success}, of}
	if status.HasFile() {
		end.Attempt = attempt
	}
	return end
}
