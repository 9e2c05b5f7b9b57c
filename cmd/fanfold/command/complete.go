package command

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

const (
	// completeTimeout bounds how long a shell waits for completions.
	completeTimeout = 2 * time.Second
	// maxCompletions is the maximum number of values of one kind.
	maxCompletions = 50
)

// completions maps a command to the function that finds values for its arguments.
var completions = map[string]func(context.Context, *backend) ([]string, error){
	"watch":  records(report.Processing, report.Pending),
	"cancel": records(report.Processing, report.Pending),
	"adopt":  records(report.Processing),
	"status": records(report.Processing, report.Pending, report.Failed, report.Partial, report.Success,
		report.Cancelled),
	"why": records(report.Processing, report.Pending, report.Failed, report.Partial, report.Success,
		report.Cancelled),
	"retry":              records(report.Failed, report.Partial, report.Cancelled, report.Success),
	"url":                records(report.Success, report.Partial),
	"dead discard":       deadIDs,
	"delay run":          delayedMembers,
	"delay rm":           delayedMembers,
	"timer set":          timerNames,
	"timer pause":        timerNames,
	"timer resume":       timerNames,
	"timer fire":         timerNames,
	"timer rm":           timerNames,
	"quarantine show":    quarantinedEntries,
	"quarantine requeue": quarantinedEntries,
	"quarantine rm":      quarantinedEntries,
}

// completeAll sets up the completion of arguments: ids, and names of timers, reports and listeners.
// Only flags complete to files.
func (f *flags) completeAll(root *cobra.Command) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), root.Name()), " ")
		if find := completions[path]; find != nil {
			c.ValidArgsFunction = f.completeFrom(find)
		} else if c.ValidArgsFunction == nil && !c.HasSubCommands() {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		c.Flags().VisitAll(func(flag *pflag.Flag) {
			names := map[string]func(*config.Config) []string{
				"report":    (*config.Config).ReportNames,
				"listeners": (*config.Config).ListenerNames,
			}[flag.Name]
			if _, taken := c.GetFlagCompletionFunc(flag.Name); names != nil && !taken {
				// It fails only if the flag does not exist or already has a function.
				_ = c.RegisterFlagCompletionFunc(flag.Name,
					func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
						config, err := process.LoadConfig(f.config, f.kinds)
						if err != nil {
							return nil, cobra.ShellCompDirectiveNoFileComp
						}
						return names(config), cobra.ShellCompDirectiveNoFileComp
					})
			}
		})
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root)
}

// completeFrom completes with values from the servers, except those already on the command line.
func (f *flags) completeFrom(find func(context.Context, *backend) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		const nothing = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 && !strings.Contains(c.Use, "…") {
			return nil, nothing
		}
		b, err := f.open(f.config)
		if err != nil {
			return nil, nothing
		}
		defer b.Close()
		ctx, cancel := context.WithTimeout(c.Context(), completeTimeout)
		defer cancel()
		all, _ := find(ctx, b) // without the server, there are no completions
		all = slices.DeleteFunc(all, func(one string) bool {
			name, about, _ := strings.Cut(one, "\t")
			unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
			return slices.Contains(args, name) || !strings.HasPrefix(name, begin) ||
				strings.ContainsFunc(name+about, unprintable)
		})
		return all, nothing | cobra.ShellCompDirectiveKeepOrder
	}
}

// records finds the ids of records with these statuses, in the order of the statuses and then most
// recently changed first.
func records(statuses ...report.Status) func(context.Context, *backend) ([]string, error) {
	return func(ctx context.Context, b *backend) (ids []string, err error) {
		for _, status := range statuses { // one query for each, so that MySQL can use an index on the status
			found, failed := b.Records.List(ctx, record.Filter{Status: status}, maxCompletions)
			err = cmp.Or(err, failed) // a table may have no PARTIAL
			for _, r := range found {
				ids = append(ids, r.ID+"\t"+r.Report+" "+string(r.Status))
			}
		}
		return ids, nil
	}
}

func deadIDs(ctx context.Context, b *backend) (ids []string, err error) {
	found, err := b.Inspect.Dead.List(ctx, func(inspect.DeadJob) bool { return true }, maxCompletions)
	for _, d := range found {
		ids = append(ids, d.ID+"\t"+d.Report)
	}
	return ids, err
}

func delayedMembers(ctx context.Context, b *backend) (members []string, err error) {
	found, err := b.Inspect.Delayed.List(ctx, func(inspect.Delayed) bool { return true }, maxCompletions)
	for _, d := range found {
		members = append(members, d.Member+"\t"+d.What)
	}
	return members, err
}

func timerNames(ctx context.Context, b *backend) (names []string, err error) {
	found, err := b.Inspect.Timers.List(ctx, func(string) bool { return true }, maxCompletions)
	for _, t := range found {
		names = append(names, t.Name+"\t"+t.State)
	}
	return names, err
}

func quarantinedEntries(ctx context.Context, b *backend) (entries []string, err error) {
	found, err := b.Inspect.Quarantine.List(ctx, func(inspect.Quarantined) bool { return true }, maxCompletions)
	for _, q := range found {
		entries = append(entries, q.Entry+"\t"+q.Reason)
	}
	return entries, err
}
