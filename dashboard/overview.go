package dashboard

import (
	"context"
	"net/http"
	"time"
)

// listPages makes the pages that show what the samples contain.
type listPages struct {
	o       Options
	sampler *sampler
	plans   map[string]*picture // by report
}

// overview is the content of the start page.
type overview struct {
	NoWorkers []string
	Charts    []chart
}

func (l listPages) overview(_ context.Context, _ *http.Request, s *sample) (string, any, error) {
	drawn := charts(l.sampler.points(), s.Minutes, time.Now())
	return "Overview", overview{NoWorkers: l.noWorkers(s), Charts: drawn}, nil
}

// noWorkers returns the listeners without a worker.
func (l listPages) noWorkers(s *sample) []string {
	var names []string
	for _, name := range l.o.Listeners {
		if s.Figures.Known("tasks_workers", name) && s.Figures.Of("tasks_workers", name) == 0 {
			names = append(names, name)
		}
	}
	return names
}
