package fold

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

// TestParameters: a fold gets the values of parameters that a query gets.
func TestParameters(t *testing.T) {
	t.Parallel()
	r := &report.Report{Parameters: []report.Parameter{
		{Name: "text", Type: report.ParamString}, {Name: "n", Type: report.ParamInteger},
		{Name: "amount", Type: report.ParamDecimal}, {Name: "flag", Type: report.ParamBoolean},
		{Name: "day", Type: report.ParamDate}, {Name: "at", Type: report.ParamDatetime},
		{Name: "instant", Type: report.ParamDatetime}, {Name: "days", Type: report.ParamDate, List: true},
	}}
	bound, err := r.Bind([]byte(`{"text": "O'Hara", "n": 18446744073709551615, "amount": "-0.10", "flag": true,
		"day": "2024-02-29", "at": "2024-02-29 10:00:00", "instant": "2024-02-29T00:30:00+01:00",
		"days": ["2024-02-29", "2024-03-01"]}`), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	lookup := Parameters(r.Parameters, bound)
	for name, want := range map[string][]string{
		"text": {"O'Hara"}, "n": {"18446744073709551615"}, "amount": {"-0.10"}, "flag": {"1"},
		"day": {"2024-02-29"}, "at": {"2024-02-29 10:00:00"}, "instant": {"2024-02-28 23:30:00"},
		"days": {"2024-02-29", "2024-03-01"},
	} {
		p, ok := lookup(name)
		if !ok || p.List != (len(want) > 1) || len(p.Values) != len(want) {
			t.Errorf("%s: %v, list: %v, found: %v", name, p.Values, p.List, ok)
			continue
		}
		for i, v := range p.Values {
			if got := string(v.AppendText(nil, p.Types[i])); got != want[i] {
				t.Errorf("%s: %q, not %q", name, got, want[i])
			}
		}
	}
	if _, ok := lookup("other"); ok {
		t.Error("a parameter that is not declared has a value")
	}
}
