package dashboard

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// source is a database or an API that listeners ask.
type source struct {
	Name string
	Away string // why it cannot be connected to; empty: it can
	// Since is when that was seen first.
	Since time.Time
}

// versions are those of processes, sorted, each once.
func versions(processes []string) (all []string) {
	for _, p := range processes {
		if v := report.VersionOf(p); v != "" {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sourceRow is a source on the page of listeners.
type sourceRow struct {
	source
	Bound report.Bound
	Used  int64 // slots
	Jobs  int   // that wait for one of its listeners
	// Of the last hour, as far as this process has seen it: how many tries of its listeners have
	// failed, how many queries per minute succeeded, and how long at most 95 % of those took.
	Failed int
	Rate   float64
	P95    time.Duration
}

// sourceRows are the sources of all listeners.
func (d *Dashboard) sourceRows(s *sample, rows []listener, tried tries) (all []sourceRow) {
	for _, one := range s.Sources {
		row := sourceRow{source: one, Bound: d.o.Bounds[one.Name], Used: s.Used[one.Name]}
		var took durations
		for _, l := range rows {
			if l.Source != one.Name {
				continue
			}
			row.Jobs += l.Jobs
			row.Failed += tried.failed[l.Name]
			if its := tried.took[l.Name]; its != nil {
				took.add(its)
			}
		}
		row.Rate, row.P95 = float64(took.count())/max(s.At.Sub(tried.since).Minutes(), 1), took.quantile(0.95)
		all = append(all, row)
	}
	return all
}

const (
	// reachEvery is how often sources are connected to.
	reachEvery = 15 * time.Second
	// settingsEvery is how often the settings of Redis are tested, and whether the sink answers.
	settingsEvery = time.Minute
)

// aside is what is asked beside the samples: a server that hangs holds up no page.
type aside[T any] struct {
	mu     sync.Mutex
	known  T
	asked  time.Time
	asking sync.WaitGroup
}

// look returns what is known, and asks anew if that is old.
func (s *aside[T]) look(every time.Duration, ask func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.asked) > every {
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

// settings are those of Redis that Fanfold depends on.
type settings struct {
	Known    bool
	Missing  []string // events that schedulers use and Redis does not publish
	Policies []string // that evict keys: every maxmemory-policy other than noeviction
	Err      string   // why they could not be tested
}

// readSettings triggers the events and reads the policies.
func readSettings(ctx context.Context, o Options) settings {
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	missing, err := o.Inspect.Unpublished(ctx)
	policies, other := o.Inspect.EvictionPolicies(ctx)
	e := settings{Known: true, Missing: missing, Policies: slices.DeleteFunc(policies, func(p string) bool { return p == "noeviction" })}
	if err := cmp.Or(err, other); err != nil {
		e.Err = engine.Reason(err)
	}
	return e
}

// readSink asks the sink, and returns why it does not answer.
func readSink(ctx context.Context, o Options) string {
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	if err := o.Sink(ctx); err != nil {
		return engine.Reason(err)
	}
	return ""
}

// reach connects to every source at once. Those that were away before are so since then.
func reach(ctx context.Context, o Options, before []source) []source {
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
				all[i].Away, all[i].Since = engine.Reason(err), time.Now()
				if was := slices.IndexFunc(before, func(s source) bool { return s.Name == all[i].Name && s.Away != "" }); was >= 0 {
					all[i].Since = before[was].Since
				}
			}
		})
	}
	group.Wait()
	return all
}
