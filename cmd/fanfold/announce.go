package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/fanfold/fanfold/scripts"
)

// announce tells the other processes, until ctx ends, which definitions this one has.
func (b *backend) announce(ctx context.Context, log *slog.Logger) {
	var ours []string
	for _, r := range b.config.Reports {
		ours = append(ours, scripts.DefinitionMember(r.Name, r.Hash()))
	}
	tick := time.NewTicker(scripts.AnnounceEvery)
	defer tick.Stop()
	said := ""
	for {
		err := b.scripts.Announce(ctx, ours)
		switch {
		case err == nil:
			said = ""
		case ctx.Err() == nil && said != err.Error():
			said = err.Error()
			log.Warn("trying again", "what", "announce definitions", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
