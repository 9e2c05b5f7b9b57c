package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/fanfold/fanfold/cmd/fanfold/fixture"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/inspect/doctor"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
)

// tested is the result of a case for people.
type tested struct {
	Test        string   `json:"test"` // the report, and the folder of the case if it has several
	Result      string   `json:"result"`
	File        string   `json:"file"` // with the expected bytes
	Omitted     []string `json:"omitted,omitempty"`
	Written     bool     `json:"written,omitempty"`
	Differences []string `json:"differences,omitempty"`
	Error       string   `json:"error,omitempty"`
}

// tester runs the tests of reports.
type tester struct {
	*flags
	config     *config.Config
	parameters map[string][]string
	data       string
	update     bool
	headers    bool
}

func newTest(f *flags) *cobra.Command {
	t := tester{flags: f}
	var given []string
	c := &cobra.Command{
		Use:   "test [REPORT]",
		Short: "Compare the files that reports make of fixtures with expected ones",
		Long: `Test makes the file of a report from rows in CSV files, with the bytes that a job writes,
and compares it with an expected file. No query runs, and no server is needed. The exit code
is 1 if a file differs.

    fanfold test --data tests                      # every folder: tests/REPORT, or tests/REPORT/CASE
    fanfold test paid-orders --data tests          # tests/paid-orders, or tests itself
    fanfold test paid-orders --data tests --update # writes the expected file: read it

A folder has LISTENER.csv for each listener that the file needs, parameters.yaml (NAME: VALUE)
and expected.csv, or with the extension of another format; that of a compressed file has no
compression. The header of LISTENER.csv has names and types, in any order:

    id:integer,amount:decimal(10,2),name:text,created:datetime

Types are integer, integer unsigned, decimal(10,2), float (a DOUBLE), single (a FLOAT), text,
date, datetime, datetime(6), timestamp, time, json and binary (base64). A type that the
configuration gives can be left out. Texts compare by their bytes, or write
text collate utf8mb4_general_ci. \N is NULL. An optional listener without a file is one
that has failed.

    fanfold test paid-orders --data tests --headers

writes the files that do not exist, with headers that have the types and collations of the
databases. It connects to them, runs no query, and compares nothing. The exit code is 1 if a
database refuses the query of a listener, whose file is then not written. Where there is an
expected file, it writes none for an optional listener.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: f.complete((*config.Config).ReportNames),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if t.config, err = process.LoadConfig(f.config, f.kinds); err != nil {
				return err
			}
			switch {
			case t.data == "":
				return fault.Input.New("--data is missing: name the folder with the fixtures")
			case len(args) == 0 && len(given) > 0:
				return fault.Input.New("--param needs a REPORT: parameters.yaml has those of a test")
			}
			if t.parameters, err = parameterTexts(given); err != nil {
				return fault.Input.Of(err)
			}
			if t.headers {
				return f.opened(t.writeHeaders)(c, args)
			}
			return t.run(c, args)
		},
	}
	c.Flags().StringVar(&t.data, "data", "", "folder with the fixtures")
	c.Flags().BoolVar(&t.update, "update", false, "write the expected files that differ or do not exist")
	c.Flags().BoolVar(&t.headers, "headers", false, "write the fixtures that do not exist, with a header and no rows")
	c.MarkFlagsMutuallyExclusive("update", "headers")
	c.Flags().StringArrayVar(&given, "param", nil, "a parameter, as NAME=VALUE, instead of that in parameters.yaml")
	if err := c.MarkFlagDirname("data"); err != nil {
		panic(err) // the flag does not exist
	}
	f.completeParam(c)
	return c
}

// run tests one report, or all that have a folder.
func (t tester) run(c *cobra.Command, args []string) error {
	folders, err := t.folders(args)
	if err != nil {
		return err
	}
	var all []tested
	failed := 0
	for _, of := range folders {
		cases, err := fixture.Folders(of.folder)
		if err != nil {
			return fault.Input.Of(err)
		}
		for _, folder := range cases {
			one := t.test(c, of.report, folder)
			if folder != of.folder {
				one.Test += "/" + filepath.Base(folder)
			}
			if all = append(all, one); one.Result == doctor.Fail {
				failed++
			}
		}
	}
	if err := printList(t.printer, c, all, table.Row{"result", "test", "detail"}, func(one tested) table.Row {
		return table.Row{one.Result, one.Test, one.detail()}
	}, table.ColumnConfig{Number: 1, Transformer: coloured}, wrapped(3)); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d tests failed", failed, len(all))
	}
	return nil
}

// writeHeaders writes the fixtures that do not exist.
func (t tester) writeHeaders(c *cobra.Command, b *backend, args []string) error {
	folders, err := t.folders(args)
	if err != nil {
		return err
	}
	var written []string
	var failed []error
	for _, of := range folders {
		cases, err := fixture.Folders(of.folder)
		if err != nil {
			cases = []string{of.folder} // it is empty, or does not exist
		}
		for _, folder := range cases {
			some, err := fixture.Case{Report: of.report, Folder: folder}.Headers(
				func(l *report.Listener) ([]dataset.Column, error) {
					return process.ColumnsOf(c.Context(), b.Process, of.report, l)
				})
			written = append(written, some...)
			if err != nil {
				failed = append(failed, err)
			}
		}
	}
	if len(written) > 0 || len(failed) == 0 {
		failed = append(failed, t.printNames(c, "written", written))
	}
	return errors.Join(failed...)
}

// folder is the folder of a report.
type folder struct {
	report *report.Report
	folder string
}

// folders returns the folder of the report on the command line, or all.
func (t tester) folders(args []string) ([]folder, error) {
	if len(args) == 1 {
		r, err := operate.ReportOf(t.config.Reports, args[0])
		if err != nil {
			return nil, err
		}
		own := filepath.Join(t.data, r.Name)
		if info, err := os.Stat(own); err != nil || !info.IsDir() {
			if cases, _ := fixture.Folders(t.data); !t.headers || slices.Contains(cases, t.data) {
				own = t.data
			}
		}
		return []folder{{r, own}}, nil
	}
	entries, err := os.ReadDir(t.data)
	if err != nil {
		return nil, fault.Input.New("--data: %w", err)
	}
	var all []folder
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		own := filepath.Join(t.data, e.Name())
		r, err := operate.ReportOf(t.config.Reports, e.Name())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", own, err)
		}
		all = append(all, folder{r, own})
	}
	if all == nil {
		return nil, fault.Input.New("%s has no folder of a report: name them as the reports, or name the REPORT", t.data)
	}
	return all, nil
}

// test tests a case.
func (t tester) test(c *cobra.Command, r *report.Report, folder string) tested {
	result, err := fixture.Case{
		Report: r, Formats: t.kinds.Formats, FoldMemory: t.config.Limits.FoldMemory, Folder: folder,
		Parameters: t.parameters, Now: time.Now(),
	}.Test(c.Context(), t.update)
	one := tested{Test: r.Name, Result: doctor.Pass, File: result.File, Omitted: result.Omitted,
		Written: result.Written, Differences: result.Differences}
	if err != nil {
		one.Error = err.Error()
	}
	if err != nil || len(result.Differences) > 0 {
		one.Result = doctor.Fail
	}
	return one
}

// detail says what became of the case.
func (t tested) detail() string {
	var lines []string
	switch {
	case t.Error != "":
		lines = append(lines, t.Error)
	case t.Written:
		lines = append(lines, t.File+" is written: read it")
	case len(t.Differences) > 0:
		lines = append(append(lines, t.File+":"), t.Differences...)
		lines = append(lines, "→ correct the report, or accept its file with --update")
	default:
		lines = append(lines, t.File)
	}
	if len(t.Omitted) > 0 {
		lines = append(lines, "without "+strings.Join(t.Omitted, ", ")+", which has no fixture and is optional")
	}
	return strings.Join(lines, "\n")
}
