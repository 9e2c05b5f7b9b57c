package dashboard

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fanfold/fanfold/report"
)

// source is a database or an API that listeners query.
type source struct {
	Name string
	// Unreachable is the error of the last connection; empty: it succeeded. Since is when it failed first.
	Unreachable string
	Since       time.Time
}

// versions returns the distinct versions of processes, sorted.
func versions(processes []string) (all []string) {
	for _, p := range processes {
		if v := report.VersionOf(p); v != "" {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const (
	// sourcesEvery is how often the dashboard connects to the sources.
	sourcesEvery = 15 * time.Second
	// settingsEvery is how often it tests the settings of Redis.
	settingsEvery = time.Minute
)

// settings are the settings of Redis that Fanfold depends on.
type settings struct {
	Known    bool     // they were tested
	Missing  []string // keyspace events that schedulers use and Redis does not publish
	Policies []string // policies that evict keys: every maxmemory-policy other than noeviction
	Err      string   // of the test; empty: none
}

// readSettings tests the events and reads the policies.
func readSettings(ctx context.Context, o Options) settings {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	missing, err := o.Inspect.Servers.Unpublished(ctx)
	policies, _ := o.Inspect.Servers.EvictionPolicies(ctx) // a server may refuse INFO
	policies = slices.DeleteFunc(policies, func(p string) bool { return p == "noeviction" })
	e := settings{Known: true, Missing: missing, Policies: policies}
	if err != nil {
		e.Err = err.Error()
	}
	return e
}

// connectAll connects to all sources at once. A source that was unreachable before keeps its Since.
func connectAll(ctx context.Context, o Options, before []source) []source {
	var all []source
	for _, name := range slices.Sorted(maps.Keys(listenersOf(o))) {
		all = append(all, source{Name: name})
	}
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			if err := o.Inspect.Sources.Reach(ctx, all[i].Name); err != nil {
				all[i].Unreachable, all[i].Since = err.Error(), time.Now()
				was := slices.IndexFunc(before,
					func(s source) bool { return s.Name == all[i].Name && s.Unreachable != "" })
				if was >= 0 {
					all[i].Since = before[was].Since
				}
			}
		})
	}
	group.Wait()
	return all
}
