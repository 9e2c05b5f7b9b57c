package command

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/internal/stored"
	"github.com/fanfold/fanfold/scripts"
)

// Main runs the command line of the process and ends the process with its exit code. The configuration
// can choose the kinds of the command fanfold, and more.
func Main(more ...kinds.Kind) {
	// go-redis also returns what it logs as an error.
	logging.Disable()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal kills the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, more...))
}

// flags are the flags that all commands share.
type flags struct {
	kinds kinds.Kinds
	printer
	config   string
	logLevel slog.Level
	logJSON  bool
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, more ...kinds.Kind) int {
	failures := screen.New(stderr)
	all, err := kinds.With(more...)
	if err != nil {
		fmt.Fprintln(failures, "fanfold:", err)
		return exitFailure
	}
	root := newRoot(all)
	root.SetArgs(args)
	root.SetOut(screen.New(stdout))
	root.SetErr(failures)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(failures, "fanfold:", message(err))
		return exitCode(err)
	}
	return exitOK
}

// message formats an error for the user.
func message(err error) string {
	text := err.Error()
	if scripts.Full(err) {
		text += "\nRedis is full: it accepts no new data until running jobs end or maxmemory is raised; see fanfold doctor"
	}
	if strings.Contains(text, "redis: invalid reply") {
		text += "\nThe server under redis in the configuration is not a Redis server: check its host and port"
	}
	return text
}

func newRoot(all kinds.Kinds) *cobra.Command {
	f := flags{kinds: all}
	root := &cobra.Command{
		Use:   "fanfold",
		Short: "Report downloads from many data sources, coordinated in Redis",
		Long: `Fanfold makes report downloads that need data from many places. A service pushes
a record id into Redis. Listeners query their data sources, Fanfold joins the results
into a file, and the record gets the path of the file.

Exit codes: 0 ok, 1 failure, 2 usage or configuration, 3 not found,
4 job failed, 5 backend unreachable or login refused, 6 the stored data is
of a newer release.`,
		Version:      version,
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if f.output != "table" && f.output != "json" {
				return fault.Input.New("--output %q is neither table nor json", f.output)
			}
			return nil
		},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return fault.Input.Of(suggestFlag(c, err)) })
	p := root.PersistentFlags()
	p.StringVarP(&f.config, "config", "c", cmp.Or(os.Getenv("FANFOLD_CONFIG"), "fanfold.yaml"),
		"configuration file; also $FANFOLD_CONFIG")
	p.StringVarP(&f.output, "output", "o", "table", "table or json")
	p.Var((*level)(&f.logLevel), "log-level", "debug, info, warn or error")
	offer(root, "output", "table", "json")
	offer(root, "log-level", "debug", "info", "warn", "error")
	p.BoolVar(&f.logJSON, "log-json", false, "write logs as JSON lines")
	root.AddCommand(
		newServe(&f), newRun(&f), newSubmit(&f), newWatch(&f), newStatus(&f), newURL(&f), newWhy(&f), newTop(&f),
		newList(&f), newFloods(&f), newRetry(&f), newCancel(&f), newAdopt(&f),
		newDead(&f), newDelay(&f), newTimer(&f), newQuarantine(&f), newPause(&f), newResume(&f), newLimit(&f),
		newAudit(&f), newUser(),
		newInit(&f), newValidate(&f), newConfig(&f), newExplain(&f), newTest(&f), newDoctor(&f), newMigrate(&f),
		newRepartition(&f), newDemo(&f), newVersion(&f),
	)
	f.checkArgs(root)
	f.completeAll(root)
	return root
}

// The exit codes are a contract: scripts rely on them.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitJobFailed   = 4
	exitUnreachable = 5
	exitNewer       = 6
)

// exitCodes has the exit codes of errors that have a kind.
var exitCodes = map[fault.Kind]int{
	fault.Input:       exitUsage,
	fault.Config:      exitUsage,
	fault.NotFound:    exitNotFound,
	fault.JobFailed:   exitJobFailed,
	fault.Unreachable: exitUnreachable,
	fault.Login:       exitUnreachable,
}

// exitCode returns the exit code of an error. Joined errors have the highest one of their codes.
func exitCode(err error) int {
	code, hasKind := exitCodes[fault.KindOf(err)]
	joined, isJoined := err.(interface{ Unwrap() []error })
	var problems decode.Problems
	var network net.Error
	switch {
	case errors.As(err, &problems), strings.HasPrefix(err.Error(), "unknown command"):
		return exitUsage
	case errors.Is(err, fault.JobFailed):
		return exitJobFailed
	case isJoined:
		code = max(code, exitFailure)
		for _, one := range joined.Unwrap() {
			code = max(code, exitCode(one))
		}
		return code
	case stored.IsNewer(err):
		return exitNewer
	case hasKind:
		return code
	case refusesLogin(err), errors.As(err, &network), errors.Is(err, driver.ErrBadConn):
		return exitUnreachable
	}
	return exitFailure
}

// refusesLogin reports whether Redis answered and refused the login.
func refusesLogin(err error) bool {
	return redis.HasErrorPrefix(err, "NOAUTH") || redis.HasErrorPrefix(err, "WRONGPASS")
}
