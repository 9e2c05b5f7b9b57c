package files

import (
	"slices"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestNames: a file has the name and type of its report.
func TestNames(t *testing.T) {
	t.Parallel()
	f := &Files{o: Options{Installation: "abc234"}}
	state := &job.State{ID: "1", Attempt: 2, Report: "r"}
	all := []string{"r/1-2-abc234.csv", "r/1-2-abc234.csv.gz"}
	types := []string{"text/csv; charset=utf-8", "application/gzip"}
	for i, r := range []*report.Report{{Name: "r"}, {Name: "r", CSV: report.CSV{Gzip: true}}} {
		if got := f.name(state, r); got != all[i] || contentType(r) != types[i] {
			t.Errorf("%s of type %s, want %s of type %s", got, contentType(r), all[i], types[i])
		}
	}
	if got := f.names(state); !slices.Equal(got, all) {
		t.Errorf("%v, want %v", got, all)
	}
}

// TestParseFileName: a name says one thing only, whatever the ids are that are in it.
func TestParseFileName(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"", "abc234", NewTag()} {
		for _, id := range []string{"1", "1-2", "1-abc234", "a-1-abc234", "-", "--", "1-2-3", "1111-1-abc234-2"} {
			for _, attempt := range []int64{1, 222222, 1 << 62} {
				for _, gzip := range []bool{false, true} {
					want := Name{Report: "r.x", ID: id, Attempt: attempt, Tag: tag, Gzip: gzip}
					if got, ok := Parse(want.String()); !ok || got != want {
						t.Errorf("%s: %+v", want, got)
					}
				}
			}
		}
	}
	for _, name := range []string{"", "r", "1-1.csv", "r/1.csv", "r/1-0.csv", "r/1-01.csv", "r/1-1-.csv", "r/1-1-abc23.csv",
		"r/1-1-ABC234.csv", "r/1-1-abl234.csv", "r/1-1.csv.manifest.json", "r/1-1.csvx", "r/1-99999999999999999999.csv", "r/1 -1.csv"} {
		if got, ok := Parse(name); ok {
			t.Errorf("%q: %+v", name, got)
		}
	}
}
