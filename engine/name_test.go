package engine

import (
	"slices"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// TestNames: a file has the name and type of its report, and where that is not known,
// all names that it can have are looked at.
func TestNames(t *testing.T) {
	t.Parallel()
	plain, packed := &report.Report{Name: "r"}, &report.Report{Name: "r", CSV: report.CSV{Gzip: true}}
	e := &Engine{definitions: map[string]*report.Report{"p": plain, "z": packed}}
	for definition, want := range map[string][]string{
		"p": {"r/1-2.csv"}, "z": {"r/1-2.csv.gz"}, "other": {"r/1-2.csv", "r/1-2.csv.gz"},
	} {
		if got := e.objectNames(&scripts.State{ID: "1", Attempt: 2, Report: "r", Definition: definition}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", definition, got, want)
		}
	}
	if a, b := contentType(plain), contentType(packed); a != "text/csv; charset=utf-8" || b != "application/gzip" {
		t.Errorf("%s, %s", a, b)
	}
}
