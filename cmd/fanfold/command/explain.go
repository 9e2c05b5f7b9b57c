package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

func newExplain(f *flags) *cobra.Command {
	var id string
	var last bool
	c := &cobra.Command{
		Use:   "explain REPORT",
		Short: "Show the stages of a report and how its fold runs",
		Long: `Explain shows the stages of a report and the steps of its fold, without any connection.
For a join, it prints the SELECT that it stands for.

With --job or --last it also shows what a job of the report really found: the rows of every
listener and of the file, from the manifest of the file, or of a running job from Redis.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: f.complete((*config.Config).ReportNames),
		RunE: func(c *cobra.Command, args []string) error {
			loaded, err := process.LoadConfig(f.config, f.kinds)
			if err != nil {
				return err
			}
			r := loaded.Reports[args[0]]
			if r == nil {
				return fault.NotFound.New("no report %q: %s", args[0], report.DidYouMean(args[0], loaded.ReportNames()))
			}
			var found figures
			if id != "" || last {
				if err := f.connected(func(c *cobra.Command, b *backend, _ []string) (err error) {
					found, err = b.figuresOf(c, r, id)
					return err
				})(c, args); err != nil {
					return err
				}
			}
			lines, err := explained(r, found)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), strings.Join(lines, "\n"))
			return err
		},
	}
	c.Flags().StringVar(&id, "job", "", "also show what the job of this record found")
	c.Flags().BoolVar(&last, "last", false, "also show what the last job with a file found")
	c.MarkFlagsMutuallyExclusive("job", "last")
	return c
}

// figures are what a job found.
type figures struct {
	job       string            // one line; empty: no job
	listeners map[string]string // by name
	file      string
}

// figuresOf returns what the job of a record found; without an id, the last job of the report with a file.
func (b *backend) figuresOf(c *cobra.Command, r *report.Report, id string) (figures, error) {
	if id == "" {
		newest, err := b.newestFile(c, r.Name)
		if err != nil {
			return figures{}, err
		}
		id = newest.ID
	} else if err := operate.CheckID(id); err != nil {
		return figures{}, err
	}
	v, err := b.Inspect.Jobs.Get(c.Context(), id)
	if err != nil {
		return figures{}, err
	}
	if v.Report != r.Name {
		return figures{}, fault.Input.New("record %s is of report %s: fanfold explain %[2]s --job %[1]s", id, v.Report)
	}
	found := figures{
		job: fmt.Sprintf("job: %s, attempt %d, %s", v.ID, v.Attempt, v.Status), listeners: map[string]string{},
	}
	for _, l := range v.Listeners {
		found.listeners[l.Name] = stepText(l, true)
	}
	if !v.Status.HasFile() {
		return found, nil
	}
	at, err := b.Object(c.Context(), v.ID, v.File)
	if err != nil {
		return figures{}, err
	}
	m, err := sink.ReadManifest(c.Context(), at.Sink, at.Name)
	switch {
	case errors.Is(err, sink.ErrNoObject):
		found.job += ", without a manifest"
		return found, nil
	case err != nil:
		return figures{}, err
	}
	if m.Definition != r.Hash() {
		found.job += fmt.Sprintf(", with definition %s: this one is %s", m.Definition, r.Hash())
	}
	for _, l := range m.Listeners {
		found.listeners[l.Name] = foundText(l)
	}
	found.file = fmt.Sprintf("file: %s, %s", words.Rows(m.Rows), words.FileSize(m.Bytes))
	return found, nil
}

// newestFile returns the record of a report that got its file last.
func (b *backend) newestFile(c *cobra.Command, name string) (engine.Record, error) {
	var all []engine.Record
	var failed error
	for _, status := range []report.Status{report.Success, report.Partial} {
		some, err := b.Inspect.Jobs.Search(c.Context(), record.Filter{Report: name, Status: status}, 1)
		all = append(all, some...)
		if status == report.Success { // a table may have no PARTIAL
			failed = err
		}
	}
	if failed != nil {
		return engine.Record{}, failed
	}
	if len(all) == 0 {
		return engine.Record{}, fault.NotFound.New("no job of report %s has made a file: fanfold run %[1]s runs one", name)
	}
	return slices.MinFunc(all, func(a, b engine.Record) int { return int(a.Age - b.Age) }), nil
}

// foundText says what a listener gave to a file.
func foundText(l sink.ManifestListener) string {
	if l.Omitted != "" {
		return "left out: " + l.Error
	}
	text := words.Rows(l.Rows) + " in " + (time.Duration(l.DurationMS) * time.Millisecond).String()
	if l.Tries > 1 {
		text += fmt.Sprintf(", try %d", l.Tries)
	}
	if l.Unmatched != nil && l.FirstUnmatched != nil {
		text += fmt.Sprintf("; %s match none of the first listener, and %s of that match none of these",
			words.Rows(*l.Unmatched), words.Rows(*l.FirstUnmatched))
	}
	return text
}

// explained returns the stages and the steps of the fold, one a line, with what a job found.
func explained(r *report.Report, found figures) ([]string, error) {
	var lines []string
	if found.job != "" {
		lines = append(lines, found.job)
	}
	for i, s := range r.Stages {
		lines = append(lines, fmt.Sprintf("stage %d: %s", i+1, strings.Join(s.Names(), ", ")))
		for _, name := range s.Names() {
			if text := found.listeners[name]; text != "" {
				lines = append(lines, fmt.Sprintf("  %s: %s", name, text))
			} else if found.job != "" {
				lines = append(lines, fmt.Sprintf("  %s: not known", name))
			}
		}
	}
	steps, err := fold.Steps(r)
	if err != nil {
		return nil, err
	}
	if r.Fold == "" {
		lines = append(lines, "join: short for")
		for line := range strings.SplitSeq(fold.Select(r), "\n") {
			lines = append(lines, "  "+line)
		}
	}
	for _, step := range steps {
		lines = append(lines, "fold: "+step)
	}
	if found.file != "" {
		lines = append(lines, found.file)
	}
	return lines, nil
}
