package dashboard

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold/engine"
)

// source is a database or an API that listeners ask.
type source struct {
	Name string
	Away string // why it cannot be connected to; empty: it can
}

// reachEvery is how often sources are connected to.
const reachEvery = 15 * time.Second

// sources are asked aside: one that hangs holds up no page.
type sources struct {
	mu     sync.Mutex
	known  []source
	asked  time.Time
	asking sync.WaitGroup
}

// look returns what is known, and asks anew if that is old.
func (s *sources) look(ask func() []source) []source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.asked) > reachEvery {
		s.asked = time.Now()
		s.asking.Go(func() {
			found := ask()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.known = found
		})
	}
	return s.known
}

// reach connects to every source at once.
func reach(ctx context.Context, o Options) []source {
	names := map[string]bool{}
	for _, r := range o.Reports {
		for _, l := range r.Listeners() {
			if l.Source != "" {
				names[l.Source] = true
			}
		}
	}
	all := make([]source, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, source{Name: name})
	}
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			if err := o.Inspect.Reach(ctx, all[i].Name); err != nil {
				all[i].Away = engine.Reason(err)
			}
		})
	}
	group.Wait()
	return all
}
