package inspect

import (
	"context"
	"fmt"

	"github.com/fanfold/fanfold/report"
)

// Place is where somebody has come in the events of each partition; nil: at their end.
type Place []string

// Finished counts how the jobs ended whose events come after a place, and returns the place
// after them. It reads them page by page.
func (in *Inspector) Finished(ctx context.Context, from Place) (map[report.Status]int, Place, error) {
	count, next := map[report.Status]int{}, make(Place, len(in.o.Scripts))
	for i, s := range in.o.Scripts {
		if from == nil {
			last, err := in.o.Redis.XRevRangeN(ctx, s.Keys.Events(), "+", "-", 1).Result()
			if err != nil {
				return nil, nil, fmt.Errorf("events: %w", err)
			}
			if next[i] = "0-0"; len(last) > 0 {
				next[i] = last[0].ID
			}
			continue
		}
		next[i] = from[i]
		for more := true; more; {
			found, err := in.o.Redis.XRangeN(ctx, s.Keys.Events(), "("+next[i], "+", pageSize).Result()
			if err != nil {
				return nil, nil, fmt.Errorf("events: %w", err)
			}
			for _, e := range found {
				next[i] = e.ID
				if status, ok := e.Values["status"].(string); ok && e.Values["event"] == "finished" {
					count[report.Status(status)]++
				}
			}
			more = len(found) == pageSize
		}
	}
	return count, next, nil
}
