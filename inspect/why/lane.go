package why

import (
	"cmp"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// place returns the place of an id in the queue of its lane; the zero value if it does not wait there.
func (d *diagnosis) place() scripts.Place { return *cmp.Or(d.Place, &scripts.Place{}) }

// lanes returns the limits of lanes; the zero value without lanes.
func (d *diagnosis) lanes() *report.Lanes { return cmp.Or(d.Limits.Lanes, &report.Lanes{}) }

// laneFull tells whether the lane of an id that waits has as many jobs as it may have, classFull the same of its
// class.
func laneFull(d *diagnosis) bool {
	return d.Place != nil && d.lanes().Running > 0 && d.Place.Running >= int64(d.lanes().Running)
}

func classFull(d *diagnosis) bool {
	limit := classLimit(d)
	return d.Place != nil && limit > 0 && d.Place.OfClass >= int64(limit)
}

// classLimit returns the limit of the class in which an id waits; 0: none.
func classLimit(d *diagnosis) int {
	for _, c := range d.lanes().Classes {
		if c.Name == d.place().Class {
			return c.Running
		}
	}
	return 0
}
