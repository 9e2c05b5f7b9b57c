package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

func newAdopt(f *flags) *cobra.Command {
	var name string
	var all bool
	c := &cobra.Command{
		Use:   "adopt ID… | --report NAME | --all",
		Short: "Restart running jobs whose report definition no process has any more",
		Long: `A running job keeps the definition of its report that it was started with. After a
change of the configuration, and once no process is left that has the old definition,
the job would wait for its deadline. Adopt starts the next attempt of such a job with
the definition of this configuration, which a running process must have, too. What the
old attempt found is dropped.

A job whose definition some process still has goes on by itself and is refused.
With --report, all such jobs of a report are adopted, and with --all those of every
report; a job that ends or goes on by itself meanwhile is no error then. Adopting a job
twice starts one attempt. A report with on_change: restart in its configuration does
this by itself, after limits.grace.`,
		Args: cobra.ArbitraryArgs,
		RunE: f.withIDs(func(c *cobra.Command, b *backend, ids []string) error {
			listed, given := len(ids) == 0, 0
			for _, one := range []bool{!listed, name != "", all} {
				if one {
					given++
				}
			}
			if given != 1 {
				return usage(errors.New("give ids, --report NAME or --all"))
			}
			if name != "" && b.Config.Reports[name] == nil {
				return usage(b.noReport(name))
			}
			if listed {
				for _, s := range b.Partitions {
					found, _, err := s.Definitions.Orphans(c.Context())
					if err != nil {
						return err
					}
					for _, o := range found {
						if name == "" || o.Report == name {
							ids = append(ids, o.ID)
						}
					}
				}
				slices.Sort(ids)
			}
			done, err := each(ids, func(id string) (string, error) {
				what, err := b.adopt(c.Context(), id)
				if n, ok := errors.AsType[needless](err); ok && listed {
					return n.outcome, nil
				}
				return what, err
			})
			return cmp.Or(f.printOutcomes(c, done), err)
		}),
	}
	c.Flags().StringVar(&name, "report", "", "all such jobs of this report")
	c.Flags().BoolVar(&all, "all", false, "all such jobs")
	if err := c.RegisterFlagCompletionFunc("report", f.complete((*config.Config).ReportNames)); err != nil {
		panic(err) // the flag is not there
	}
	return c
}

// needless is the refusal of a job that need not be adopted. It is no error where nobody
// named the job: it may have changed since the jobs were listed.
type needless struct {
	error
	outcome string // for the table
}

func (n needless) Unwrap() error { return n.error }

// adopt starts the next attempt of a running job with the definition of this
// configuration, where no process has the one that it was started with.
func (b *backend) adopt(ctx context.Context, id string) (outcome string, err error) {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("record %s: %w: %s", id, engine.ErrNotAdopted, fmt.Sprintf(format, args...))
	}
	const goesOn = "goes on: a process has its definition"
	r, err := b.Inspect.Record(ctx, id)
	switch {
	case err != nil:
		return "", err
	case r.Status == report.Pending:
		return "", refuse("it is PENDING; fanfold submit %s pushes it", id)
	case r.Status.Final():
		return "", needless{refuse("it is %s; fanfold retry %s runs it again", r.Status, id), fmt.Sprintf("has ended: %s", r.Status)}
	}
	definition := b.Config.Reports[r.Report]
	if definition == nil {
		return "", refuse("its report %q is not in this configuration; add it, or end the job with fanfold cancel %s", r.Report, id)
	}
	state, err := b.Partitions.Of(id).Jobs.Read(ctx, id)
	switch {
	case errors.Is(err, scripts.ErrNoJob) || err == nil && state.Attempt < r.Attempt:
		return "", refuse("Redis does not know its attempt %d; fanfold submit %s starts the next one after limits.grace", r.Attempt, id)
	case err != nil:
		return "", err
	case state.Attempt > r.Attempt || !state.NeedsDefinition():
		return "", needless{refuse("its job is about to end"), "is about to end"}
	}
	old, today := scripts.DefinitionMember(state.Report, state.Definition), scripts.DefinitionMember(r.Report, definition.Hash())
	seen, err := b.Partitions.Home().Definitions.Seen(ctx)
	if err != nil {
		return "", err
	}
	if state.Definition == definition.Hash() {
		err := refuse("it runs with the definition of this configuration; fanfold why %s says what it waits for", id)
		if seen.Live(old) {
			err = needless{err, goesOn}
		}
		return "", err
	}
	if seen, err = b.settled(ctx, old); errors.Is(err, errDefinitionLives) {
		return "", needless{refuse("%v; it goes on there. To restart it nevertheless, use fanfold cancel %s and fanfold retry %s", err, id, id), goesOn}
	} else if err != nil {
		return "", err
	}
	if !seen.Live(today) {
		return "", refuse("no process has the definition of report %s in this configuration, either: start fanfold serve with it, or name the configuration that the processes use with --config", r.Report)
	}
	ok, err := engine.Adopt(ctx, b.Records, b.Partitions.Of(id), definition, r)
	switch {
	case ok && err != nil:
		return fmt.Sprintf("adopted, attempt %d, but not yet in Redis: %v", r.Attempt+1, err), nil
	case err != nil:
		return "", err
	case !ok:
		return "", needless{refuse("it has another attempt or status by now"), "has another attempt or status by now"}
	}
	return fmt.Sprintf("adopted, attempt %d", r.Attempt+1), nil
}

// errDefinitionLives means that some process has a definition.
var errDefinitionLives = errors.New("a process has the definition that it was started with")

// settled waits until it is known that no process has a definition: one that had it a
// moment ago may have been stopped since, or says so again soon.
func (b *backend) settled(ctx context.Context, member string) (scripts.Seen, error) {
	tick := time.NewTicker(scripts.AnnounceEvery / 4)
	defer tick.Stop()
	var first time.Time
	for {
		seen, err := b.Partitions.Home().Definitions.Seen(ctx)
		if err != nil || !seen.Live(member) {
			return seen, err
		}
		if first.IsZero() {
			first = seen.Last[member]
		} else if seen.Last[member].After(first) {
			return seen, errDefinitionLives
		}
		select {
		case <-ctx.Done():
			return seen, ctx.Err()
		case <-tick.C:
		}
	}
}
