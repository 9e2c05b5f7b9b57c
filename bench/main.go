// Command bench measures Fanfold on private servers and prints what it measured.
// docs/benchmarks.md says how, and keeps a full result.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of each measurement; the median is printed")
	flag.IntVar(&o.jobs, "jobs", 5_000, "jobs in one round of coordination with 2 listeners; two fifths of that with 8")
	flag.IntVar(&o.rows, "rows", 1_000_000, "rows of each table of the join")
	flag.StringVar(&o.only, "only", "", "measure this alone: coordination, idle, delayed, join or lateness")
	flag.StringVar(&o.systems, "systems", "", "let only these take part in coordination, idle and delayed: fanfold, asynq, RabbitMQ, BullMQ, streams, with commas")
	profile := flag.String("profile", "", "write a CPU profile of Fanfold's coordination to this file, and measure nothing else")
	out := flag.String("out", "results.json", "file for the results")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := profiled(ctx, o, *profile, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// profiled is run; with a file for a profile, run of what is profiled alone.
func profiled(ctx context.Context, o options, profile, out string) error {
	if profile == "" {
		return run(ctx, o, out)
	}
	f, err := os.Create(profile)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	o.only, o.systems = "coordination", "fanfold"
	return run(ctx, o, os.DevNull) // the results that are kept stay
}

type options struct {
	rounds, jobs, rows int
	only, systems      string
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
	}{{"coordination", coordination}, {"idle", idle}, {"delayed", delayed}, {"join", join}, {"lateness", lateness}} {
		if o.only != "" && o.only != part.name {
			continue
		}
		found = true
		if err := part.measure(ctx, o, mkdir(dir, part.name), &r); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if !found {
		return fmt.Errorf("-only: there is no %q", o.only)
	}
	r.print(os.Stdout)
	return r.write(out)
}

func mkdir(parts ...string) string {
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		panic(err)
	}
	return dir
}
