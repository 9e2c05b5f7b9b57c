package inspect

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// Pauses are those of listeners and reports.
type Pauses struct{ o *Options }

// Pause is a pause of a listener or a report.
type Pause struct {
	What    string    `json:"what"` // listener/<name> or report/<name>
	Since   time.Time `json:"since"`
	Waiting int64     `json:"waiting"` // ids of a report
	Reports []string  `json:"reports"` // that the pause concerns: those of the configuration that have the listener
}

// Pauses lists the paused listeners and reports, by name.
func (p Pauses) List(ctx context.Context) ([]Pause, error) {
	found, err := p.o.Scripts.Paused(ctx)
	if err != nil {
		return nil, err
	}
	list := []Pause{}
	for _, member := range slices.Sorted(maps.Keys(found)) {
		one := p.Of(member, found[member])
		if name, ok := strings.CutPrefix(member, scripts.PausedReport("")); ok {
			for _, s := range p.o.Scripts {
				n, err := s.Sets.Len(ctx, s.Keys.Waiting(name))
				if err != nil {
					return nil, err
				}
				one.Waiting += n
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// Of returns a pause, with the reports that it concerns. The ids that wait are not counted.
func (p Pauses) Of(what string, since time.Time) Pause {
	pause := Pause{What: what, Since: since, Reports: []string{}}
	listener, _ := strings.CutPrefix(what, scripts.PausedListener(""))
	for _, name := range slices.Sorted(maps.Keys(p.o.Config.Reports)) {
		_, _, has := p.o.Config.Reports[name].Listener(listener)
		if has || what == scripts.PausedReport(name) {
			pause.Reports = append(pause.Reports, name)
		}
	}
	return pause
}
