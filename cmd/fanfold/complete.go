package main

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
	"github.com/fanfold/fanfold/engine/record"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

const (
	// completeTime is how long a shell waits for what it offers.
	completeTime = 2 * time.Second
	// maxOffered is how many of a kind are offered.
	maxOffered = 50
)

// offered are what a shell offers as arguments of commands, as far as it can be found.
var offered = map[string]func(context.Context, *backend) ([]string, error){
	"submit":             records(report.Pending),
	"watch":              records(report.Processing, report.Pending),
	"cancel":             records(report.Processing, report.Pending),
	"adopt":              records(report.Processing),
	"status":             records(report.Processing, report.Pending, report.Failed, report.Partial, report.Success, report.Cancelled),
	"why":                records(report.Processing, report.Pending, report.Failed, report.Partial, report.Success, report.Cancelled),
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

// completeAll has a shell offer what the commands take: ids, names of timers, reports and listeners.
// Files are offered for flags alone.
func (f *flags) completeAll(root *cobra.Command) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), root.Name()), " ")
		if find := offered[path]; find != nil {
			c.ValidArgsFunction = f.found(find)
		} else if c.ValidArgsFunction == nil && !c.HasSubCommands() {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		c.Flags().VisitAll(func(flag *pflag.Flag) {
			names := map[string]func(*config.Config) []string{"report": (*config.Config).ReportNames, "listeners": (*config.Config).ListenerNames}[flag.Name]
			if _, taken := c.GetFlagCompletionFunc(flag.Name); names != nil && !taken {
				// The error is that there is no such flag, or that it has a function.
				_ = c.RegisterFlagCompletionFunc(flag.Name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
					config, err := process.LoadConfig(f.config)
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

// found offers what the servers know, but for what the command line has.
func (f *flags) found(find func(context.Context, *backend) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		const nothing = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 && !strings.Contains(c.Use, "…") {
			return nil, nothing
		}
		b, err := open(f.config)
		if err != nil {
			return nil, nothing
		}
		defer b.Close()
		ctx, cancel := context.WithTimeout(c.Context(), completeTime)
		defer cancel()
		all, _ := find(ctx, b) // a server that is away has nothing to offer
		all = slices.DeleteFunc(all, func(one string) bool {
			name, about, _ := strings.Cut(one, "\t")
			odd := func(r rune) bool { return !unicode.IsPrint(r) }
			return slices.Contains(args, name) || !strings.HasPrefix(name, begin) || strings.ContainsFunc(name+about, odd)
		})
		return all, nothing | cobra.ShellCompDirectiveKeepOrder
	}
}

// records finds the ids of records with these statuses, in their order, those that were changed last
// first.
func records(statuses ...report.Status) func(context.Context, *backend) ([]string, error) {
	return func(ctx context.Context, b *backend) (ids []string, err error) {
		for _, status := range statuses { // one by one, so that an index on the status serves
			found, failed := b.Records.List(ctx, record.Filter{Status: status}, maxOffered)
			err = cmp.Or(err, failed) // a table can do without PARTIAL
			for _, r := range found {
				ids = append(ids, r.ID+"\t"+r.Report+" "+string(r.Status))
			}
		}
		return ids, nil
	}
}

func deadIDs(ctx context.Context, b *backend) (ids []string, err error) {
	found, err := b.Inspect.Dead(ctx, func(inspect.DeadJob) bool { return true }, maxOffered)
	for _, d := range found {
		ids = append(ids, d.ID+"\t"+d.Report)
	}
	return ids, err
}

func delayedMembers(ctx context.Context, b *backend) (members []string, err error) {
	found, err := b.Inspect.Delayed(ctx, func(inspect.Delayed) bool { return true }, maxOffered)
	for _, d := range found {
		members = append(members, d.Member+"\t"+d.What)
	}
	return members, err
}

func timerNames(ctx context.Context, b *backend) (names []string, err error) {
	found, err := b.Inspect.Timers(ctx, func(string) bool { return true }, maxOffered)
	for _, t := range found {
		names = append(names, t.Name+"\t"+t.State)
	}
	return names, err
}

func quarantinedEntries(ctx context.Context, b *backend) (entries []string, err error) {
	found, err := b.Inspect.Quarantine(ctx, func(inspect.Quarantined) bool { return true }, maxOffered)
	for _, q := range found {
		entries = append(entries, q.Entry+"\t"+q.Reason)
	}
	return entries, err
}
