package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// foldCase is a SELECT that Fanfold and DuckDB run on the same rows.
type foldCase struct {
	name, query string
	tables      []string
	ordered     bool // the query says the order of every row
}

var foldCases = []foldCase{
	{
		"fold, join of 1M x 1M rows", "SELECT a.id, a.g, a.name, a.made, b.id AS other, b.x, b.note FROM a JOIN b ON b.a_id = a.id",
		[]string{"a", "b"}, false,
	},
	{
		"fold, join of 200k, 1M and 1M rows on two keys",
		"SELECT o.id, o.x, a.name, a.made, b.note FROM o JOIN a ON a.id = o.a_id JOIN b ON b.id = o.b_id",
		[]string{"o", "a", "b"}, false,
	},
	{
		"fold, 1M rows in 10k groups", "SELECT g, COUNT(*) AS n, SUM(x) AS s, MAX(made) AS last FROM a GROUP BY g",
		[]string{"a"}, false,
	},
	{
		"fold, 1M rows in 500k groups", "SELECT h, COUNT(*) AS n, SUM(x) AS s, MAX(made) AS last FROM a GROUP BY h",
		[]string{"a"}, false,
	},
	{
		"fold, order of 1M rows by two columns", "SELECT id, g, name, x FROM a ORDER BY g DESC, name", []string{"a"}, true,
	},
}

const (
	withFoldTime   = ", time"
	withFoldCPU    = ", CPU"
	withFoldMemory = ", memory"
	foldBudget     = 64 << 20
)

func onDuckDB(threads int) string { return fmt.Sprintf("DuckDB, threads: %d", threads) }

// foldMeasured is what a process says of a fold: from the first byte that it reads to the last one that it writes.
type foldMeasured struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`    // s
	Memory  float64 `json:"memory"` // MB: its largest resident set beyond the one before
}

// folds measures folds beside DuckDB, each in a process of its own.
func folds(ctx context.Context, o options, dir string, r *results) error {
	if err := npmInstall(ctx, "duckdb"); err != nil {
		r.note("Folds are left out: %v", err)
		return nil
	}
	tables := map[string]any{}
	for name, t := range foldTables {
		file, columns := filepath.Join(dir, name+".csv"), []string(nil)
		for _, c := range t.columns {
			columns = append(columns, fmt.Sprintf("'%s': '%s'", c.Name, duckTypes[c.Kind]))
		}
		tables[name] = map[string]any{"file": file, "columns": strings.Join(columns, ", ")}
		if err := t.writeCSV(file); err != nil {
			return err
		}
	}
	for range o.rounds {
		for i, c := range foldCases {
			want := filepath.Join(dir, "fanfold.out")
			program, err := os.Executable()
			if err != nil {
				return err
			}
			if err := r.fold(ctx, c.name, "fanfold", program, "-fold", fmt.Sprint(i), "-out", want); err != nil {
				return err
			}
			for _, threads := range []int{1, 2} {
				got := filepath.Join(dir, "duckdb.out")
				asked, err := json.Marshal(map[string]any{
					"threads": threads, "tables": tables, "used": c.tables, "query": c.query, "out": got,
				})
				if err != nil {
					return err
				}
				if err := r.fold(ctx, c.name, onDuckDB(threads), "node", "duckdb/fold.mjs", string(asked)); err != nil {
					return err
				}
				if err := sameRows(ctx, want, got, c.ordered); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
		}
	}
	return nil
}

// fold runs a process that says what it has measured.
func (r *results) fold(ctx context.Context, what, system, program string, args ...string) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &said, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s, %s: %w", what, system, err)
	}
	var seen foldMeasured
	if err := json.Unmarshal(said.Bytes(), &seen); err != nil {
		return err
	}
	r.add(what+withFoldTime, system, "s", seen.Seconds)
	r.add(what+withFoldCPU, system, "s", seen.CPU)
	r.add(what+withFoldMemory, system, "MB", seen.Memory)
	return nil
}

// sameRows compares two files, by their sorted lines if they have no order.
func sameRows(ctx context.Context, want, got string, ordered bool) error {
	if !ordered {
		for _, file := range []string{want, got} {
			sort := exec.CommandContext(ctx, "sort", "-o", file, file)
			sort.Env = append(os.Environ(), "LC_ALL=C")
			if out, err := sort.CombinedOutput(); err != nil {
				return fmt.Errorf("sort: %w: %s", err, out)
			}
		}
	}
	return command(ctx, os.Stderr, "cmp", want, got)
}

// beFold folds in this process, and says what it has measured.
func beFold(ctx context.Context, number int, file string) error {
	c, sets := foldCases[number], map[string]fold.Dataset{}
	for _, name := range c.tables {
		set, err := foldTables[name].dataset()
		if err != nil {
			return err
		}
		sets[name] = set
	}
	seen, err := measureFold(func() error {
		return foldToCSV(ctx, c, sets, file)
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// measureFold measures a fold in this process.
func measureFold(fold func() error) (seen foldMeasured, err error) {
	before, err := beginPeak()
	if err != nil {
		return seen, err
	}
	began, err := clockOf(os.Getpid())
	if err != nil {
		return seen, err
	}
	start := time.Now()
	if err := fold(); err != nil {
		return seen, err
	}
	took := time.Since(start)
	ended, clock := clockOf(os.Getpid())
	peak, err := peakMemory(os.Getpid())
	return foldMeasured{took.Seconds(), (ended - began).Seconds(), peak - before}, errors.Join(clock, err)
}

// beginPeak returns the memory that this process has, in MB, from which its peak is measured anew.
func beginPeak() (mb float64, err error) {
	debug.FreeOSMemory() // of the listener, which is another process
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0, err
	}
	return peakMemory(os.Getpid())
}

// foldToCSV writes the file that DuckDB writes, too.
func foldToCSV(ctx context.Context, c foldCase, sets map[string]fold.Dataset, path string) error {
	return foldTo(ctx, c.query, sets, format.CSV, report.File{Options: &format.CSVOptions{LF: true}}, path)
}

// foldTo writes the file of a fold to a path.
func foldTo(
	ctx context.Context, query string, sets map[string]fold.Dataset, kind format.Kind, file report.File, path string,
) (err error) {
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	r := &report.Report{Fold: query, File: file}
	columns, _, _ := strings.Cut(strings.TrimPrefix(query, "SELECT "), " FROM ")
	for column := range strings.SplitSeq(columns, ", ") {
		name := column[strings.LastIndexAny(column, " .")+1:]
		r.File.Columns = append(r.File.Columns, report.FileColumn{Label: name, Column: name})
	}
	plan, err := fold.NewPlan(r, sets, nil)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(to, 64<<10)
	f, err := kind.Begin(&r.File, plan.Columns(), format.Title{Report: "bench"}, out)
	if err != nil {
		return err
	}
	defer f.Abort()
	scratch := func() (fold.Scratch, error) {
		s, err := os.CreateTemp(filepath.Dir(path), "scratch-")
		if err != nil {
			return nil, err
		}
		return s, os.Remove(s.Name())
	}
	if _, err := plan.Fold(ctx, f, fold.Budget{Bytes: foldBudget, Scratch: scratch}); err != nil {
		return err
	}
	if _, err := f.Close(); err != nil {
		return err
	}
	return out.Flush()
}
