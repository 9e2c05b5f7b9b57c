package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/show"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

const (
	// topEvery is the shortest time between two refreshes.
	topEvery = 2 * time.Second
	// topJobs is the maximum number of jobs.
	topJobs = 1000
)

func newTop(f *flags) *cobra.Command {
	var once bool
	var sort string
	c := &cobra.Command{
		Use:   "top",
		Short: "Show running jobs and waiting tasks, and refresh",
		Long: `Top shows the running jobs, the next deadline first, and for every listener its waiting
tasks and its workers. The status RETRY means that a step has failed and will be retried,
and WAIT that one waits, such as for a slot. On a terminal, it refreshes every 2 seconds:
j and k scroll, s orders, / filters, ? shows all keys, and q or Ctrl-C ends it. Otherwise,
and with --once or -o json, it prints up to 1,000 jobs once. --sort data has the jobs with
the most data first, and --sort age those that have run longest.`,
		Args: cobra.NoArgs,
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) error {
			order := slices.Index(show.Orders(), sort)
			if order < 0 {
				return fault.Input.New("--sort: %q is not one of %s", sort, strings.Join(show.Orders(), ", "))
			}
			file, _ := screen.Terminal(c.OutOrStdout())
			if file != nil && !once && f.output == "table" {
				view := &topView{show.View{Colours: screen.Colours(), Order: order}, b}
				return screen.Draw(c.Context(), file, topEvery, view)
			}
			t, err := b.Inspect.Top(c.Context(), b.Config.ListenerNames(), topJobs)
			if err != nil {
				return err
			}
			if f.output == "json" {
				show.Sort(t.Jobs, order)
				return printJSON(c.OutOrStdout(), t)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), strings.Join(show.Top(t, order), "\n"))
			return err
		}),
	}
	c.Flags().BoolVar(&once, "once", false, "print once and exit")
	c.Flags().StringVar(&sort, "sort", show.Orders()[0], "order of the jobs: "+strings.Join(show.Orders(), ", "))
	offer(c, "sort", show.Orders()...)
	return c
}

// topView is the overview of a backend.
type topView struct {
	show.View
	b *backend
}

// Reading implements screen.View.
func (v *topView) Reading() func(context.Context) func() {
	filter := v.Filter()
	return func(ctx context.Context) func() {
		t, err := v.b.Inspect.Top(ctx, v.b.Config.ListenerNames(), topJobs)
		var matches map[string]bool
		if err == nil {
			matches, err = v.b.matches(ctx, t.Jobs, filter)
		}
		return func() { v.Show(t, filter, matches, err) }
	}
}

// matches returns the ids of the jobs that a filter by a parameter or by a kind of why matches; nil: it is neither.
func (b *backend) matches(ctx context.Context, jobs []inspect.Running, filter string) (map[string]bool, error) {
	found := map[string]bool{}
	if name, value, ok := strings.Cut(filter, "="); ok && name != "" {
		records, err := b.Inspect.Jobs.Search(ctx, record.Filter{
			Status: report.Processing, Parameters: map[string]string{name: value},
		}, topJobs)
		for _, r := range records {
			found[r.ID] = true
		}
		return found, err
	}
	kind := why.Kind(filter)
	if !slices.Contains(why.Kinds(), kind) {
		return nil, nil
	}
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	verdicts, err := why.OfKind(ctx, b.Inspect, ids, kind, topJobs)
	for _, v := range verdicts {
		found[v.ID] = true
	}
	return found, err
}
