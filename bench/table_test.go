package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocsHaveTheResults: the pages and the file of results say the same.
func TestDocsHaveTheResults(t *testing.T) {
	list, err := readResults("results.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docs/explanation/benchmarks.md", "docs/explanation/scale.md", "docs/explanation/alternatives.md"} {
		page, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if filled, err := withTables(string(page), list); err != nil || filled != string(page) {
			t.Errorf("%s is not what results.json gives (%v): run `go run . -table results.json -docs ../%s` in bench/", name, err, name)
		}
	}
}

// TestSentencesHaveTheResults: the sentences of pages that name figures have those of the file of results.
func TestSentencesHaveTheResults(t *testing.T) {
	list, err := readResults("results.json")
	if err != nil {
		t.Fatal(err)
	}
	f := &figures{list: list}
	jobs := coordinationOf(2) + withPushing
	ratio := func(listeners int, system string) float64 { return faster(listeners, system, "").value(f) }
	seconds := func(join, system string) float64 { return f.median(join+joinJob, system) }
	for page, sentences := range map[string][]string{
		"README": {
			"completes " + measured(list, jobs, inMariaDB).in(" jobs/s") + " on two cores",
			fmt.Sprintf("%.0f MB for a join of two tables of 1 million rows each", f.median(oneMillion+joinRedis, "fanfold")),
			fmt.Sprintf("RabbitMQ reaches %s, asynq %s and BullMQ %s",
				measured(list, jobs, "RabbitMQ").in(""), measured(list, jobs, "asynq").in(""), measured(list, jobs, "BullMQ").in("")),
		},
		"docs/explanation/benchmarks": {
			fmt.Sprintf("%.1f to %.1f times the jobs per second of RabbitMQ", ratio(2, "RabbitMQ"), ratio(8, "RabbitMQ")),
			fmt.Sprintf("%.1f to %.1f times those of asynq", ratio(2, "asynq"), ratio(8, "asynq")),
			fmt.Sprintf("%.1f to %.1f times those of BullMQ", ratio(2, "BullMQ"), ratio(8, "BullMQ")),
			fmt.Sprintf("complete %.1f times the jobs of Fanfold with 2 listeners and %.1f times with 8", 1/ratio(2, bareStreams), 1/ratio(8, bareStreams)),
			fmt.Sprintf("Fanfold completes %.2f times the jobs", over(coordinationOf(2), inMariaDB, coordinationOf(2), "fanfold")(f)),
			fmt.Sprintf("still %.1f times those of RabbitMQ", over(jobs, inMariaDB, jobs, "RabbitMQ")(f)),
			fmt.Sprintf("take %.1f s with Fanfold and %.1f s with DuckDB. The dumps alone take %.1f s", seconds(oneMillion, "fanfold"), seconds(oneMillion, joinDuckDB), seconds(oneMillion, joinDumps)),
			fmt.Sprintf("Fanfold takes %.1f s, and Redis %.0f MB instead of %.0f MB", seconds(oneMillion, joinSpooled),
				f.median(oneMillion+joinRedis, joinSpooled), f.median(oneMillion+joinRedis, "fanfold")),
			fmt.Sprintf("Without compression it takes %.1f s", seconds(oneMillion, joinPlain)),
			fmt.Sprintf("the dumps alone take %.1f times as long", seconds(tenMillion, joinDumps)/seconds(oneMillion, joinDumps)),
		},
		"docs/explanation/alternatives": {
			fmt.Sprintf("MariaDB's own join of 1 million by 1 million rows took %.1f s, and Fanfold %.1f s", seconds(oneMillion, joinItself), seconds(oneMillion, "fanfold")),
			fmt.Sprintf("dumps and DuckDB took %.1f s and Fanfold %.1f s; for 10 million by 10 million, %.0f s and %.0f s",
				seconds(oneMillion, joinDuckDB), seconds(oneMillion, "fanfold"), seconds(tenMillion, joinDuckDB), seconds(tenMillion, "fanfold")),
			fmt.Sprintf("%.0f MB and %.1f GB at the peak", f.median(oneMillion+joinRedis, "fanfold"), f.median(tenMillion+joinRedis, "fanfold")/1000),
			fmt.Sprintf("it took %.1f s and %.0f s, and %.0f MB of Redis", seconds(oneMillion, joinSpooled), seconds(tenMillion, joinSpooled),
				f.median(tenMillion+joinRedis, joinSpooled)),
			fmt.Sprintf("by a factor of %.1f", 1/ratio(2, bareStreams)),
			"completes " + measured(list, jobs, inMariaDB).in(" jobs/s"),
		},
	} {
		text, err := os.ReadFile("../" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, sentence := range sentences {
			if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), sentence) {
				t.Errorf("%s.md does not say %q, as results.json does", page, sentence)
			}
		}
	}
	if f.missing {
		t.Error("figures are missing")
	}
}

// TestMerged: what was measured takes the place of what is named the same, and
// the rest stays.
func TestMerged(t *testing.T) {
	before := []result{{What: "a", System: "x", Median: 1}, {What: "a", System: "y", Median: 2}}
	got := merged(before, []result{{What: "b", System: "x", Median: 4}, {What: "a", System: "y", Median: 3}})
	want := []result{{What: "a", System: "x", Median: 1}, {What: "a", System: "y", Median: 3}, {What: "b", System: "x", Median: 4}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestFigure(t *testing.T) {
	for n, want := range map[float64]string{0: "0.000", 0.0123: "0.012", 0.5: "0.500", 1.096: "1.10", 23.05: "23.1", -4.2: "-4.20", 136.2: "136", 3116.4: "3116"} {
		if got := figure(n); got != want {
			t.Errorf("%v is %s, not %s", n, got, want)
		}
	}
}

// TestTargets: a target is met or not by its own limit, and one without its figures
// is not measured.
func TestTargets(t *testing.T) {
	t.Parallel()
	ping := oneMillion + joinPing + ", max"
	list := []result{{What: ping, System: "fanfold", Median: 9.6}, {What: ping, System: quietRedis, Median: 8}}
	row := func(want string) {
		t.Helper()
		for line := range strings.Lines(markdown(list)) {
			if strings.HasPrefix(line, "| join of 1M x 1M rows: worst PING") {
				if !strings.HasSuffix(line, want+" |\n") {
					t.Errorf("%s does not end with %s", line, want)
				}
				return
			}
		}
		t.Error("no row")
	}
	row("| 1.20 x | <= 1.2 | yes")
	list[0].Median = 10
	row("| 1.25 x | <= 1.2 | no")
	list = list[:1]
	row("| not measured | <= 1.2 | ")
	if (target{limit: ">= 3"}).met(2.9) || !(target{limit: ">= 3"}).met(3) {
		t.Error("a lower limit")
	}
}
