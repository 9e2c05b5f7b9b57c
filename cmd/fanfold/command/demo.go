package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/demo"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// The reports of the demo, plain and with --full, and their parameters.
const (
	demoReport     = "tagged-withdrawals"
	demoFullReport = "customer-value"
	demoParameters = `{"tag": "vip", "from": "2024-06-01"}`
)

func newDemo(f *flags) *cobra.Command {
	var keep, full bool
	var dir string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Make a report on private servers with sample data",
		Long: `Demo starts a redis-server and a mariadbd on the loopback interface, fills them with
sample data, inserts a record, pushes its id with redis-cli, and shows the file. It stops
the servers at the end and keeps the file. It needs redis-server, redis-tools and
mariadb-server; make demo installs them.

With --full, the report has two stages with three queries, a slow HTTP API and an
external service. The demo starts the API and the service, too.`,
		RunE: func(c *cobra.Command, _ []string) error {
			d := demoRun{flags: f, dir: dir, keep: keep, full: full, out: c.OutOrStdout(), err: c.ErrOrStderr()}
			return d.run(c.Context())
		},
	}
	c.Flags().BoolVar(&keep, "keep", false, "keep the servers until Ctrl-C, and print addresses and commands to try")
	c.Flags().BoolVar(&full, "full", false, "include an HTTP API and an external service")
	c.Flags().StringVar(&dir, "dir", "fanfold-demo", "folder for the configuration, the log and the files")
	return c
}

// demoRun is one run of the command.
type demoRun struct {
	flags    *flags
	dir      string // is not deleted
	keep     bool
	full     bool
	out, err io.Writer
}

func (d *demoRun) run(ctx context.Context) (err error) {
	if d.dir, err = filepath.Abs(d.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	d.say("Starting a private redis-server and mariadbd, with sample data in plt_user and plt_fund …")
	servers, err := demo.Start(ctx, d.dir, d.full)
	if err != nil {
		return err
	}
	defer servers.Stop()
	b, err := d.flags.open(servers.Config)
	if err != nil {
		return err
	}
	defer b.Close()
	if d.keep {
		b.HTTP = servers.Site
	}
	db, err := b.OpenRecords()
	if err != nil {
		return err
	}
	migrations := []func(context.Context, *record.DB, string) ([]string, error){record.Migrate, record.MigrateTables}
	for _, migrate := range migrations {
		if _, err := migrate(ctx, db, b.Config.Records.Table); err != nil {
			return err
		}
	}

	logFile, err := os.Create(filepath.Join(d.dir, "serve.log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	serving, stop := context.WithCancelCause(ctx)
	served := make(chan error, 1)
	go func() {
		served <- b.Serve(serving, process.Roles, d.flags.logger(logFile))
		stop(errors.New("fanfold serve has ended; see " + logFile.Name()))
	}()
	defer func() {
		stop(context.Canceled)
		err = errors.Join(err, <-served)
	}()

	if d.full {
		d.say("The vendor of vendor.scores is %s, and a service reads fanfold:task:%s.", servers.Vendor,
			demo.ServiceListener)
		go func() {
			if err := (demo.Service{Redis: b.Blocking}).Run(serving); err != nil {
				stop(err)
			}
		}()
	}
	id, err := d.push(serving, b, servers)
	if err != nil {
		return cmp.Or(context.Cause(serving), err)
	}
	views, err := b.await(serving, []string{id}, d.err)
	if err != nil {
		return cmp.Or(context.Cause(serving), err)
	}
	if v := views[0]; v.Status != report.Success {
		return fault.JobFailed.New("record %s is %s: %s", v.ID, v.Status, v.Error)
	}
	if err := d.show(views[0]); err != nil {
		return err
	}
	if d.keep {
		if err := d.explain(serving, b, servers, id); err != nil {
			return err
		}
		<-serving.Done()
		if ctx.Err() == nil {
			return context.Cause(serving)
		}
	}
	return nil
}

// push inserts a record and pushes its id as a service does.
func (d *demoRun) push(ctx context.Context, b *backend, servers *demo.Servers) (string, error) {
	name := demoReport
	if d.full {
		name = demoFullReport
	}
	id, err := b.Records.Insert(ctx, record.Request{Report: name, Parameters: []byte(demoParameters)})
	if err != nil {
		return "", err
	}
	d.say("\nA service writes a record …\n  INSERT INTO file_download_record (report, parameters) VALUES ('%s', '%s');  -- id %s", name, demoParameters, id)
	args := append(slices.Clone(servers.RedisCLI), "XADD", b.Partitions.Of(id).Keys.Jobs, "*", "id", id)
	d.say("… and pushes its id:\n  %s\n", shellLine(args))
	if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("redis-cli: %w: %s", err, out)
	}
	return id, nil
}

// show prints the path of the file and its first lines.
func (d *demoRun) show(v inspect.Job) error {
	path := strings.TrimPrefix(v.File, "file://")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	d.say("\nRecord %s is %s. The first lines of its file:\n", v.ID, v.Status)
	n := 0
	for line := range strings.Lines(string(text)) {
		if n++; n <= 6 {
			d.say("  %s", strings.TrimSpace(line))
		}
	}
	d.say("  …\n\n%s, including the header, in\n  %s", words.Count(n, "row"), path)
	return nil
}

// explain prints addresses and commands to try while the demo runs.
func (d *demoRun) explain(ctx context.Context, b *backend, servers *demo.Servers, id string) error {
	cli := shellLine(servers.RedisCLI)
	page, err := b.pageLink(ctx, id, 24*time.Hour)
	if err != nil {
		return err
	}
	d.say(`
Fanfold and its servers run until you press Ctrl-C. Open in a browser:
  http://%[5]s/     # the dashboard for operators
  %[6]s     # the waiting page of this report, which needs no login
Try in another terminal:
  %[1]s XRANGE fanfold:events - +                         # started and finished attempts, and rare events
  %[1]s GET FileDownloadRecordEntity-%[2]s:ended             # how the job ended (deleted after a minute)
  %[1]s XINFO GROUPS fanfold:jobs                         # the consumer group of pushed ids
  %[4]s -c %[3]s list
  %[4]s -c %[3]s retry %[2]s --wait                     # run it again
  %[4]s -c %[3]s doctor`, cli, id, servers.Config, os.Args[0], servers.Site, page.URL)
	return nil
}

func (d *demoRun) say(format string, args ...any) {
	fmt.Fprintf(d.out, format+"\n", args...)
}

// shellLine formats a command as you type it in a shell.
func shellLine(args []string) string {
	line := strings.Join(args, " ")
	return strings.ReplaceAll(line, " * ", " '*' ")
}
