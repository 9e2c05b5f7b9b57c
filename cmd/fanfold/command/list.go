package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/show"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/moment"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

func newList(f *flags) *cobra.Command {
	var status, since, until, reason string
	var parameters []string
	var filter record.Filter
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List records, most recently changed first",
		Long: `List shows records, most recently changed first, with their parameters. It omits columns
without values: rows and created need such columns in the table, and started and duration
are known for jobs that run or ended recently. A terminal with fewer than 160 columns
shows neither created nor started. -o json prints everything. fanfold status also shows
the size of a file.

A record must match all filters:

    fanfold list --report tagged-withdrawals --status failed --since 1d --param tag=vip

--since and --until take a time or a duration before now, and compare it with the last
change of a record. --param compares the text of a value; for a list, it compares the JSON
that the database stores.

--why lists the records without a final status for which fanfold why gives this kind, with
the reason. It checks the 1,000 most recently changed records. The kinds are:

  ` + strings.Join(kindLines(), "\n  "),
		RunE: f.connected(func(c *cobra.Command, b *backend, _ []string) (err error) {
			filter.Status = report.Status(strings.ToUpper(status))
			if filter.Status != "" && !slices.Contains(report.Statuses, filter.Status) {
				return fault.Input.New("--status: %q is not one of %s", status, statusList())
			}
			if filter.Since, err = ago("--since", since); err != nil {
				return fault.Input.Of(err)
			}
			if filter.Until, err = ago("--until", until); err != nil {
				return fault.Input.Of(err)
			}
			if filter.Parameters, err = parameterFilter(parameters); err != nil {
				return err
			}
			if err := positive(limit); err != nil {
				return err
			}
			kind, maxRead := why.Kind(reason), limit
			if reason != "" && !slices.Contains(why.Kinds(), kind) {
				return fault.Input.New("--why: %q is not one of %s", reason, strings.Join(whyKinds(), ", "))
			} else if reason != "" {
				filter.Open, maxRead = true, maxWhy
			}
			jobs, err := b.Inspect.Jobs.List(c.Context(), filter, maxRead)
			if err != nil {
				return err
			}
			views := make([]listed, len(jobs))
			for i, j := range jobs {
				views[i].Job = j
			}
			if reason != "" {
				if views, err = waitingFor(c.Context(), b, views, kind, limit); err != nil {
					return err
				}
			}
			_, width := screen.Terminal(c.OutOrStdout())
			if len(views) == 0 && f.output != "json" {
				_, err := fmt.Fprintln(c.OutOrStdout(), "no records match")
				return err
			}
			return printList(f.printer, c, views, listHeader, func(v listed) table.Row {
				rows := ""
				if v.Rows != nil {
					rows = words.Grouped(*v.Rows)
				}
				return table.Row{
					v.ID, v.Report, v.Status, v.Attempt, rows, localTime(v.Created), localTime(v.Started),
					localTime(v.Ended),
					durationText(v.Job), parametersText(v.Job), show.About(v.Job), v.Why,
				}
			}, hiddenColumns(views, width)...)
		}),
	}
	c.Flags().StringVar(&status, "status", "",
		"only records with this status: "+statusList())
	offer(c, "status", statusNames()...)
	c.Flags().StringVar(&filter.Report, "report", "", "only records of this report")
	c.Flags().StringVar(&since, "since", "", "only records changed since then: 1d, noon, 09:30, yesterday, '2024-06-01 09:30', …")
	c.Flags().StringVar(&until, "until", "", "only records last changed before then")
	c.Flags().StringArrayVar(&parameters, "param", nil,
		"only records with this parameter, as `NAME=VALUE`; several must all match")
	c.Flags().StringVar(&reason, "why", "", "only records that wait for this reason: no-worker, retry-waiting, …")
	offer(c, "why", whyKinds()...)
	c.Flags().IntVar(&limit, "limit", 50, "maximum number of records")
	return c
}

// parameterFilter returns the values of parameters such as tag=vip, by name.
func parameterFilter(given []string) (map[string]string, error) {
	found := map[string]string{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fault.Input.New("--param %s: write NAME=VALUE", report.Shorten(text))
		}
		if _, twice := found[name]; twice {
			return nil, fault.Input.New("--param %s is given twice", report.Shorten(name))
		}
		found[name] = value
	}
	return found, nil
}

// listed is a record in a list.
type listed struct {
	inspect.Job
	Why string `json:"why,omitempty"` // what it waits for, with --why
}

// waitingFor returns up to limit of the records that wait for a reason of this kind.
func waitingFor(ctx context.Context, b *backend, views []listed, kind why.Kind, limit int) ([]listed, error) {
	byID, ids := map[string]listed{}, make([]string, len(views))
	for i, v := range views {
		byID[v.ID], ids[i] = v, v.ID
	}
	verdicts, err := why.OfKind(ctx, b.Inspect, ids, kind, limit)
	var found []listed
	for _, v := range verdicts {
		found = append(found, listed{byID[v.ID].Job, v.Summary})
	}
	return found, err
}

// maxWhy is the maximum number of records that list --why checks.
const maxWhy = 1000

// whyKinds returns the values of list --why.
func statusNames() (names []string) {
	for _, s := range report.Statuses {
		names = append(names, string(s))
	}
	return names
}

// statusList returns the statuses as in a sentence.
func statusList() string {
	names := statusNames()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func whyKinds() (names []string) {
	for _, k := range why.Kinds() {
		names = append(names, string(k))
	}
	return names
}

// kindLines returns the kinds in lines for the help.
func kindLines() (lines []string) {
	for some := range slices.Chunk(slices.Sorted(slices.Values(whyKinds())), 6) {
		lines = append(lines, strings.Join(some, ", "))
	}
	return lines
}

// wideTerminal is the minimum width of a terminal that shows all columns of a list.
const wideTerminal = 160

var listHeader = table.Row{
	"id", "report", "status", "attempt", "rows", "created", "started", "ended", "duration", "parameters",
	"file (error)", "why",
}

// hiddenColumns returns the columns of a list that have no values or do not fit on a terminal.
func hiddenColumns(views []listed, width int) (columns []table.ColumnConfig) {
	narrow := width > 0 && width < wideTerminal
	for name, has := range map[string]func(v listed) bool{
		"rows":     func(v listed) bool { return v.Rows != nil },
		"created":  func(v listed) bool { return v.Created != nil && !narrow },
		"started":  func(v listed) bool { return v.Started != nil && !narrow },
		"ended":    func(v listed) bool { return v.Ended != nil },
		"duration": func(v listed) bool { return v.Duration != nil },
		"why":      func(v listed) bool { return v.Why != "" },
	} {
		if !slices.ContainsFunc(views, has) {
			columns = append(columns, table.ColumnConfig{Number: slices.Index(listHeader, any(name)) + 1, Hidden: true})
		}
	}
	return columns
}

// localTime formats a time in the zone of this machine.
func localTime(at *time.Time) string {
	if at == nil {
		return ""
	}
	return at.Local().Format(time.DateTime)
}

// durationText formats how long the last attempt of a job took, or has been running.
func durationText(v inspect.Job) string {
	if v.Duration == nil {
		return ""
	}
	return words.Short(time.Duration(*v.Duration) * time.Millisecond)
}

// ago parses a time or a duration and returns how long ago that was; 0 for an empty text.
func ago(flag, text string) (time.Duration, error) {
	now := time.Now()
	at, err := moment.Ago(text, now, time.Local)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", flag, err)
	}
	if at.IsZero() {
		return 0, nil
	}
	return max(now.Sub(at), time.Microsecond), nil
}
