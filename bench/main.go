// Command bench measures Fanfold on private servers and prints what it measured.
// docs/explanation/benchmarks.md says how, and has the last full result.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fanfold/fanfold/engine"
)

const usageText = `Bench measures Fanfold beside other systems, on servers that it starts itself, and
adds what it has measured to a file of results: what was measured there before under
the same names is replaced, everything else stays.

usage: go run -tags disable_grpc_modules . [flags]

Parts that can be named with -only:
`

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of each measurement; median, least and most are printed")
	flag.IntVar(&o.jobs, "jobs", 5_000, "jobs in one round of coordination with 2 listeners; two fifths of that with 8")
	flag.IntVar(&o.rows, "rows", joinRows, "rows of each table of join")
	flag.IntVar(&o.largeRows, "large-rows", joinRowsLarge, "rows of each table of join-large")
	flag.StringVar(&o.only, "only", "", "measure these parts alone, with commas between them")
	flag.BoolVar(&o.large, "large", false, "measure the large parts, and no other")
	flag.StringVar(&o.systems, "systems", "", "let only these take part in coordination, idle and delayed: fanfold, asynq, RabbitMQ, BullMQ, streams, with commas")
	profile := flag.String("profile", "", "write a CPU profile of Fanfold's coordination to this file, and measure nothing else")
	out := flag.String("out", "results.json", "file of results")
	table := flag.String("table", "", "print the results in this file as Markdown, targets first, and measure nothing")
	docs := flag.String("docs", "", "with -table: write that into these pages, with commas, between their markers")
	worker := flag.String("worker", "", "be one of the processes that are measured: addresses of Redis; not for you")
	folded := flag.Int("fold", -1, "be a process whose fold is measured, and write its file to -out; not for you")
	file := flag.Int("file", -1, "be a process whose file is measured, and write it to -out; not for you")
	partitions := flag.Int("partitions", 0, "with -worker: how many")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, usageText)
		for _, p := range parts {
			large := ""
			if p.large {
				large = " (large)"
			}
			fmt.Fprintf(os.Stderr, "  %-13s %s%s\n", p.name, p.about, large)
		}
		fmt.Fprintln(os.Stderr, "\nFlags:")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 || o.rounds < 1 {
		fmt.Fprintf(os.Stderr, "bench: it takes no arguments but flags (%q), and at least one round; -help names them\n", flag.Args())
		os.Exit(2)
	}
	engine.SetPace() // as fanfold serve does; all Go systems have it
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case *worker != "":
		err = beWorker(ctx, strings.Split(*worker, ","), *partitions)
	case *folded >= 0:
		err = beFold(ctx, *folded, *out)
	case *file >= 0:
		err = beFile(ctx, *file, *out)
	case *table != "":
		err = printTable(*table, *docs)
	default:
		err = profiled(ctx, o, *profile, *out)
	}
	if err != nil {
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
	rounds, jobs, rows, largeRows int
	only, systems                 string
	large                         bool
}

// part is something that can be measured alone.
type part struct {
	name, about string
	large       bool // takes long, and so only when it is asked for
	measure     func(ctx context.Context, o options, dir string, r *results) error
}

var parts = []part{
	{"coordination", "jobs per second, beside the other systems", false, coordination},
	{"idle", "one job after the other", false, idle},
	{"delayed", "how late delayed jobs begin, beside the other systems", false, delayed},
	{"join", "a job that joins two tables: time, memory, PING meanwhile", false, join},
	{"together", "how late small jobs are beside a join", false, together},
	{"clicks", "1,000 equal jobs, with once and without", false, equalClicks},
	{"protect", "how late the queries of a database's own users are beside ten reports", false, protects},
	{"folds", "joins, groups and orders of a million rows, beside DuckDB", false, folds},
	{"formats", "files of a million rows in every format", false, formatFiles},
	{"lateness", "how late delayed ids, timeouts and timers are, with events and without", false, lateness},
	{"waiting", "what an engine takes without jobs, with 100,000 things waiting", false, idleEngine},
	{"processes", "jobs per second of 1, 2 and 4 processes", false, processes},
	{"backlog", "jobs per second while 1,000 to 100,000 ids wait", false, backlog},
	{"lanes", "jobs per second with lanes and without, and how late another lane's first job is", false, fairness},
	{"masters", "jobs per second and CPU on 1 and on 3 masters, of 1, 2, 4 and 8 processes", false, masters},
	{"partitions", "what an engine takes without jobs, in 1, 8 and 32 partitions", false, idleDivided},
	{"dashboard", "the dashboard: 10,000 jobs, 50 browsers", false, dashboards},
	{"expired", "how late expired events are that nobody hurries", true, plainEvents},
	{"join-large", "join with ten times the rows", true, joinLarge},
	{"backlog-large", "backlog with 1,000,000 ids", true, backlogLarge},
}

// chosen are the parts that were asked for.
func (o options) chosen() (list []part, err error) {
	if o.only == "" {
		for _, p := range parts {
			if p.large == o.large {
				list = append(list, p)
			}
		}
		return list, nil
	}
	for name := range strings.SplitSeq(o.only, ",") {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only: there is no %q", name)
		}
		list = append(list, parts[i])
	}
	return list, nil
}

func run(ctx context.Context, o options, out string) error {
	list, err := o.chosen()
	if err != nil {
		return err
	}
	before, err := readResults(out)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fanfold-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var r results
	for _, p := range list {
		begin := time.Now()
		if err := p.measure(ctx, o, mkdir(dir, p.name), &r); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s took %v\n", p.name, time.Since(begin).Round(time.Second))
		// What was measured is not lost with what comes after it.
		if err := writeResults(out, merged(before, r.list())); err != nil {
			return err
		}
	}
	r.print(os.Stdout)
	return nil
}

func mkdir(parts ...string) string {
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		panic(err)
	}
	return dir
}
