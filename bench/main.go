// Command bench measures Fanfold on private servers and prints what it measured.
// docs/benchmarks.md says how, and keeps a full result.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of each measurement; the median is printed")
	flag.IntVar(&o.jobs, "jobs", 5_000, "jobs in one round of coordination")
	flag.IntVar(&o.rows, "rows", 1_000_000, "rows of each table of the join")
	flag.StringVar(&o.only, "only", "", "measure this alone: coordination, join or lateness")
	out := flag.String("out", "results.json", "file for the results")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds, jobs, rows int
	only               string
}

func run(ctx context.Context, o options, out string) error {
	dir, err := os.MkdirTemp("", "fanfold-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var r results
	found := false
	for _, part := range []struct {
		name    string
		measure func(context.Context, options, string, *results) error
	}{{"coordination", coordination}, {"join", join}, {"lateness", lateness}} {
		if o.only != "" && o.only != part.name {
			continue
		}
		found = true
		if err := part.measure(ctx, o, dir, &r); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if !found {
		return fmt.Errorf("-only: there is no %q", o.only)
	}
	r.print(os.Stdout)
	return r.write(out)
}
