package check

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"
)

// rules is a file of alert rules. Unknown fields are mistakes.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert       string
			Expr        string
			For         string
			Labels      struct{ Severity string }
			Annotations struct{ Summary, Description, Runbook string }
		}
	}
}

var inTemplate = regexp.MustCompile(`\$labels\.(\w+)`)

// grouped reports whether the result of an expression has a label. Series that are not aggregated have
// the label instance.
func grouped(expr, label string) bool {
	return label == "instance" || regexp.MustCompile(`by \([^)]*\b`+label+`\b`).MatchString(expr)
}

// TestAlerts checks every rule: its expression, its annotations, and its row in README.md.
func TestAlerts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var file rules
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var explained []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(Fanfold\\w+)` \\|").FindAllStringSubmatch(string(readme), -1) {
		explained = append(explained, m[1])
	}
	known := metrics(t)
	var names, groups []string
	for _, g := range file.Groups {
		groups = append(groups, g.Name)
		for _, r := range g.Rules {
			names = append(names, r.Alert)
			for _, wrong := range check(known, r.Expr) {
				t.Errorf("%s: %s", r.Alert, wrong)
			}
			if _, err := model.ParseDuration(r.For); r.For != "" && err != nil {
				t.Errorf("%s: for: %v", r.Alert, err)
			}
			if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels.Severity) {
				t.Errorf("%s has the severity %q", r.Alert, r.Labels.Severity)
			}
			a := r.Annotations
			if a.Summary == "" || a.Description == "" || !strings.Contains(a.Runbook, "`fanfold ") {
				t.Errorf("%s has no summary, no description, or no runbook that names a command: %+v", r.Alert, a)
			}
			for _, m := range inTemplate.FindAllStringSubmatch(a.Summary+a.Description+a.Runbook, -1) {
				if !grouped(r.Expr, m[1]) {
					t.Errorf("%s: the result has no label %s", r.Alert, m[1])
				}
			}
		}
	}
	if len(names) < 15 || !slices.Equal(names, explained) {
		t.Errorf("README.md explains\n%q, but the rules are\n%q", explained, names)
	}
	for _, all := range [][]string{names, groups} {
		slices.Sort(all)
		if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
			t.Errorf("a name is used twice: %q", all)
		}
	}
}
