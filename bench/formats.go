package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/format/jsonl"
	"github.com/fanfold/fanfold/format/parquet"
	"github.com/fanfold/fanfold/format/xlsx"
	"github.com/fanfold/fanfold/report"
)

// formatCase is a file that is made of the rows of the table of formats.
type formatCase struct {
	name string
	format.Kind
	file report.File
}

const formatCSV = "CSV"

// formatCases are the formats that are measured. The ratios are those to the first one.
var formatCases = []formatCase{
	{formatCSV, format.CSV, report.File{Options: new(format.CSVOptions)}},
	{"CSV, gzip", format.CSV, report.File{Options: new(format.CSVOptions), Compress: report.Gzip}},
	{"XLSX", xlsx.Kind, report.File{Options: &xlsx.Options{Freeze: true, Filter: true}}},
	{"JSON Lines", jsonl.Kind, report.File{Options: new(jsonl.Options)}},
	{"Parquet", parquet.Kind, report.File{}},
}

const (
	whatFormat     = "file of 1M x 20 cells"
	withFormatTime = whatFormat + withFoldTime
	withFormatCPU  = whatFormat + withFoldCPU
	withFormatPeak = whatFormat + withFoldMemory
	withFormatSize = whatFormat + ", size"
)

// formatTable has every type of column that is frequent, in equal parts.
var formatTable = func() *foldTable {
	t := &foldTable{rows: 1_000_000}
	for i := range 4 {
		name := func(of string) string { return fmt.Sprint(of, i) }
		t.columns = append(t.columns, integers(name("n"), 7919+i, foldRows), texts(name("name"), 65_537+i), decimals(name("x")),
			datetimes(name("made")), texts(name("note"), 17+i))
	}
	return t
}()

// formatQuery selects all columns.
var formatQuery = func() string {
	var names []string
	for _, c := range formatTable.columns {
		names = append(names, c.Name)
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM t"
}()

// formatFiles measures the file of every format, each in a process of its own.
func formatFiles(ctx context.Context, o options, dir string, r *results) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	for range o.rounds {
		for i, c := range formatCases {
			file := filepath.Join(dir, "file"+c.Extension)
			if err := r.fold(ctx, whatFormat, c.name, program, "-file", fmt.Sprint(i), "-out", file); err != nil {
				return err
			}
			made, err := os.Stat(file)
			if err != nil {
				return err
			}
			r.add(withFormatSize, c.name, "MB", float64(made.Size())/1e6)
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	return nil
}

// beFile makes a file in this process, and says what it has measured.
func beFile(ctx context.Context, number int, file string) error {
	c := formatCases[number]
	set, err := formatTable.dataset()
	if err != nil {
		return err
	}
	seen, err := measureFold(func() error {
		return foldTo(ctx, formatQuery, map[string]fold.Dataset{"t": set}, c.Kind, c.file, file)
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// formatsTable has what a file of every format takes, as ratios to CSV.
func formatsTable(list []result) string {
	var b strings.Builder
	b.WriteString("| format | time | CPU | memory | size |\n|---|---|---|---|---|\n")
	for _, c := range formatCases {
		fmt.Fprintf(&b, "| %s |", c.name)
		for _, what := range []string{withFormatTime, withFormatCPU, withFormatPeak, withFormatSize} {
			one, ok := find(list, what, c.name)
			if csv, known := find(list, what, formatCSV); ok && known {
				fmt.Fprintf(&b, " %s %s (%.1f x) |", figure(one.Median), one.Unit, one.Median/csv.Median)
			} else {
				b.WriteString(" not measured |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
