package inspect

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold/scripts"
)

// Slots are those of sources that limit their tasks.
type Slots struct{ o *Options }

// Holders returns the tasks that have a slot of a source, by source.
func (s Slots) Holders(ctx context.Context) (map[string][]scripts.Holder, error) {
	limited, err := s.limited(ctx)
	if err != nil {
		return nil, err
	}
	return s.o.Scripts.First().Limits.Holders(ctx, limited)
}

// Queue returns the tasks that wait in line for a slot of a source, by source, those that have waited longest first.
func (s Slots) Queue(ctx context.Context) (map[string][]scripts.Holder, error) {
	limited, err := s.limited(ctx)
	if err != nil {
		return nil, err
	}
	return s.o.Scripts.First().Limits.Queue(ctx, limited)
}

// Count counts the tasks that have a slot, by listener. It leaves out listeners whose source has
// no limit in the configuration.
func (s Slots) Count(held map[string][]scripts.Holder) map[string]int {
	counts := map[string]int{}
	for _, r := range s.o.Config.Reports {
		for _, l := range r.Listeners() {
			if s.o.Config.Sources[l.Source].Parallel > 0 {
				counts[l.Name] = 0
			}
		}
	}
	for _, holders := range held {
		for _, h := range holders {
			if _, ok := counts[h.Listener]; ok {
				counts[h.Listener]++
			}
		}
	}
	return counts
}

// limited returns the names of the sources that limit their tasks, sorted.
func (s Slots) limited(ctx context.Context) ([]string, error) {
	holds, err := s.o.Scripts.First().Gate.Recent(ctx)
	var names []string
	for name, source := range s.o.Config.Sources {
		if holds.Limit(scripts.PausedSource(name), source.Parallel) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, err
}
