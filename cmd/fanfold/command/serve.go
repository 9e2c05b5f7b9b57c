package command

import (
	"slices"
	"strings"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/spf13/cobra"
)

func newServe(f *flags) *cobra.Command {
	var chosen, only []string
	var admin, pages string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run jobs: start them, run queries, write files, fire timers",
		Long: `Serve runs until it receives SIGINT or SIGTERM. Run any number of processes on any number
of machines. With --roles, a process does only a part of the work:

    engine     reads pushed ids, starts jobs, writes files, updates records, and
               restarts jobs that Redis has lost
    listeners  runs the queries
    scheduler  moves delayed ids, fails jobs after their deadline, fires timers

With --listeners, a process runs the queries of some listeners only, such as those whose
database it can reach: --roles listeners --listeners 'plt_fund.*'. Every listener needs a
process that runs it.

After the first signal, serve starts no new work. Running work may finish within
limits.shutdown_timeout; the rest is handed back. A second signal ends the process at once, as if it
was killed: other processes take over its work after the lease.

With --http, serve offers the dashboard for operators, an API for services at /api/v1/,
and pages for people who wait for a report. Use a loopback address, such as
--http 127.0.0.1:8080. Any other address needs http.users_file or http.trusted_header in
the configuration.

With --admin, serve offers /livez, /readyz and /metrics. /livez answers 200 while the roles
run or finish their work. /readyz answers 200 if the roles run, the process is not stopping,
every Redis master and the records' database answer within two seconds, and the last write
to the sink did not fail (with the role engine). Otherwise it answers 503 and says why. A
process that finds data of a newer release stops within seconds: it is not ready from then on.`,
		RunE: f.opened(func(c *cobra.Command, b *backend, _ []string) error {
			if len(chosen) == 0 {
				return fault.Input.New("--roles: none given: name one or more of %s", strings.Join(process.Roles, ", "))
			}
			for _, r := range chosen {
				if !slices.Contains(process.Roles, r) {
					return fault.Input.New("--roles: %q is not one of %s", r, strings.Join(process.Roles, ", "))
				}
			}
			if err := b.Restrict(only, chosen); err != nil {
				return err
			}
			if c.Flags().Changed("admin") {
				b.Config.Admin.Listen = admin
			}
			b.HTTP = pages
			return b.Serve(c.Context(), chosen, f.logger(c.ErrOrStderr()))
		}),
	}
	c.Flags().StringSliceVar(&chosen, "roles", process.Roles, "parts of the work that this process does")
	offer(c, "roles", process.Roles...)
	c.Flags().StringSliceVar(&only, "listeners", nil,
		"names or patterns of the listeners whose queries it runs; default: all")
	c.Flags().StringVar(&pages, "http", "", "host:port of the dashboard and the API; default: none")
	c.Flags().StringVar(&admin, "admin", "",
		"host:port for /livez, /readyz and /metrics; default: admin in the configuration, or none")
	return c
}
