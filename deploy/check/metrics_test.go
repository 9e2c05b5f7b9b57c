package check

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// metric is a row of the table in docs/reference/metrics.md, which TestMetricsInTheDocs of cmd/fanfold/command
// generates from the registry.
type metric struct {
	kind    string // counter, gauge or histogram
	labels  []string
	meaning string
	own     bool // every process has its own value
}

// target are the labels that Prometheus gives to all series of a process.
var target = []string{"job", "instance"}

var row = regexp.MustCompile("(?m)^\\| `(fanfold_\\w+)` \\| (\\w+) \\| (.*) \\| (.*) \\|$")

// metrics returns all series by name.
func metrics(t *testing.T) map[string]metric {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]metric{
		"up":                            {kind: "gauge", labels: target, own: true},
		"go_goroutines":                 {kind: "gauge", labels: target, own: true},
		"process_cpu_seconds_total":     {kind: "counter", labels: target, own: true},
		"process_resident_memory_bytes": {kind: "gauge", labels: target, own: true},
	}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		one := metric{kind: m[2], meaning: m[4], labels: slices.Concat(target, []string{"partition"})}
		for label := range strings.SplitSeq(m[3], ", ") {
			if label != "" {
				one.labels = append(one.labels, strings.Trim(label, "`"))
			}
		}
		if one.kind != "histogram" {
			all[m[1]] = one
			continue
		}
		all[m[1]+"_count"], all[m[1]+"_sum"] = one, one
		one.labels = slices.Concat(one.labels, []string{"le"})
		all[m[1]+"_bucket"] = one
	}
	if len(all) < 40 {
		t.Fatalf("docs/reference/metrics.md has only %d metrics", len(all))
	}
	return all
}

// statuses are the final statuses of a record, which no text of a metric lists.
var statuses = []string{"SUCCESS", "PARTIAL", "FAILED", "CANCELLED"}

// check parses an expression and compares it with the metrics. It returns the mistakes.
func check(known map[string]metric, expr string) (wrong []string) {
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	parser.Inspect(tree, func(node parser.Node, path []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			m, ok := known[n.Name]
			if !ok {
				wrong = append(wrong, fmt.Sprintf("the metric %q does not exist", n.Name))
				return nil
			}
			for _, matcher := range n.LabelMatchers {
				wrong = append(wrong, checkMatcher(n.Name, m, matcher)...)
			}
			wrong = append(wrong, checkUse(n.Name, m, path)...)
		case *parser.AggregateExpr:
			if n.Without {
				wrong = append(wrong, "without keeps labels that this test does not know: use by")
			}
			wrong = append(wrong, haveLabels(known, n.Expr, n.Grouping)...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				wrong = append(wrong, haveLabels(known, n, n.VectorMatching.MatchingLabels)...)
			}
		}
		return nil
	})
	return wrong
}

// checkMatcher checks the label, and its values if the text of the metric lists them.
func checkMatcher(name string, m metric, by *labels.Matcher) (wrong []string) {
	if by.Name == labels.MetricName {
		return nil
	}
	if !slices.Contains(m.labels, by.Name) {
		return []string{fmt.Sprintf("%s has no label %s", name, by.Name)}
	}
	for value := range strings.SplitSeq(by.Value, "|") {
		switch by.Name {
		case "outcome", "reason":
			if !regexp.MustCompile(`\b` + value + `\b`).MatchString(m.meaning) {
				wrong = append(wrong, fmt.Sprintf("%s has no %s %q: %s", name, by.Name, value, m.meaning))
			}
		case "status":
			if !slices.Contains(statuses, value) {
				wrong = append(wrong, fmt.Sprintf("no record has the status %q", value))
			}
		}
	}
	return wrong
}

// checkUse checks the functions around a metric. A counter is only meaningful as a rate, and rates
// are added over the processes. A gauge that every process reads from Redis is the same in all of
// them: its maximum is taken before anything else.
func checkUse(name string, m metric, path []parser.Node) (wrong []string) {
	var calls []string
	var inner *parser.AggregateExpr // the innermost one
	for _, n := range path {
		switch n := n.(type) {
		case *parser.Call:
			calls = append(calls, n.Func.Name)
		case *parser.AggregateExpr:
			inner = n
		}
	}
	if slices.Contains(calls, "absent") {
		return nil
	}
	rate := slices.Contains(calls, "rate") || slices.Contains(calls, "increase")
	if counts := m.kind != "gauge"; counts != rate {
		wrong = append(wrong, fmt.Sprintf("%s is a %s: rate and increase are for counters and histograms, and these need one of them", name, m.kind))
	}
	if m.own {
		return wrong
	}
	want := []parser.ItemType{parser.SUM}
	if m.kind == "gauge" {
		want = []parser.ItemType{parser.MAX, parser.MIN}
	}
	if inner == nil || !slices.Contains(want, inner.Op) {
		wrong = append(wrong, fmt.Sprintf("%s is a %s: it must be under %v before anything else", name, m.kind, want))
	}
	return wrong
}

// haveLabels checks that all metrics of an expression have labels.
func haveLabels(known map[string]metric, of parser.Node, names []string) (wrong []string) {
	parser.Inspect(of, func(node parser.Node, _ []parser.Node) error {
		n, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		for _, name := range names {
			if m, ok := known[n.Name]; ok && !slices.Contains(m.labels, name) {
				wrong = append(wrong, fmt.Sprintf("%s has no label %s to group by", n.Name, name))
			}
		}
		return nil
	})
	return wrong
}

// TestCheck: check finds mistakes.
func TestCheck(t *testing.T) {
	t.Parallel()
	known := metrics(t)
	for expr, want := range map[string]string{
		`max(fanfold_jobs_dead)`:                                             "",
		`sum(max by (partition) (fanfold_jobs_dead))`:                        "",
		`sum by (le) (rate(fanfold_query_duration_seconds_bucket[5m]))`:      "",
		`max(fanfold_jobs_dead`:                                              "unclosed left parenthesis",
		`max(fanfold_jobs_deaf)`:                                             `the metric "fanfold_jobs_deaf" does not exist`,
		`max(fanfold_query_duration_seconds)`:                                "does not exist",
		`max(fanfold_jobs_dead{listener="a"})`:                               "no label listener",
		`max by (listener) (fanfold_jobs_dead)`:                              "no label listener to group by",
		`max(fanfold_jobs_dead) and on (report) max(fanfold_tasks_lag)`:      "no label report to group by",
		`sum by (le) (rate(fanfold_query_duration_seconds_sum[5m]))`:         "no label le to group by",
		`sum(fanfold_jobs_dead)`:                                             "must be under",
		`fanfold_jobs_dead`:                                                  "must be under",
		`sum(fanfold_jobs_finished_total)`:                                   "rate and increase are for counters",
		`max(increase(fanfold_jobs_dead[5m]))`:                               "rate and increase are for counters",
		`max(rate(fanfold_jobs_finished_total[5m]))`:                         "must be under",
		`sum(rate(fanfold_tasks_total{outcome="lost"}[5m]))`:                 `no outcome "lost"`,
		`sum(rate(fanfold_jobs_finished_total{status="DONE"}[5m]))`:          `no record has the status "DONE"`,
		`max without (instance) (fanfold_jobs_dead)`:                         "use by",
		`sum(rate(fanfold_fanin_requeued_total{reason=~"outage|gone"}[5m]))`: `no reason "gone"`,
	} {
		wrong := strings.Join(check(known, expr), "\n")
		if want == "" && wrong != "" || !strings.Contains(wrong, want) {
			t.Errorf("%s: %q, not %q", expr, wrong, want)
		}
	}
}
