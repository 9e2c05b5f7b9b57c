package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/show"
	"github.com/fanfold/fanfold/internal/screen"
)

const (
	// topEvery is the shortest time between two refreshes.
	topEvery = 2 * time.Second
	// topJobs is the maximum number of jobs where no terminal bounds it.
	topJobs = 1000
)

func newTop(f *flags) *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use:   "top",
		Short: "Show running jobs and waiting tasks, and refresh",
		Long: `Top shows the running jobs, the next deadline first, and for every listener its waiting
tasks and its workers. On a terminal, it refreshes every 2 seconds; q or Ctrl-C ends it.
Otherwise, and with --once or -o json, it prints up to 1,000 jobs once.`,
		Args: cobra.NoArgs,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			file, _ := screen.Terminal(c.OutOrStdout())
			if file != nil && !once && f.output == "table" {
				return screen.Draw(c.Context(), file, topEvery, b.frame)
			}
			t, err := b.Inspect.Top(c.Context(), b.Config.ListenerNames(), topJobs)
			if err != nil {
				return err
			}
			if f.output == "json" {
				return printJSON(c.OutOrStdout(), t)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), strings.Join(show.Top(t, 0, 0, false), "\n"))
			return err
		}),
	}
	c.Flags().BoolVar(&once, "once", false, "print once and exit")
	return c
}

// frame returns the lines of a terminal: what runs now, or the error.
func (b *backend) frame(ctx context.Context, width, height int) []string {
	t, err := b.Inspect.Top(ctx, b.Config.ListenerNames(), height)
	if err != nil {
		text := screen.Visible("fanfold top: " + err.Error() + "\nRetrying.")
		return strings.Split(screen.Wrap(text, max(1, width)), "\n")
	}
	return show.Top(t, width, height, screen.Colours())
}
