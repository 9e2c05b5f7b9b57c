package check

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// panel has the fields of a Grafana panel that are checked.
type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct {
		Expr, LegendFormat string
		Datasource         struct{ UID string }
	}
}

// TestDashboard checks the expressions of every panel, that panels do not overlap, and that they show
// all metrics.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../grafana/fanfold.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct{ Panels []panel }
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	known := metrics(t)
	for _, m := range regexp.MustCompile(`label_values\((\w+), (\w+)\)`).FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(known[m[1]].labels, m[2]) {
			t.Errorf("%s: the label does not exist", m[0])
		}
	}
	taken, ids, shown := map[[2]int]string{}, map[int]bool{}, map[string]bool{}
	for _, p := range board.Panels {
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, ok := taken[at]; ok || at[0] >= 24 {
					t.Fatalf("%s overlaps %q, or is outside of the grid", p.Title, other)
				}
				taken[at] = p.Title
			}
		}
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("%s has the id of another panel", p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("%s has no description or no query", p.Title)
		}
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" || !strings.Contains(target.Expr, `job="$job"`) {
				t.Errorf("%s: %s is not limited to the chosen source and installation", p.Title, target.Expr)
			}
			expr := strings.NewReplacer("$__rate_interval", "5m", "$job", "fanfold").Replace(target.Expr)
			for _, wrong := range check(known, expr) {
				t.Errorf("%s: %s: %s", p.Title, expr, wrong)
			}
			for _, name := range regexp.MustCompile(`\w+`).FindAllString(expr, -1) {
				shown[name] = true
			}
			for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !grouped(expr, m[1]) {
					t.Errorf("%s: the result of %s has no label %s", p.Title, expr, m[1])
				}
			}
		}
	}
	// Sums of two other metrics, parts of histograms, and the release of a process need not be shown.
	left := regexp.MustCompile(`^fanfold_(tasks|jobs)_(waiting|pending)$|_(count|sum)$|^fanfold_build_info$`)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !shown[name] && !left.MatchString(name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}
