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
}

// Pauses lists the paused listeners and reports, by name.
func (p Pauses) List(ctx context.Context) ([]Pause, error) {
	found, err := p.o.Scripts.Paused(ctx)
	if err != nil {
		return nil, err
	}
	list := []Pause{}
	for _, member := range slices.Sorted(maps.Keys(found)) {
		one := Pause{What: member, Since: found[member]}
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
