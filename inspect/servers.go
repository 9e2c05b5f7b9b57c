package inspect

import (
	"context"
	"slices"
)

// Servers are the masters of Redis.
type Servers struct{ o *Options }

// Unpublished returns the names of the keyspace events that the scheduler uses and Redis does not
// publish.
func (m Servers) Unpublished(ctx context.Context) (missing []string, err error) {
	servers, err := m.o.Scripts.Servers(ctx)
	if err != nil {
		return nil, err
	}
	for _, server := range servers {
		found, _, err := server.Unpublished(ctx)
		if err != nil {
			return nil, err
		}
		missing = append(missing, found...)
	}
	slices.Sort(missing)
	return slices.Compact(missing), nil
}

// EvictionPolicies returns the maxmemory-policy of all masters, each policy once.
func (m Servers) EvictionPolicies(ctx context.Context) (all []string, err error) {
	servers, err := m.o.Scripts.Servers(ctx)
	for _, server := range servers {
		info, err := server.Info(ctx, "memory")
		if err != nil {
			return nil, err
		}
		if policy := info["Memory"]["maxmemory_policy"]; policy != "" { // some managed servers hide it
			all = append(all, policy)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), err
}
