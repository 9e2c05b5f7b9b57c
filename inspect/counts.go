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

// Counts counts the events after a cursor, and returns the cursor after them.
func (e Events) Count(ctx context.Context, from Cursor) (Counts, Cursor, error) {
	t, next := Counts{map[report.Status]int{}, map[string]int{}, map[string][]time.Duration{}}, make(Cursor, len(e.o.Scripts))
	for i, s := range e.o.Scripts {
		if from == nil {
			last, err := e.o.Redis.XRevRangeN(ctx, s.Keys.Events, "+", "-", 1).Result()
			if err != nil {
				return Counts{}, nil, fmt.Errorf("events: %w", err)
			}
			if next[i] = "0-0"; len(last) > 0 {
				next[i] = last[0].ID
			}
			continue
		}
		next[i] = from[i]
		for more := true; more; {
			found, err := e.o.Redis.XRangeN(ctx, s.Keys.Events, "("+next[i], "+", pageSize).Result()
			if err != nil {
				return Counts{}, nil, fmt.Errorf("events: %w", err)
			}
			for _, e := range found {
				next[i] = e.ID
				text := func(field string) string { s, _ := e.Values[field].(string); return s }
				switch text("event") {
				case "finished":
					t.Ended[report.Status(text("status"))]++
					for name, task := range job.ParseSummary(text("tasks")) {
						if task.Done && task.Policy == "" {
							t.Took[name] = append(t.Took[name], task.Took)
						}
					}
				case "retry":
					t.Failed[text("step")]++
				case "failing":
					t.Failed[text("by")]++
				case "omitted":
					t.Failed[text("listener")]++
				}
			}
			more = len(found) == pageSize
		}
	}
	return t, next, nil
}
