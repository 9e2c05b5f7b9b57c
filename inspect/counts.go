package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// Events are the stream of what happens to jobs.
type Events struct{ o *Options }

// Cursor is a position in the events of every partition; nil: at their end.
type Cursor []string

// Counts counts what the events of some time tell.
type Counts struct {
	Ended  map[report.Status]int      // jobs
	Failed map[string]int             // failed tries, by step, such as a listener
	Took   map[string][]time.Duration // queries that succeeded, by listener, of jobs that have ended
}

// Count counts the events after a cursor, and returns the cursor after them.
func (e Events) Count(ctx context.Context, from Cursor) (Counts, Cursor, error) {
	t, next := Counts{map[report.Status]int{}, map[string]int{}, map[string][]time.Duration{}},
		make(Cursor, len(e.o.Scripts))
	for i, s := range e.o.Scripts {
		if from == nil {
			last, err := s.Entries.Last(ctx, s.Keys.Events)
			if err != nil {
				return Counts{}, nil, fmt.Errorf("events: %w", err)
			}
			next[i] = last
			continue
		}
		next[i] = from[i]
		for more := true; more; {
			found, full, err := s.Entries.After(ctx, s.Keys.Events, next[i])
			if err != nil {
				return Counts{}, nil, fmt.Errorf("events: %w", err)
			}
			for _, e := range found {
				next[i] = e.ID
				switch e.Fields["event"] {
				case "finished":
					t.Ended[report.Status(e.Fields["status"])]++
					for name, task := range job.ParseSummary(e.Fields["tasks"]) {
						if task.Done && task.Policy == "" {
							t.Took[name] = append(t.Took[name], task.Took)
						}
					}
				case "retry":
					t.Failed[e.Fields["step"]]++
				case "failing":
					t.Failed[e.Fields["by"]]++
				case "omitted":
					t.Failed[e.Fields["listener"]]++
				}
			}
			more = full
		}
	}
	return t, next, nil
}
