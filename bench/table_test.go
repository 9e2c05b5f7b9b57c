package main

import (
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
	for _, name := range []string{"README.md", "docs/explanation/benchmarks.md", "docs/explanation/scale.md"} {
		page, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if filled, err := withTables(string(page), list); err != nil || filled != string(page) {
			t.Errorf("%s is not what results.json gives (%v): run `go run . -table results.json -docs ../%s` in bench/", name, err, name)
		}
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
