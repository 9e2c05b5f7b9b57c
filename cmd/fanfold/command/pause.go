package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate"
)

func newPause(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "pause",
		Short: "Pause a database, an API, a listener or a report",
		Long: `When you pause a source, which is a database or an API of the configuration, running queries
continue, and within a second no process starts a new one. A replica is a source of its own. The
answer lists the reports that wait, and their external listeners: you cannot pause these; stop
their services instead. When you pause a listener, the same holds for its tasks, in all reports
that have a listener of this name. When you pause a report, within a second no job of it starts.
Their ids wait in Redis and do not delay other jobs.

A pause lasts until its end, or until you resume it, even if Redis loses its memory (after
fanfold migrate). If you pause something again, it gets the new reason and end, or no end; with
--reason alone, only its reason changes. Pauses do not count as tries. The deadline of a job that
waits for a paused source or listener moves by that time, unless its report has
deadline_during_pause: runs.

    fanfold pause source fund --for 2h --reason "too many threads run"`,
	}
	c.AddCommand(
		pauseOf(f, "source", "Pause a database or an API: no new query starts", sourceNames),
		pauseOf(f, "listener", "Pause a listener: its new tasks wait", (*config.Config).ListenerNames),
		pauseOf(f, "report", "Pause a report: its new jobs wait", (*config.Config).ReportNames),
		&cobra.Command{
			Use: "ls", Aliases: []string{"list"}, Short: "List what is paused",
			RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
				list, err := b.Inspect.Pauses.List(c.Context())
				if err != nil {
					return err
				}
				return f.printPauses(c, list)
			}),
		},
	)
	return c
}

// sourceNames returns the names of the databases and APIs.
func sourceNames(c *config.Config) []string { return slices.Sorted(maps.Keys(c.Sources)) }

// termFlags are the flags of a change for a time.
type termFlags struct{ reason, length, until string }

func (t *termFlags) add(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&t.reason, "reason", "", "why, for people")
	c.Flags().StringVar(&t.length, "for", "", "for how long: 30m, 2h, 1d, …")
	c.Flags().StringVar(&t.until, "until", "", "until when: '2024-06-01 09:30', …")
	return c
}

// pauseOf returns the command that pauses something of a kind.
func pauseOf(f *flags, kind, short string, names func(*config.Config) []string) *cobra.Command {
	var terms termFlags
	return terms.add(named(f, kind+" NAME", short, names, func(c *cobra.Command, b *backend, name string) error {
		of, err := operate.TermsOf(terms.reason, terms.length, terms.until)
		if err != nil {
			return err
		}
		what := kind + "/" + name
		if of == (operate.Terms{Reason: of.Reason}) && of.Reason != "" {
			list, err := explained(c.Context(), b, what, of.Reason)
			if err != nil {
				return err
			} else if len(list) > 0 {
				return f.printPauses(c, list)
			}
		}
		one, err := b.Operate.Pauses.Pause(c.Context(), what, of)
		if err != nil {
			return err
		}
		return f.printPauses(c, []inspect.Pause{one})
	}))
}

// explained gives a pause that holds a reason, and returns it; none: there is no pause.
func explained(ctx context.Context, b *backend, what, reason string) ([]inspect.Pause, error) {
	find := func() ([]inspect.Pause, error) {
		list, err := b.Inspect.Pauses.List(ctx)
		return slices.DeleteFunc(list, func(p inspect.Pause) bool { return p.What != what }), err
	}
	if list, err := find(); err != nil || len(list) == 0 {
		return nil, err
	}
	if err := b.Operate.Pauses.Explain(ctx, what, reason); err != nil {
		return nil, err
	}
	return find()
}

func newResume(f *flags) *cobra.Command {
	c := &cobra.Command{
		Use:   "resume",
		Short: "Resume a paused database, API, listener or report",
		Long: `Resume ends a pause. Waiting tasks and ids start first.
A task that failed before keeps the time of its next try; fanfold delay run retries it now.
Resuming something that is not paused changes nothing.`,
	}
	resume := func(kind, short string, names func(*config.Config) []string) *cobra.Command {
		return named(f, kind+" NAME", short, names, func(c *cobra.Command, b *backend, name string) error {
			was, n, err := b.Operate.Pauses.Resume(c.Context(), kind+"/"+name)
			return f.printResumed(c, kind+"/"+name, was, n, err)
		})
	}
	c.AddCommand(
		resume("source", "Resume a database or an API", sourceNames),
		resume("listener", "Resume a listener", (*config.Config).ListenerNames),
		resume("report", "Resume a report", (*config.Config).ReportNames),
	)
	return c
}

// named returns a command whose argument is a name from the configuration.
func named(f *flags, use, short string, names func(*config.Config) []string,
	run func(c *cobra.Command, b *backend, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: f.complete(names),
		RunE: f.connected(func(c *cobra.Command, b *backend, args []string) error { return run(c, b, args[0]) }),
	}
}

func (p printer) printPauses(c *cobra.Command, list []inspect.Pause) error {
	titles := table.Row{"paused", "since", "until", "who", "reason", "reports", "waiting ids", "not paused"}
	return printList(p, c, list, titles, func(p inspect.Pause) table.Row {
		waiting, until := "", ""
		if p.Waiting > 0 {
			waiting = fmt.Sprint(p.Waiting)
		}
		if p.Until != nil {
			until = words.Stamp(*p.Until)
		}
		return table.Row{p.What, words.Stamp(p.Since), until, p.Who, p.Reason, strings.Join(p.Reports, ", "), waiting,
			strings.Join(p.External, ", ")}
	})
}

// printResumed prints the result of a resume, with the number of ids that it pushed for a report.
func (p printer) printResumed(c *cobra.Command, what string, was bool, released int, err error) error {
	if err != nil {
		return err
	}
	r := struct {
		What     string `json:"what"`
		Was      bool   `json:"was_paused"`
		Released int    `json:"released"`
	}{what, was, released}
	return p.print(c, r, table.Row{"resumed", "was paused", "ids pushed"}, []table.Row{{what, was, released}})
}
