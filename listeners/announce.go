package listeners

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// announce makes known which definitions this process has, until ctx ends.
func (r *Runner) announce(ctx context.Context) error {
	var ours []string
	for hash, rep := range r.definitions {
		ours = append(ours, scripts.DefinitionMember(rep.Name, hash))
	}
	tick := time.NewTicker(scripts.AnnounceEvery)
	defer tick.Stop()
	said := ""
	for {
		err := r.o.Scripts.Announce(ctx, ours)
		switch {
		case err == nil:
			said = ""
		case ctx.Err() == nil && said != err.Error():
			said = err.Error()
			r.log.Warn("trying again", "what", "announce definitions", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
