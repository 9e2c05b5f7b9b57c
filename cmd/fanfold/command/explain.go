package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/plan"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

func newExplain(f *flags) *cobra.Command {
	var id string
	var last bool
	c := &cobra.Command{
		Use:   "explain [REPORT]",
		Short: "Show the stages of a report and how its fold runs",
		Long: `Explain shows the stages of a report and the steps of its fold, without any connection.
For a join, it prints the SELECT that it stands for.

With --job or --last it also shows what a job of the report really found: the rows of every
listener, of every step of the fold and of the file, from the manifest of the file, or of a
running job from Redis. The steps also say how they ran: in memory, merged by the order of the
rows, spilled to the scratch file, or in parallel. With --job, you can omit REPORT: the record
names it.

The rows of the last job are the best estimate for the next one: they know how many rows the
queries find and match, those of APIs and of later stages, too. --job and --last together print
them beside those of a job, as expected ones.`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: f.complete((*config.Config).ReportNames),
		RunE: func(c *cobra.Command, args []string) error {
			loaded, err := process.LoadConfig(f.config, f.kinds)
			if err != nil {
				return err
			}
			name, err := f.explained(c, args, id)
			if err != nil {
				return err
			}
			r, err := operate.ReportOf(loaded.Reports, name)
			if err != nil {
				return err
			}
			of, err := plan.Of(r)
			if err != nil {
				return err
			}
			lines := of.Lines()
			if id != "" || last {
				err = f.connected(func(c *cobra.Command, b *backend, _ []string) error {
					job, err := b.found(c, of, id, "")
					if err == nil && id != "" && last {
						err = b.expect(c, of, id)
					}
					lines = append([]string{job}, of.Lines()...)
					return err
				})(c, args)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), strings.Join(lines, "\n"))
			return err
		},
	}
	c.Flags().StringVar(&id, "job", "", "also show what the job of this record found")
	c.Flags().BoolVar(&last, "last", false, "also show what the last job with a file found; with --job, the last other one")
	return c
}

// explained returns the name of the report: that on the command line, or of the record with this id.
func (f *flags) explained(c *cobra.Command, args []string, id string) (name string, err error) {
	switch {
	case len(args) > 0:
		return args[0], nil
	case id == "":
		return "", fault.Input.New("REPORT is missing: name a report, or a record with --job ID")
	}
	err = f.connected(func(c *cobra.Command, b *backend, _ []string) error {
		if err := operate.CheckID(id); err != nil {
			return err
		}
		v, err := b.Inspect.Jobs.Get(c.Context(), id)
		name = v.Report
		return err
	})(c, args)
	return name, err
}

// expect adds to the plan of a job what the last other job of the report with a file found.
func (b *backend) expect(c *cobra.Command, of *plan.Plan, id string) error {
	other, err := plan.Of(of.Report)
	if err == nil {
		_, err = b.found(c, other, "", id)
	}
	if err == nil {
		of.Expect(other)
	}
	return err
}

// found adds to a plan what the job of a record found; without an id, the last job of the report with a file, except
// one. It returns a line about the job.
func (b *backend) found(c *cobra.Command, of *plan.Plan, id, except string) (string, error) {
	r := of.Report
	if id == "" {
		newest, err := b.newestFile(c, r.Name, except)
		if err != nil {
			return "", err
		}
		id = newest.ID
	} else if err := operate.CheckID(id); err != nil {
		return "", err
	}
	v, err := b.Inspect.Jobs.Get(c.Context(), id)
	if err != nil {
		return "", err
	}
	if v.Report != r.Name {
		return "", fault.Input.New("record %s is of report %s: fanfold explain %[2]s --job %[1]s", id, v.Report)
	}
	of.AddJob(v, func(l inspect.Listener) string { return stepText(l, true) })
	job := fmt.Sprintf("job: %s, attempt %d, %s", v.ID, v.Attempt, v.Status)
	other := func() string {
		if of.Other == "" {
			return ""
		}
		return fmt.Sprintf(", with definition %s: this one is %s", of.Other, r.Hash())
	}
	if v.File == "" {
		return job + other(), nil
	}
	at, err := b.Object(c.Context(), v.ID, v.File)
	if err != nil {
		return "", err
	}
	m, err := sink.ReadManifest(c.Context(), at.Sink, at.Name)
	switch {
	case errors.Is(err, sink.ErrNoObject):
		return job + ", without a manifest", nil
	case err != nil:
		return "", err
	}
	of.AddManifest(m)
	return job + other(), nil
}

// newestFile returns the record of a report that got its file last, except one.
func (b *backend) newestFile(c *cobra.Command, name, except string) (engine.Record, error) {
	var all []engine.Record
	var failed error
	for _, status := range []report.Status{report.Success, report.Partial} {
		some, err := b.Inspect.Jobs.Search(c.Context(), record.Filter{Report: name, Status: status}, 2)
		all = append(all, some...)
		if status == report.Success { // a table may have no PARTIAL
			failed = err
		}
	}
	if failed != nil {
		return engine.Record{}, failed
	}
	all = slices.DeleteFunc(all, func(r engine.Record) bool { return r.ID == except })
	if len(all) == 0 && except != "" {
		return engine.Record{}, fault.NotFound.New(
			"no job of report %s but that of record %s has made a file: omit --last to show that one alone", name, except)
	}
	if len(all) == 0 {
		return engine.Record{}, fault.NotFound.New("no job of report %s has made a file: fanfold run %[1]s runs one", name)
	}
	return slices.MinFunc(all, func(a, b engine.Record) int { return int(a.Age - b.Age) }), nil
}
