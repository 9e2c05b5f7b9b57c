package command

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/record"
)

func newRepartition(f *flags) *cobra.Command {
	var from string
	var restart bool
	c := &cobra.Command{
		Use:   "repartition --from FILE",
		Short: "Move waiting work to another number of partitions, or to another Redis",
		Long: `Repartition moves everything that waits from the Redis and the partitions of an earlier
configuration to those of --config: pushed and delayed ids, ids of paused reports, timers
(including fired ones whose action is not done), pauses, and the lists of dead jobs and
quarantined entries. Both configurations must name the same records. Repartition deletes
the other keys of the earlier partitions, including the events, and no keys of another
installation.

First let all jobs end with the earlier configuration, then stop all processes and the
pushes of your services. Repartition fails if something is added while it runs; you can
run it again.

With --restart, repartition gives up running jobs. Their next attempts start after
limits.recover_after, when a process runs with the new configuration.`,
		Args: cobra.NoArgs,
		RunE: f.opened(func(c *cobra.Command, b *backend, _ []string) error {
			if from == "" {
				return fault.Input.New("--from: name the earlier configuration")
			}
			old, err := f.open(from)
			if err != nil {
				return err
			}
			defer old.Close()
			moved, err := b.moveFrom(c.Context(), old, restart)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(),
				"%d ids and timers were moved from %s to %s partitions: start the processes with the new configuration\n", moved, old.Layout(), b.Layout())
			return err
		}),
	}
	c.Flags().StringVar(&from, "from", "", "the earlier configuration")
	c.Flags().BoolVar(&restart, "restart", false, "give up running jobs and start their next attempts")
	return c
}

// moveFrom moves waiting work from the partitions of an earlier configuration and returns the number of
// ids and timers that it moved.
func (b *backend) moveFrom(ctx context.Context, old *backend, restart bool) (int, error) {
	if old.Layout() == b.Layout() && reflect.DeepEqual(old.Config.Redis, b.Config.Redis) {
		return 0, fault.Input.New("--from has the same Redis and partitions as --config: name the earlier configuration")
	}
	noted, err := b.Records.NotePartitions(ctx, old.Layout())
	switch {
	case errors.Is(err, record.ErrPartitions):
		return 0, fault.Input.New("--from: jobs were started with %s partitions, but this configuration has %s",
			noted, old.Layout())
	case err != nil && !errors.Is(err, recovery.ErrNoTables):
		return 0, err
	}
	for _, p := range append(slices.Clone(old.Partitions), b.Partitions...) {
		if err := p.Epoch.CheckVersion(ctx); err != nil {
			return 0, err
		}
	}
	processes, err := old.Partitions.First().Definitions.Processes(ctx)
	if err != nil {
		return 0, err
	}
	if len(processes) > 0 {
		return 0, fmt.Errorf("processes still run with the earlier configuration: stop them and run this again (after 10 seconds if you killed one): %s", strings.Join(processes, ", "))
	}
	for _, p := range old.Partitions {
		running, err := p.Jobs.Running(ctx)
		if err != nil {
			return 0, err
		}
		if running > 0 && !restart {
			return 0, fmt.Errorf("%d jobs run in %s: let them end with the earlier configuration, or restart them with --restart", running, p.Keys.Prefix)
		}
	}
	moved, err := recovery.Move(ctx, old.Partitions, b.Partitions, old.Redis, b.Redis)
	if err != nil {
		return moved, err
	}
	if err := b.Records.SetPartitions(ctx, b.Layout()); err != nil && !errors.Is(err, recovery.ErrNoTables) {
		return moved, err
	}
	return moved, nil
}
