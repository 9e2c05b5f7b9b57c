package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Lanes lists the lanes of jobs.
type Lanes struct{ o *Options }

// Lane is what a lane has in a class.
type Lane struct {
	Class   string     `json:"class"` // report.NoLane: none
	Lane    string     `json:"lane"`  // report.NoLane: none
	Waiting int64      `json:"waiting"`
	Running int64      `json:"running"`
	Limit   int        `json:"limit"` // of the lane, over all classes; 0: none
	Oldest  *time.Time `json:"oldest,omitempty"`
}

// List returns the lanes with the most jobs, at most max, those with most waiting jobs first. Without lanes in the
// configuration it returns none.
func (l Lanes) List(ctx context.Context, max int) ([]Lane, error) {
	of := l.o.Config.Limits.Lanes
	if of == nil {
		return nil, nil
	}
	sums := map[[2]string]*Lane{}
	for _, s := range l.o.Scripts {
		found, err := s.Lanes.Queues(ctx, max)
		if err != nil {
			return nil, err
		}
		for _, q := range found {
			key := [2]string{q.Class, q.Lane}
			if sums[key] == nil {
				sums[key] = &Lane{Class: q.Class, Lane: report.LaneText(q.Lane), Limit: of.Running}
			}
			sum := sums[key]
			sum.Waiting, sum.Running = sum.Waiting+q.Waiting, sum.Running+q.Running
			if at := q.Oldest; !at.IsZero() && (sum.Oldest == nil || at.Before(*sum.Oldest)) {
				sum.Oldest = &at
			}
		}
	}
	var all []Lane
	for _, sum := range sums {
		all = append(all, *sum)
	}
	slices.SortFunc(all, func(a, b Lane) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Running, a.Running),
			strings.Compare(a.Class, b.Class), strings.Compare(a.Lane, b.Lane))
	})
	return all[:min(max, len(all))], nil
}

// laneFigures returns the figures of the lanes in a partition; none without lanes.
func laneFigures(of *report.Lanes, k *scripts.Keys) (all []measure) {
	if of == nil {
		return nil
	}
	for _, c := range of.All() {
		waiting := size("lanes_waiting", k.ClassWaiting(c.Name), "Ids of the class that wait for a turn of their lane.")
		running := size("lanes_running", k.ClassRunning(c.Name), "Jobs of the class that have a slot.")
		for _, m := range []measure{waiting, running} {
			m.Label, m.Of = "class", c.Name
			all = append(all, m)
		}
	}
	return append(all, length("turns_waiting", k.Next, "Ids that have had their turn and are not started yet."))
}
