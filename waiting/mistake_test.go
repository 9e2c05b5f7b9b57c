package waiting

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// TestMistakes: the page of a request that cannot be used says what to change, and is not one of our failures.
func TestMistakes(t *testing.T) {
	t.Parallel()
	pattern, _ := report.ParseExpression("[A-Z]+")
	year := report.Parameter{Name: "year", Description: "Year", Type: report.ParamInteger, Minimum: "2000", Maximum: "2024", Default: new("2024")}
	reports := map[string]*report.Report{"r": {Name: "r", Parameters: []report.Parameter{year,
		{Name: "from", Type: report.ParamDate},
		{Name: "size", Type: report.ParamString, Options: []string{"small", "large"}, Default: new(`"small"`)},
		{Name: "code", Type: report.ParamString, Pattern: pattern, Default: new(`"A"`)},
	}}}
	for parameters, want := range map[string]string{
		`{"from": "2024-06-01", "year": 1999}`:         "The value of Year cannot be used. Give a whole number. The smallest is 2000. The largest is 2024.",
		`{"from": "01.06.2024"}`:                       "The value of from cannot be used. Give a date, such as 2024-06-01.",
		`{}`:                                           "from is missing. Give a date, such as 2024-06-01.",
		`{"from": "2024-06-01", "size": "huge"}`:       "The value of size cannot be used. Choose one of: small, large.",
		`{"from": "2024-06-01", "code": "a"}`:          "The value of code cannot be used. Give a text of the expected form.",
		`{"from": "2024-06-01", "other": "<secret>"}`:  "The report has no other. Leave it out.",
		`{"from": "2024-06-01", "year": 2024}`:         "Something went wrong on our side.",
		`{"from": ["2024-06-01"], "size": ["secret"]}`: "The value of from cannot be used. Give a date, such as 2024-06-01. The value of size cannot",
	} {
		v := describe(english, facts{Now: now, Job: inspect.Job{Report: "r", Status: report.Failed, Parameters: []byte(parameters)}}, reports)
		ours := strings.Contains(want, "our side")
		if got := strings.Join(v.Says, " "); !strings.Contains(got, want) || ours != (v.Class == "bad") || strings.Contains(got, "our side") != ours || strings.Contains(got, "secret") {
			t.Errorf("%s: %s %q, not %q", parameters, v.Class, got, want)
		}
	}
}
