package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/internal/stored"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func newValidate(f *flags) *cobra.Command {
	var schema bool
	c := &cobra.Command{
		Use:   "validate",
		Short: "Check the configuration file without any connection",
		RunE: func(c *cobra.Command, _ []string) error {
			if schema {
				text, err := config.Schema(f.kinds.Config())
				if err == nil {
					_, err = c.OutOrStdout().Write(text)
				}
				return err
			}
			config, err := process.LoadConfig(f.config, f.kinds)
			if err != nil {
				return err
			}
			var views []reportView
			for _, name := range slices.Sorted(maps.Keys(config.Reports)) {
				views = append(views, newReportView(config, config.Reports[name]))
			}
			err = printList(f.printer, c, views,
				table.Row{"report", "definition", "parameters", "stages", "timeout",
					"columns"}, func(v reportView) table.Row {
					var stages []string
					for _, s := range v.Stages {
						stages = append(stages, strings.Join(s, ", "))
					}
					return table.Row{v.Report, v.Definition, strings.Join(v.Parameters, ", "),
						strings.Join(stages, " → "), v.Timeout, strings.Join(v.Columns, ", ")}
				})
			if err != nil || f.output == "json" {
				return err
			}
			if _, err := fmt.Fprintln(c.OutOrStdout(), "read", strings.Join(config.Files, ", ")); err != nil {
				return err
			}
			for _, v := range views {
				for _, s := range v.Schedule {
					if _, err := fmt.Fprintln(c.OutOrStdout(), "schedule:", v.Report, s); err != nil {
						return err
					}
				}
			}
			for _, w := range config.Warnings {
				if _, err := fmt.Fprintln(c.OutOrStdout(), "warning:", w); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of the file for editors")
	return c
}

// reportView is the summary of a report.
type reportView struct {
	Report     string     `json:"report"`
	Definition string     `json:"definition"`
	Parameters []string   `json:"parameters"`
	Stages     [][]string `json:"stages"`
	Timeout    string     `json:"timeout"`
	Columns    []string   `json:"columns"`
	Schedule   []string   `json:"schedule,omitempty"`
	Warnings   []string   `json:"warnings,omitempty"`
}

func newReportView(c *config.Config, r *report.Report) reportView {
	v := reportView{Report: r.Name, Definition: r.Hash(), Timeout: r.Timeout.String(), Parameters: []string{},
		Columns: []string{}}
	for _, w := range c.Warnings {
		if strings.HasPrefix(w.Path, "reports."+r.Name+".") {
			v.Warnings = append(v.Warnings, w.Error())
		}
	}
	for _, t := range c.Timers.Schedules()[r.Name] {
		when := strings.TrimSpace(t.Cron.String() + t.Every.String() + " " + t.TimeZone)
		v.Schedule = append(v.Schedule, when+" "+string(t.Schedule.Parameters))
	}
	for _, p := range r.Parameters {
		v.Parameters = append(v.Parameters, p.Name)
	}
	for _, s := range r.Stages {
		var names []string
		for _, l := range s.Listeners {
			names = append(names, l.Name)
		}
		v.Stages = append(v.Stages, names)
	}
	for _, c := range r.File.Columns {
		v.Columns = append(v.Columns, c.Label)
	}
	return v
}

func newMigrate(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Create or update Fanfold's tables",
		Long: `Migrate creates the tables that must survive a loss of Redis (fanfold_meta,
fanfold_snapshot, fanfold_firing, fanfold_request, fanfold_shared, fanfold_history,
fanfold_audit) in the schema of the records, and fanfold_migrations, which lists the
completed steps. It also creates the table records.table, with its own
<records.table>_migrations, unless that table is yours, with records.columns or
records.statuses in the configuration. You can run it any number of times.`,
		RunE: f.opened(func(c *cobra.Command, b *backend, _ []string) error {
			r := b.Config.Records
			db, err := b.OpenRecords()
			if err != nil {
				return err
			}
			done := []string{}
			if len(r.Columns) == 0 && len(r.Statuses) == 0 {
				steps, err := record.Migrate(c.Context(), db, r.Table)
				if err != nil {
					return err
				}
				done = append(done, steps...)
			}
			steps, err := record.MigrateTables(c.Context(), db, r.Table)
			if err != nil {
				return err
			}
			if done = append(done, steps...); len(done) == 0 && f.output != "json" {
				done = []string{"nothing: all tables are up to date"}
				if v, err := b.Records.CheckVersions(c.Context()); err == nil && v.Steps > v.KnownSteps {
					done = []string{"nothing: a newer release made the tables, and this one can use them"}
				}
			}
			return f.printNames(c, "applied", done)
		}),
	}
}

func newDoctor(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check Redis, databases, APIs, the sink, the spool and the scratch folder",
		Long: `Doctor tests everything that the configuration names. It writes and deletes one object in
the sink and in the spool, and one scratch file, loads the scripts into Redis, and sets and
deletes a key of its own on every Redis server. It changes nothing else. The exit code is 1 if
a check fails.

Databases prepare the queries of the listeners, and read no rows. Doctor compares their
columns with those of the configuration, and plans every fold with their types.`,
		RunE: f.opened(func(c *cobra.Command, b *backend, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), 2*time.Minute)
			defer cancel()
			all := b.Examine(ctx)
			if err := b.CheckOwner(ctx); err != nil && !stored.IsNewer(err) { // that is a check of its own
				all = append(all, doctor.Finding{Check: "keys", Result: doctor.Fail, Detail: err.Error()})
			}
			if err := f.printFindings(c, all); err != nil {
				return err
			}
			if n := all.Count(doctor.Fail); n > 0 {
				return fmt.Errorf("%d of %d checks failed", n, len(all))
			}
			return nil
		}),
	}
}

func (p printer) printFindings(c *cobra.Command, all doctor.Findings) error {
	return printList(p, c, all, table.Row{"result", "check", "detail"}, func(f doctor.Finding) table.Row {
		if f.Hint != "" {
			f.Detail += "\n→ " + f.Hint
		}
		return table.Row{f.Result, f.Check, f.Detail}
	}, table.ColumnConfig{Number: 1, Transformer: coloured}, wrapped(3))
}

// coloured formats a result for a terminal.
func coloured(result any) string {
	colours := map[any]text.Color{doctor.Pass: text.FgGreen, doctor.Warn: text.FgYellow, doctor.Fail: text.FgRed}
	return cmp.Or(colours[result], text.Reset).Sprint(result)
}

// version is the version of the build; the Makefile sets it.
var version = "dev"

func newVersion(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(c *cobra.Command, _ []string) error {
			v := struct {
				Version  string `json:"version"`
				Revision string `json:"revision,omitempty"`
				Go       string `json:"go"`
			}{Version: version, Go: runtime.Version()}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						v.Revision = s.Value
					}
				}
			}
			rows := []table.Row{{"fanfold", v.Version}, {"revision", v.Revision}, {"go", v.Go}}
			if v.Revision == "" {
				rows = slices.Delete(rows, 1, 2)
			}
			return f.print(c, v, nil, rows)
		},
	}
}
