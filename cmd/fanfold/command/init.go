package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/starter"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

func newInit(f *flags) *cobra.Command {
	var o starter.Options
	c := &cobra.Command{
		Use:   "init",
		Short: "Inspect databases and write a first configuration",
		Long: `Init reads the tables, columns and indexes of your databases. It writes a commented
configuration with a first report over two tables that can be joined, from two databases if
you give two.

    export PLT_FUND_PASSWORD=… PLT_USER_PASSWORD=…
    fanfold init --redis redis://127.0.0.1:6379/0 \
      --database plt_fund=mysql://app@127.0.0.1:3306/plt_fund \
      --database plt_user=mysql://app@127.0.0.1:3307/plt_user

Init reads the password of the database NAME from the environment variable NAME_PASSWORD
(in capitals) and that of Redis from REDIS_PASSWORD. To use another variable, write
${OTHER} in place of the password: 'mysql://app:${OTHER}@host/schema'. The file contains
the names of the variables and no secrets. Init also accepts a DSN as in the
configuration.

Init changes nothing in the databases and does not overwrite an existing file.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Kinds, o.Folder, o.Open = f.kinds.Config(), f.kinds.Sinks.Folder, f.openTables
			if _, err := os.Lstat(o.File); err == nil {
				return exists(o.File)
			}
			p, err := starter.Propose(c.Context(), o)
			if err != nil {
				return err
			}
			file, err := os.OpenFile(o.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return exists(o.File)
			} else if err != nil {
				return err
			}
			_, err = file.Write(p.Text)
			if err := errors.Join(err, file.Close()); err != nil {
				return err
			}
			return f.printProposal(c, o.File, p)
		},
	}
	o.Lookup, o.Now = os.LookupEnv, time.Now()
	c.Flags().StringVar(&o.Redis, "redis", "redis://127.0.0.1:6379/0", "URL of Redis, without password")
	c.Flags().StringArrayVar(&o.Databases, "database", nil,
		starter.AddressForms(f.kinds.Config(), false)+", without password; repeat for every database")
	c.Flags().StringVar(&o.Records, "records", "",
		"DATABASE or DATABASE.TABLE of the records; default: Fanfold's existing table, or a new one in the first database")
	c.Flags().StringVar(&o.Sink, "sink", "", f.kinds.Config().SinkForms()+
		"; default: the folder fanfold-files next to the configuration")
	c.Flags().StringVar(&o.File, "out", "fanfold.yaml", "configuration file to write")
	return c
}

// openTables opens a database whose tables init reads.
func (f *flags) openTables(d report.Database) (starter.Database, error) {
	of, _ := f.kinds.Sources.Of(d.Kind)
	opened, err := of.OpenDatabase(d)
	if err != nil {
		return nil, err
	}
	db, ok := opened.(starter.Database)
	if !ok {
		return nil, errors.Join(fmt.Errorf("init cannot read tables of a database of kind %s", d.Kind), opened.Close())
	}
	return db, nil
}

func exists(file string) error {
	return fault.Input.New("--out %s: the file exists: name another file, or remove it", file)
}

// printProposal prints what was written and what to do next.
func (out printer) printProposal(c *cobra.Command, file string, p *starter.Proposal) error {
	// Database and table: in PostgreSQL, a name with a dot would be that of a schema.
	database, table, _ := strings.Cut(p.Records, ".")
	tables := "the table " + table + " in database " + database + ", and Fanfold's other tables"
	command, parameter := os.Args[0], ""
	if file != "fanfold.yaml" {
		command += " -c " + file
	}
	if p.Parameter != "" {
		parameter = " --param " + p.Parameter
	}
	if p.Exists {
		tables = "Fanfold's other tables"
	}
	run := fmt.Sprintf("%s run %s%s --file %[2]s.csv", command, p.Report, parameter)
	if out.output == "json" {
		return printJSON(c.OutOrStdout(), map[string]any{
			"file": file, "report": p.Report, "records": p.Records, "variables": append([]string{}, p.Variables...),
			"next": []string{command + " migrate", command + " doctor", command + " serve", run},
		})
	}
	text := fmt.Sprintf("Wrote %s. Its report %s shows %s.\n", file, p.Report, p.Joins)
	if p.Exists {
		text += fmt.Sprintf("The records are in the existing table %s in database %s.\n", table, database)
	}
	if len(p.Variables) > 0 {
		text += fmt.Sprintf("Every fanfold command needs these environment variables: %s.\n",
			strings.Join(p.Variables, ", "))
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), `%s
Review the file. Then:
  %[2]s migrate    # creates %[3]s
  %[2]s doctor     # checks Redis, the databases, the queries and the sink
  %[2]s serve      # runs jobs; leave it running, and continue in another terminal
  %[4]s
`, text, command, tables, run)
	return err
}
