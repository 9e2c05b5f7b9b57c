package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/show"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/inspect/watch"
	"github.com/fanfold/fanfold/inspect/why"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/screen"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate/backfill"
	"github.com/fanfold/fanfold/report"
)

// backfillFlags are the flags with which submit creates a record for every period of a range.
type backfillFlags struct {
	ranges      [3]string // of backfill.Units
	parameters  []string
	as          []string
	running     int
	retryFailed bool
	dryRun      bool
}

// each is the name of the flag for periods of a unit.
func each(of backfill.Unit) string { return "each-" + string(of) }

func (b *backfillFlags) add(c *cobra.Command) {
	for i, of := range backfill.Units {
		c.Flags().StringVar(&b.ranges[i], each(of), "", "run REPORT for every "+string(of)+
			" of the range `FIRST..LAST`, such as 2024-01-01..2024-03-31 or today-30d..yesterday")
	}
	c.Flags().StringArrayVar(&b.parameters, "param", nil, "with --each-…: a parameter of every record, as `NAME=VALUE`; repeat for every parameter")
	c.Flags().StringSliceVar(&b.as, "as", nil,
		"with --each-…: `PARAMETER` for the first day of a period, or two, FIRST,LAST, for its first and last day")
	c.Flags().IntVar(&b.running, "running", 4, "with --each-…: maximum number of its jobs that have not ended")
	c.Flags().BoolVar(&b.retryFailed, "retry-failed", false, "with --each-…: run FAILED records of the range again")
	c.Flags().BoolVar(&b.dryRun, "dry-run", false, "with --each-…: print the periods and their records, and change nothing")
}

// given tells whether a flag asks for a backfill.
func (b *backfillFlags) given(c *cobra.Command) bool {
	return slices.ContainsFunc(backfill.Units, func(of backfill.Unit) bool { return c.Flags().Changed(each(of)) })
}

// unit returns the unit and the range. It fails if two units are given, or flags that the command does not take.
func (b *backfillFlags) unit(c *cobra.Command) (of backfill.Unit, days string, err error) {
	for i, one := range backfill.Units {
		switch {
		case !c.Flags().Changed(each(one)):
		case of != "":
			return "", "", fault.Input.New("--%s and --%s: give one of them", each(of), each(one))
		default:
			of, days = one, b.ranges[i]
		}
	}
	for _, name := range []string{"in", "at", "wait"} {
		if c.Flags().Changed(name) {
			return "", "", fault.Input.New("--%s does not apply to --%s, which starts at once and waits", name, each(of))
		}
	}
	if b.running < 1 {
		return "", "", fault.Input.New("--running: %d is less than 1", b.running)
	}
	return of, days, nil
}

// unused fails if a flag is given that only a backfill takes.
func (b *backfillFlags) unused(c *cobra.Command) error {
	for _, name := range []string{"param", "as", "running", "retry-failed", "dry-run"} {
		if c.Flags().Changed(name) {
			return fault.Input.New("--%s requires --each-day, --each-week or --each-month", name)
		}
	}
	return nil
}

// run creates the records and waits for their jobs.
func (b *backfillFlags) run(f *flags, c *cobra.Command, on *backend, args []string) error {
	of, days, err := b.unit(c)
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return fault.Input.New("--%s takes one report, not %s", each(of), words.Count(len(args), "argument"))
	}
	r, err := on.Operate.Jobs.Report(args[0])
	if err != nil {
		return err
	}
	fill := &backfill.Backfill{
		Inspect: on.Inspect, Jobs: on.Operate.Jobs, Report: r, Running: b.running, RetryFailed: b.retryFailed,
	}
	if fill.Dates, err = backfill.Dates(r, b.as); err != nil {
		return err
	}
	if len(fill.Dates) == 1 && len(b.as) == 0 && of != backfill.Day {
		c.PrintErrf("warning: %s is the only date of %s and gets the first day of every %s; --each-day runs it for all days\n",
			fill.Dates[0], r.Name, of)
	}
	periods, err := backfill.Range(days, of, time.Now(), r.TimeZone)
	if err != nil {
		return fmt.Errorf("--%s: %w", each(of), err)
	}
	if fill.Runs, err = b.runs(r, fill.Dates, periods); err != nil {
		return err
	}
	if err := fill.Find(c.Context()); err != nil {
		return err
	}
	if b.dryRun {
		return printRuns(f, c, fill.Runs)
	}
	if err := on.warnUnservedReports(c, r.Name); err != nil {
		return err
	}
	progress := newProgress(fill.Runs, c.ErrOrStderr(), f.output, b.retryFailed)
	fill.Show = progress
	err = fill.Go(callerContext(c))
	progress.close()
	if err != nil {
		if c.Context().Err() != nil {
			err = context.Cause(c.Context())
		} else if len(progress.runs) == 0 {
			return err // nothing has begun
		}
		return fmt.Errorf("%w\n%d of %s have ended, and jobs that run continue. The same command goes on from here", err,
			progress.ended, words.Count(len(fill.Runs), "period"))
	}
	if err := printRuns(f, c, fill.Runs); err != nil {
		return err
	}
	return failedRuns(fill.Runs)
}

// runs returns the periods with the parameters of their records.
func (b *backfillFlags) runs(r *report.Report, dates []string,
	periods []backfill.Period) (runs []*backfill.Run, err error) {
	for _, given := range b.parameters {
		if name, _, _ := strings.Cut(given, "="); slices.Contains(dates, name) {
			return nil, fault.Input.New("--param %s: the period sets it; if it should set others, name them with --as", name)
		}
	}
	for _, period := range periods {
		given := slices.Clone(b.parameters)
		for i, day := range []string{period.First, period.Last}[:len(dates)] {
			given = append(given, dates[i]+"="+day)
		}
		parameters, err := parseParameters(r, given)
		if err != nil {
			return nil, fault.Input.Of(err)
		}
		runs = append(runs, &backfill.Run{Period: period, Parameters: parameters})
	}
	return runs, nil
}

// runView is a period in the output.
type runView struct {
	backfill.Period
	ID         string          `json:"id,omitempty"` // of the record; empty: it has none
	Status     report.Status   `json:"status,omitempty"`
	Existed    bool            `json:"existed"` // before this command
	Attempt    int64           `json:"attempt,omitempty"`
	File       string          `json:"file,omitempty"`
	Error      string          `json:"error,omitempty"`
	Parameters json.RawMessage `json:"parameters"` // of the record, without defaults
}

func printRuns(f *flags, c *cobra.Command, runs []*backfill.Run) error {
	var views []runView
	for _, r := range runs {
		file := r.Job.File
		if !r.Job.Status.HasFile() {
			file = "" // of an earlier attempt
		}
		views = append(views, runView{
			Period: r.Period, ID: r.Job.ID, Status: r.Job.Status, Existed: r.Exists, Attempt: r.Job.Attempt, File: file,
			Error: r.Job.Error, Parameters: r.Parameters,
		})
	}
	return printList(f.printer, c, views, table.Row{"first", "last", "id", "status", "file (error)"},
		func(v runView) table.Row {
			id, about := v.ID, show.About(inspect.Job{File: v.File, Error: v.Error})
			if id == "" {
				id = "none"
			}
			return table.Row{v.First, v.Last, id, v.Status, about}
		})
}

// maxNamed is the maximum number of periods that an error names.
const maxNamed = 20

// failedRuns returns an error if a period has no file.
func failedRuns(runs []*backfill.Run) error {
	var failed []string
	for _, r := range runs {
		if !r.Job.Status.HasFile() {
			failed = append(failed, fmt.Sprintf("%s: record %s is %s", r.Period, r.Job.ID, r.Job.Status))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	n, more := len(failed), ""
	if n > maxNamed {
		failed, more = failed[:maxNamed], fmt.Sprintf("\nand %d more", n-maxNamed)
	}
	return fault.JobFailed.New("%d of %d periods failed\n%s%s\nThe same command with --retry-failed runs FAILED ones again; "+
		"fanfold why ID explains one", n, len(runs), strings.Join(failed, "\n"), more)
}

// progress shows a backfill: as a bar on a terminal, otherwise as lines, and not at all for JSON.
type progress struct {
	runs    map[string]*backfill.Run // that have begun, by id
	waits   map[string]string        // why jobs have not started, as it was said last
	over    map[string]bool          // that have ended since
	all     int
	left    int // to be created or waited for when the command began
	ended   int // of all
	failed  int
	since   time.Time
	bar     *show.Total
	out     io.Writer // of lines; nil: none
	running int
}

func newProgress(runs []*backfill.Run, out io.Writer, output string, retry bool) *progress {
	p := &progress{
		runs: map[string]*backfill.Run{}, waits: map[string]string{}, over: map[string]bool{}, all: len(runs),
		since: time.Now(),
	}
	for _, r := range runs {
		again := retry && r.Job.Status == report.Failed
		switch {
		case !r.Exists, !r.Job.Status.Final(), again:
			p.left++
		case !r.Job.Status.HasFile():
			p.failed++
			fallthrough
		default:
			p.ended++
		}
	}
	terminal, width := screen.Terminal(out)
	switch {
	case output == "json":
	case terminal != nil:
		p.bar = show.NewTotal(terminal, width, words.Count(p.all, "period"), p.all, screen.Colours())
		p.bar.Set(p.ended, p.text())
	default:
		p.out = out
	}
	return p
}

func (p *progress) close() {
	if p.bar != nil {
		p.bar.Close()
	}
}

// text returns the numbers, with the time that the rest takes at the pace until now.
func (p *progress) text() string {
	text := fmt.Sprintf("%s done, %s running, %s failed, %s left", words.Grouped(p.ended-p.failed),
		words.Grouped(p.running),
		words.Grouped(p.failed), words.Grouped(p.left-len(p.over)-p.running))
	if n := len(p.over); n > 0 && p.left > n {
		left := time.Since(p.since) / time.Duration(n) * time.Duration(p.left-n)
		text += ", ETA " + words.Short(left.Round(time.Second))
	}
	return text
}

// say writes a line, on a terminal only if it is important.
func (p *progress) say(important bool, format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	switch {
	case p.bar != nil:
		p.bar.Set(p.ended, p.text())
		if important {
			p.bar.Say(line)
		}
	case p.out != nil:
		_, err := fmt.Fprintln(p.out, time.Now().Format(time.TimeOnly), screen.OneLine(line))
		return err
	}
	return nil
}

// Began implements backfill.Watcher.
func (p *progress) Began(r *backfill.Run, how string) error {
	p.runs[r.Job.ID] = r
	p.running++
	return p.say(false, "%s: record %s %s", r.Period, r.Job.ID, how)
}

// Show implements watch.Watcher.
func (p *progress) Show(v inspect.Job) error {
	r := p.runs[v.ID]
	if !v.Status.Final() {
		kind := why.Kind(v.Waiting)
		if v.Waits == "" || p.waits[v.ID] == v.Waiting || kind == why.KindNoRoom || kind == why.KindQueued {
			return nil
		}
		p.waits[v.ID] = v.Waiting
		return p.say(true, "%s: record %s: %s", r.Period, v.ID, v.Waits)
	}
	if p.over[v.ID] {
		return nil
	}
	p.over[v.ID] = true
	p.running--
	p.ended++
	if !v.Status.HasFile() {
		p.failed++
	}
	about := show.About(v)
	if about != "" {
		about = ": " + about
	}
	return p.say(!v.Status.HasFile(), "%s: record %s %s%s (%s)", r.Period, v.ID, v.Status, about, p.text())
}

// Event implements watch.Watcher. It does nothing: Show shows the end.
func (p *progress) Event(watch.Event) error { return nil }
