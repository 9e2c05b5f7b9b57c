package process

import (
	"context"
	"errors"
	"strconv"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/scripts"
)

// rights refuses a user of Redis who cannot run the commands that the roles need: jobs would
// stop at the first one. A partition whose server does not answer is not checked.
func (p checks) rights(ctx context.Context) error {
	for i, s := range p.Partitions {
		switch err := s.CheckRights(ctx); {
		case errors.Is(err, scripts.ErrRights):
			return fault.Unreachable.New("redis: %w: grant them with ACL SETUSER; "+
				"the guide Security has all rights that serve needs", err)
		case err != nil:
			p.log.Warn("cannot check the rights of the Redis user", "partition", strconv.Itoa(i), "err", err)
		}
	}
	return nil
}

// eviction logs if Redis may delete keys of running jobs. That is no reason to refuse the start:
// what is deleted is started again from the records.
func (p checks) eviction(ctx context.Context) {
	policies, err := p.Inspect.Servers.EvictionPolicies(ctx)
	if err != nil {
		p.log.Warn("cannot read the eviction policy of Redis", "err", err)
		return
	}
	for _, policy := range policies {
		if policy != "noeviction" {
			p.log.Warn("Redis deletes keys of running jobs when its memory is full: "+
				"set maxmemory-policy noeviction, in a Redis that only Fanfold uses",
				"maxmemory_policy", policy)
		}
	}
}
