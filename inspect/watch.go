package inspect

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// Watcher is shown what becomes of jobs.
type Watcher interface {
	// Look shows how a job stands, which may be as it was before.
	Look(v Job) error
	// Event shows what was told of a job.
	Event(e Event) error
}

const (
	// pollEvery is how often jobs without events are read: events can be trimmed, and
	// rows of a listener that runs have none.
	pollEvery = 500 * time.Millisecond
	// maxPolled is how many jobs are read every time. Of more, only those with events are;
	// one query tells which records are final.
	maxPolled = 10
)

// Watch follows jobs until their records are final.
func (in *Inspector) Watch(ctx context.Context, ids []string, show Watcher) ([]Job, error) {
	follow, err := follow(ctx, in)
	if err != nil {
		return nil, err
	}
	ended, ours := map[string]Job{}, map[string]bool{}
	for _, id := range ids {
		ours[id] = true
	}
	told := ids
	for first := true; ; first = false {
		var waiting []string
		for _, id := range ids {
			if _, ok := ended[id]; !ok {
				waiting = append(waiting, id)
			}
		}
		if len(waiting) > maxPolled && !first {
			// One query tells which have ended.
			records, err := in.records.Read(ctx, waiting)
			if err != nil {
				return nil, err
			}
			waiting = slices.DeleteFunc(waiting, func(id string) bool {
				r, ok := records[id]
				return ok && !r.Status.Final() && !slices.Contains(told, id)
			})
		}
		for _, id := range waiting {
			v, err := watched(ctx, in, id)
			if err != nil {
				return nil, err
			}
			if err := show.Look(v); err != nil {
				return nil, err
			}
			if v.Status.Final() { // DELETED, too
				ended[id] = v
			}
		}
		if len(ended) == len(ours) {
			break
		}
		if told, err = follow.next(ctx, pollEvery, func(e Event) (bool, error) {
			if _, final := ended[e.ID]; final || !ours[e.ID] {
				return false, nil
			}
			return true, show.Event(e)
		}); err != nil {
			return nil, err
		}
	}
	var views []Job
	for _, id := range ids {
		views = append(views, ended[id])
	}
	return views, nil
}

// Deleted is the status that is shown for a record whose row has gone.
const Deleted report.Status = "DELETED"

// watched is Job, for a record that existed and may be deleted.
func watched(ctx context.Context, in *Inspector, id string) (Job, error) {
	v, err := in.Job(ctx, id)
	if errors.Is(err, engine.ErrNoRecord) {
		return Job{ID: id, Status: Deleted, Error: "the record was deleted"}, nil
	}
	return v, err
}
