package command

import (
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/operate"
)

func newConfig(f *flags) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Show the configuration"}
	c.AddCommand(newConfigShow(f))
	return c
}

func newConfigShow(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "show [REPORT]",
		Short: "Show the configuration that is in force, without secrets",
		Long: `Show reads the configuration file without any connection, and prints it as one YAML file: with the
included files, the SQL of query_file, the values of environment variables and the defaults,
and without anchors. A comment at every report has the hash of its definition, its stages, what
each listener waits for, and the timers of its schedules. With -o json they are data. With
REPORT, it prints that report alone.

*** stands for every secret: DSNs, the URLs of Redis, APIs, traces and calls of timers,
passwords, headers, keys and users. Names of files with secrets remain. In the requests
of APIs and the fields of append, it stands for values with a name such as token. A variable that a secret uses,
too, stays ${NAME} elsewhere. With the secrets in place of ***, the output is a
configuration with the same definitions.`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: f.complete((*config.Config).ReportNames),
		RunE: func(c *cobra.Command, args []string) error {
			view, err := process.ShowConfig(f.config, f.kinds)
			if err != nil {
				return err
			}
			for _, name := range args {
				r, err := operate.ReportOf(view.Config.Reports, name)
				if err != nil {
					return err
				}
				view.Only(r.Name)
			}
			if f.output == "json" {
				return printJSON(c.OutOrStdout(), view.JSON())
			}
			text, err := view.YAML()
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(text)
			return err
		},
	}
}
